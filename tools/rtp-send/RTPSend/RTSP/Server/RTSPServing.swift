import BlockingIO
import Impairment
import NIOCore
import RTPWire

/// An RTSP server: its streams, the connections of its clients, and the ports of their datagrams.
///
/// All of it is on one event loop, so that the packets of a live stream go to all clients as they
/// are.
final class RTSPServing {
  /// The longest that a client may take to leave after its stream has ended.
  private static let farewell = TimeAmount.seconds(5)

  let loop: NIOIsolatedEventLoop
  var turns = LoopTurns()
  var servesOnce: Bool { configuration.servesOnce }

  private let configuration: RTSPServerConfiguration
  /// Those of the configuration, with what has become known of them.
  private var streams: [ServedStream]
  /// Those whose sources failed before they began.
  private var missing: Set<Int> = []
  private let onEvent: @Sendable (SenderEvent) -> Void
  private let promise: EventLoopPromise<SendReport>
  private var listener: (any Channel)?
  /// The programmes of what is live, by streams.
  private var live: [Int: Programme] = [:]
  private var connections: [ObjectIdentifier: RTSPConnection] = [:]
  /// How many connections each address has.
  private var hosts: [String: Int] = [:]
  /// Those whose clients have RTSP in HTTP, by their cookies.
  private var tunnels: [String: RTSPConnection] = [:]
  /// Whom tunnels are opened for, where that is asked of all.
  private var tunnelGate: RTSPGate?
  private var sessionCount = 0
  private var ports: [String: EventLoopFuture<NIOLoopBound<MediaPorts>>] = [:]
  private var opened: [String: MediaPorts] = [:]
  /// Where reports come from, and which ports are taken.
  private var claims: [SocketAddress: Claim] = [:]
  private lazy var members = MulticastMembers(of: self, on: loop)
  private var dice: SplitMix64
  private var numbers: RunNumbers
  private var report = SendReport()
  private var failure: (any Error)?
  /// What was said last of each stream, so that clients who ask on and on make no log of it.
  private var toldFailures: [String: String] = [:]
  private var hasServedOnce = false
  private var isOver = false
  private var isFinished = false

  private struct Claim {
    let player: RTSPPlayer
    let track: Int
  }

  init(
    _ configuration: RTSPServerConfiguration, on loop: any EventLoop,
    report promise: EventLoopPromise<SendReport>,
    onEvent: @escaping @Sendable (SenderEvent) -> Void
  ) {
    self.configuration = configuration
    self.loop = loop.assumeIsolated()
    self.promise = promise
    self.onEvent = onEvent
    if configuration.quirks.contains(.tunnelLogin) {
      tunnelGate = configuration.login.map { RTSPGate($0) }
    }
    streams = configuration.streams
    var dice = SplitMix64(seed: configuration.seed)
    numbers = RunNumbers(seed: dice.next())
    self.dice = dice
    for index in streams.indices where streams[index].survey == nil { prepare(index) }
  }

  func tell(_ event: SenderEvent) { onEvent(event) }

  private func tell(_ receptions: [Int: ReportedReception], of client: SocketAddress) {
    if let event = SenderEvent.reported(receptions, by: client) { onEvent(event) }
  }

  // MARK: Streams

  /// Makes the programme of what is live, as soon as it is known what that is.
  private func prepare(_ index: Int) {
    guard let awaited = streams[index].awaited else {
      if let content = streams[index].content { begin(index, content) }
      return
    }
    let loop = loop.nonisolated()
    let server = NIOLoopBound(self, eventLoop: loop)
    awaited.source.whenKnown { contents in
      let content: Result<ServedStream.Content, any Error> = Result {
        _ = try contents.get()
        return try awaited.content()
      }
      loop.execute { server.value.note(content, ofStream: index) }
    }
  }

  private func note(_ content: Result<ServedStream.Content, any Error>, ofStream index: Int) {
    guard !isOver else { return }
    switch content {
    case .success(let content): begin(index, content)
    case .failure: missing.insert(index)
    }
    for connection in connections.values { connection.noteContent(ofStream: index) }
    if case .failure(let error) = content { failed(streams[index].name, error) }
  }

  private func begin(_ index: Int, _ content: ServedStream.Content) {
    streams[index].content = content
    numbers.note(content.sending)
    live[index] = Programme(streams[index], content.sending, server: self, on: loop)
  }

  /// What a client is told of a stream.
  enum Description {
    case text(String)
    /// Its source has not begun; ``RTSPConnection/noteContent(ofStream:)`` follows.
    case awaited
    case missing
  }

  func description(ofStream index: Int) -> Description {
    guard streams.indices.contains(index), !missing.contains(index) else { return .missing }
    let text = streams[index].text(with: live[index]?.parameterSets)
    return text.map { Description.text($0) } ?? .awaited
  }

  // MARK: Connections

  func began(on listener: any Channel) { self.listener = listener }

  func admit(_ connection: RTSPConnection) -> Bool {
    guard !isOver, connections.count < configuration.limits.connections else { return false }
    let host = connection.remoteAddress?.ipAddress ?? ""
    guard hosts[host, default: 0] < configuration.limits.connectionsOfOneAddress else {
      return false
    }
    hosts[host, default: 0] += 1
    connections[ObjectIdentifier(connection)] = connection
    return true
  }

  func disconnected(_ connection: RTSPConnection) {
    guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
    let host = connection.remoteAddress?.ipAddress ?? ""
    hosts[host, default: 1] -= 1
    if hosts[host] == 0 { hosts[host] = nil }
    finishIfAlone()
  }

  // MARK: RTSP in HTTP

  func openTunnel(
    _ cookie: String, _ request: RTSPRequest, by connection: RTSPConnection
  ) -> RTSPServerSession.TunnelOutcome {
    if var gate = tunnelGate {
      defer { tunnelGate = gate }
      if case .refused(let isStale) = gate.judge(request, at: Instant.now.nanoseconds) {
        return .challenged(
          gate.challenge(isStale: isStale, at: Instant.now.nanoseconds) { dice.next() })
      }
    }
    guard tunnels[cookie] == nil else { return .taken }
    tunnels[cookie] = connection
    return .opened
  }

  func tunnel(_ cookie: String) -> RTSPConnection? { tunnels[cookie] }

  func closeTunnel(_ cookie: String) { tunnels[cookie] = nil }

  /// Gives the ports for a client that came by `address`, or `nil` if there are none to be had.
  func ports(for address: SocketAddress?, then give: @escaping (MediaPorts?) -> Void) {
    guard let host = address?.ipAddress else { return give(nil) }
    if ports[host] == nil, ports.count < configuration.limits.addresses {
      let server = NIOLoopBound(self, eventLoop: loop.nonisolated())
      ports[host] = MediaPorts.open(
        on: host, server: server, loop: loop.nonisolated(),
        looksClosed: configuration.quirks.contains(.punchRefused))
    }
    guard let future = ports[host] else { return give(nil) }
    future.assumeIsolated().whenComplete { result in
      let pair = (try? result.get())?.value
      // Without any, whoever comes next tries again.
      if pair == nil { self.ports[host] = nil }
      if self.ports[host] != nil { self.opened[host] = pair }
      give(pair)
    }
  }

  func sessionConfiguration(
    at address: SocketAddress?, _ ports: MediaPorts?
  ) -> RTSPServerSession.Configuration {
    let isSecure = configuration.identity != nil
    var number = 0
    let streams = streams.map { stream in
      let count = stream.trackCount
      var own = RTSPServerSession.Stream(
        name: stream.name, trackCount: count, duration: stream.survey?.duration)
      // Whoever asked for TLS gets nothing in clear.
      own.takesDatagrams = !isSecure || stream.crypto != nil
      if stream.survey == nil, let group = configuration.group, ports != nil,
        group.isReachable(from: address)
      {
        own.groups = (0..<count).map {
          MulticastGroup(address: group.address, port: group.port + 2 * (number + $0))
        }
        number += count
      }
      return own
    }
    return RTSPServerSession.Configuration(
      streams: streams,
      origin: "rtsp\(isSecure ? "s" : "")://\(address?.hostAndPort ?? "localhost")",
      isSecure: isSecure, login: configuration.login, serverPorts: ports?.numbers,
      quirks: configuration.quirks)
  }

  // MARK: Sessions

  func makePlayer(
    _ id: String, ofStream index: Int, on connection: RTSPConnection, _ ports: MediaPorts?
  ) -> RTSPPlayer? {
    guard !isOver, sessionCount < configuration.limits.sessions,
      streams.indices.contains(index), let content = streams[index].content
    else { return nil }
    sessionCount += 1
    let stream = streams[index]
    let programme =
      live[index]
      ?? Programme(
        stream, renumbered(content.sending, keepsNumbers: stream.keepsNumbers), server: self,
        on: loop)
    return RTSPPlayer(id, of: programme, on: connection, ports)
  }

  /// A client has gone, or has let go of its session.
  func left(_ player: RTSPPlayer) {
    members.remove(player)
    sessionCount -= 1
    guard player.hasPlayed else { return }
    report.clients += 1
    report.datagrams += player.datagrams
    report.bytes += player.bytes
    report.skippedUnits += player.skippedUnits
    if player.programme.stream.survey != nil { add(player.programme) }
    if let address = player.remoteAddress {
      tell(player.receptions, of: address)
      onEvent(.clientLeft(address))
    }
    if servesOnce { stop(hasServedOnce ? .sourceEnded : .clientLeft) }
  }

  /// The stream of a client has ended, which is all that a server does that serves once.
  ///
  /// Clients take a connection that ends at once for a fault, and leave by themselves.
  func servedOnce() {
    guard !hasServedOnce else { return }
    hasServedOnce = true
    loop.scheduleTask(in: Self.farewell) { self.stop(.sourceEnded) }
  }

  /// Whether another client of the same host has one of these ports.
  func isClaimed(_ numbers: [Int], of address: SocketAddress?, by player: RTSPPlayer?) -> Bool {
    guard let address else { return true }
    return numbers.contains { number in
      var own = address
      own.port = number
      return claims[own].map { $0.player !== player } ?? false
    }
  }

  func claim(_ player: RTSPPlayer) {
    for (track, address) in player.reportAddresses {
      claims[address] = Claim(player: player, track: track)
    }
    members.update(player)
  }

  func release(_ player: RTSPPlayer) {
    for (_, address) in player.reportAddresses where claims[address]?.player === player {
      claims[address] = nil
    }
  }

  /// A datagram of somebody, to a port of ours or to a group: RTCP if its sender is a client.
  func received(_ bytes: ByteBuffer, from address: SocketAddress) {
    guard RTCPPacket.recognizes(bytes) else { return }
    if let claim = claims[address] {
      claim.player.connection.noteReport(of: claim.player.id)
      claim.player.programme.receive(bytes, from: claim.player)
    } else if !members.isEmpty, !opened.values.contains(where: { $0.isOrigin(address) }) {
      // Our own reports come back from the groups.
      members.received(bytes, from: address)
    }
  }

  /// The system closed a socket; clients that come later get others.
  func portsClosed(_ host: String, _ channel: any Channel) {
    guard let pair = opened[host], pair.contains(channel) else { return }
    ports[host] = nil
    opened[host] = nil
    pair.close()
  }

  func portsTakeMore() {
    for claim in claims.values { claim.player.programme.wake() }
  }

  // MARK: The end

  /// A source failed; others may go on.
  func failed(_ name: String, _ error: any Error) {
    failure = failure ?? error
    let reason = "\(error)"
    if toldFailures.updateValue(reason, forKey: name) != reason {
      onEvent(.streamFailed(name: name, reason: reason))
    }
    if streams.count == 1, streams[0].survey == nil { stop(.stopped) }
  }

  func stop(_ ending: SendReport.Ending) {
    guard !isOver else { return }
    isOver = true
    report.ending = ending
    listener?.close(promise: nil)
    for programme in live.values { programme.sayGoodbye() }
    for connection in connections.values { connection.stop() }
    finishIfAlone()
  }

  private func add(_ programme: Programme) {
    let sent = programme.finalReport()
    report.frames += sent.frames
    report.soundPackets += sent.soundPackets
    report.refusedUnits += sent.refusedUnits
    report.network.add(sent.network)
    report.feedback.add(sent.feedback)
    report.reports += sent.reports
    report.duration = max(report.duration, sent.duration)
  }

  private func finishIfAlone() {
    guard isOver, connections.isEmpty, !isFinished else { return }
    isFinished = true
    for programme in live.values { add(programme) }
    for pair in opened.values { pair.close() }
    promise.completeWith(failure.map { .failure($0) } ?? .success(report))
  }

  /// The tracks for another run.
  func renumbered(_ sending: SenderConfiguration, keepsNumbers: Bool) -> SenderConfiguration {
    numbers.next(sending, keeps: keepsNumbers)
  }
}
