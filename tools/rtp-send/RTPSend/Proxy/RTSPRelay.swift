import BlockingIO
import Impairment
import NIOCore
import NIOPosix
import RTPWire

/// One client of an RTSP server behind the proxy: two connections, and the media between them.
final class RTSPRelay {
  /// Tracks of one client.
  private static let mostTracks = 16
  /// How long an answer waits that media comes before: some pictures.
  private static let mediaLead = TimeAmount.milliseconds(300)
  /// How long the server may take to accept.
  private static let patience = TimeAmount.seconds(10)
  /// How long a side may take to read what the other one sent before it ended.
  private static let longestFarewell = TimeAmount.seconds(60)

  var onEnd: (RTSPRelay) -> Void = { _ in }
  /// Whether its host may have another track over UDP.
  var mayOpenTrack: () -> Bool = { true }
  /// Where the client is.
  let host: String

  private let client: any Channel
  private let target: SocketAddress
  private let paths: ProxyPaths
  private var server: (any Channel)?
  private var rewriting: RTSPRewriting
  private var answers: QuirkyAnswers
  private var pieces: [ProxyPath.Direction: RTSPPieces] = [.toServer: .init(), .toClient: .init()]
  /// Frames in the connection.
  private let interleaved: PathDriver
  /// Of the client.
  private let number: Int
  /// By the CSeq of the SETUP that is not answered yet, with its URL.
  private var setups: [String: (url: String, media: MediaRelay)] = [:]
  /// By the URL.
  private var tracks: [String: MediaRelay] = [:]
  /// Those of all SETUPs so far.
  private var trackCount = 0
  /// A SETUP waits for sockets, and what the client sent behind it waits too.
  private var isOpening = false
  private var isOver = false
  /// When the last bytes came in one of the connections.
  private var lastHeard = Instant.now
  private var silence: Scheduled<Void>?

  init(
    _ client: any Channel, of host: String, to target: SocketAddress, _ paths: ProxyPaths
  ) {
    self.client = client
    self.host = host
    self.target = target
    self.paths = paths
    let address = client.remoteAddress ?? target
    number = paths.admit()
    interleaved = paths.open(for: address, client: number)
    answers = QuirkyAnswers(paths.configuration.plan.quirksEver)
    rewriting = RTSPRewriting(
      server: [paths.configuration.target.host, target.ipAddress ?? ""], port: target.port ?? 554,
      proxy: client.localAddress?.hostAndPort ?? "")
  }

  /// Those that have sockets, or are about to.
  var openTracks: Int { tracks.count + setups.count + (isOpening ? 1 : 0) }

  /// Connects to the server; then both sides are read.
  func begin() {
    endInSilence()
    let loop = paths.loop.nonisolated()
    let relay = NIOLoopBound(self, eventLoop: loop)
    interleaved.send = { [weak self] in self?.write($0) }
    interleaved.flush = { [weak self] in self?.flush() }
    interleaved.isReady = true
    ClientBootstrap(group: loop)
      .connectTimeout(Self.patience)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.autoRead, value: false)
      .connect(to: target).assumeIsolated().whenComplete { result in
        switch result {
        case .success(let server): relay.value.join(server)
        case .failure:
          self.paths.noteUnreachable()
          relay.value.finish()
        }
      }
  }

  /// Ends both connections and the media.
  func end() -> EventLoopFuture<Void> {
    let loop = paths.loop.nonisolated()
    guard !isOver else { return loop.makeSucceededVoidFuture() }
    isOver = true
    silence?.cancel()
    client.close(promise: nil)
    server?.close(promise: nil)
    let media = Array(tracks.values) + setups.values.map(\.media)
    let ends = media.map { $0.close() } + [paths.close(interleaved, [])]
    (tracks, setups) = ([:], [:])
    onEnd(self)
    return .andAllComplete(ends, on: loop)
  }

  private func finish() { _ = end() }

  /// Ends when nothing has come for long: whoever has gone without a word would keep its sockets.
  private func endInSilence() {
    let heard = tracks.values.reduce(lastHeard) { max($0, $1.lastHeard) }
    let rest = paths.configuration.limits.silence.nanoseconds - heard.nanoseconds(to: .now)
    guard rest > 0 else { return finish() }
    silence = paths.loop.scheduleTask(in: .nanoseconds(rest)) { [weak self] in
      guard let self else { return }
      endInSilence()
    }
  }

  private func join(_ server: any Channel) {
    guard !isOver else { return server.close(promise: nil) }
    self.server = server
    do {
      try client.pipeline.syncOperations.addHandler(RelayedConnection(self, .toServer))
      try server.pipeline.syncOperations.addHandler(RelayedConnection(self, .toClient))
    } catch { return finish() }
    for channel in [client, server] { channel.setOption(.autoRead, value: true).cascade(to: nil) }
  }

  // MARK: What comes

  fileprivate func take(_ bytes: ByteBuffer, _ direction: ProxyPath.Direction) {
    lastHeard = .now
    pieces[direction]?.append(bytes)
    advance(direction)
  }

  fileprivate func readCompleted() {
    interleaved.run()
    flush()
  }

  /// One side has ended; the other one gets what is still on its way.
  fileprivate func ended(_ direction: ProxyPath.Direction) {
    let other = direction == .toClient ? client : server
    guard !isOver, let other, other.isActive else { return finish() }
    paths.loop.scheduleTask(in: Self.longestFarewell) { [weak self] in self?.finish() }
    interleaved.whenEmpty(direction) { [weak self] in
      // What is written behind all that waits has left when that has.
      other.writeAndFlush(ByteBuffer()).assumeIsolated().whenComplete { _ in self?.finish() }
    }
  }

  /// A side that is too slow keeps the other one from sending.
  fileprivate func writabilityChanged() {
    server?.setOption(.autoRead, value: client.isWritable).cascade(to: nil)
    client.setOption(.autoRead, value: server?.isWritable ?? true).cascade(to: nil)
  }

  private func advance(_ direction: ProxyPath.Direction) {
    while !(direction == .toServer && isOpening), !isOver, let piece = pieces[direction]?.next() {
      switch piece {
      case .frame(let channel, let bytes):
        let shift = direction == .toServer ? answers.channelShift : 0
        interleaved.offer(bytes, direction, channel: Int(channel &- shift))
      case .unknown(let bytes): pass(bytes, direction)
      case .message(let message):
        if message.isResponse == (direction == .toClient) {
          if direction == .toClient { take(response: message) } else { take(request: message) }
        } else {
          pass(message.bytes, direction)
        }
      }
    }
  }

  private func take(request: RTSPText) {
    var request = request
    rewriting.note(request: request)
    answers.restore(&request)
    switch answers.refusal(of: request) {
    case .answer(let answer): return pass(answer.bytes, .toClient)
    case .close: return client.close(promise: nil)
    case nil: break
    }
    guard let ports = RTSPRewriting.clientPorts(in: request), let number = request["CSeq"],
      openTracks < Self.mostTracks, mayOpenTrack(), let local = client.localAddress,
      let upstream = server?.localAddress, let address = client.remoteAddress
    else { return pass(request.bytes, .toServer) }
    isOpening = true
    let loop = paths.loop.nonisolated()
    DatagramPort.openPairs(local, upstream, on: loop).assumeIsolated().whenComplete { result in
      self.isOpening = false
      var request = request
      if case .success(let (near, far)) = result {
        if self.answers.refusesPunches, let channel = near.value.first?.channel {
          ClosedPort.imitate(on: channel)
        }
        let media = MediaRelay(
          near: near.value, far: far.value, client: address, target: self.target, ports: ports,
          self.paths, client: self.number, track: self.trackCount)
        self.trackCount += 1
        if self.isOver {
          _ = media.close()
        } else {
          // A client that repeats a number gives up the request that had it.
          _ = self.setups.updateValue((request.url, media), forKey: number)?.media.close()
          RTSPRewriting.set(clientPort: media.farPort, in: &request)
        }
      }
      self.pass(request.bytes, .toServer)
      self.advance(.toServer)
      self.flush()
    }
  }

  private func take(response: RTSPText) {
    var response = response
    rewriting.redirect(&response)
    if let number = response["CSeq"], let (url, media) = setups.removeValue(forKey: number) {
      if let server = RTSPRewriting.server(in: response) {
        var source = target
        if let named = server.source.flatMap({ try? SocketAddress(ipAddress: $0, port: 0) }) {
          source = named
        }
        media.connect(to: source, server.ports)
        RTSPRewriting.set(
          serverPort: media.nearPort, address: client.localAddress?.ipAddress ?? "",
          clientPorts: media.ports, in: &response)
        // Set up again, perhaps after a TEARDOWN.
        _ = tracks.updateValue(media, forKey: url)?.close()
      } else {
        _ = media.close()
      }
    }
    guard let answer = answers.change(response) else { return }
    switch answer.company {
    case .alone: pass(answer.text.bytes, .toClient)
    case .frames(let frames):
      pass(answer.text.bytes, .toClient)
      pass(frames, .toClient)
    case .media:
      paths.loop.scheduleTask(in: Self.mediaLead) { [weak self] in
        self?.pass(answer.text.bytes, .toClient)
        self?.flush()
      }
    }
  }

  // MARK: What goes

  private func pass(_ bytes: ByteBuffer, _ direction: ProxyPath.Direction) {
    (direction == .toServer ? server : client)?.write(bytes, promise: nil)
  }

  private func write(_ departure: ProxyPath.Departure) {
    var frame = ByteBuffer()
    let shift = departure.direction == .toClient ? answers.channelShift : 0
    frame.writeMultipleIntegers(
      UInt8(ascii: "$"), UInt8(truncatingIfNeeded: departure.channel) &+ shift,
      UInt16(clamping: departure.bytes.readableBytes))
    frame.writeImmutableBuffer(departure.bytes)
    pass(frame, departure.direction)
  }

  private func flush() {
    client.flush()
    server?.flush()
  }
}

/// A side of an ``RTSPRelay``.
private final class RelayedConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let relay: RTSPRelay
  private let direction: ProxyPath.Direction

  init(_ relay: RTSPRelay, _ direction: ProxyPath.Direction) {
    (self.relay, self.direction) = (relay, direction)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    relay.take(unwrapInboundIn(data), direction)
  }

  func channelReadComplete(context: ChannelHandlerContext) { relay.readCompleted() }

  func channelWritabilityChanged(context: ChannelHandlerContext) { relay.writabilityChanged() }

  func channelInactive(context: ChannelHandlerContext) { relay.ended(direction) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
