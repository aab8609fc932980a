import NIOCore
import RTPWire

/// A client's session while it has media: its carriers, and what waits for it.
///
/// All of its tracks go the same way: in the connection, in datagrams, or to groups.
final class RTSPPlayer {
  /// The most bytes that are framed at once from what waits.
  private static let chunk = 64 << 10
  /// What waits leaves in steps of this many bytes and nanoseconds where it goes in datagrams, so
  /// that a client's socket can take it.
  private static let step = 16 << 10
  private static let stepTime = TimeAmount.milliseconds(1)

  let id: String
  let programme: Programme
  let connection: RTSPConnection
  private(set) var carriers: [Int: Carrier] = [:]
  private(set) var datagrams = 0
  private(set) var bytes = 0
  /// What it reported last, by tracks.
  private(set) var receptions: [Int: ReportedReception] = [:]
  /// Whether it was told about as a client.
  var hasPlayed = false
  private(set) var isStarted = false
  private var isEnding = false
  var remoteAddress: SocketAddress? { connection.remoteAddress }
  var skippedUnits: Int { earlierSkips + queue.skippedUnits }
  /// What goes out before everything else.
  var waiting: [PacketFeed.Packet] { queue.waiting }

  private let ports: MediaPorts?
  private var addresses: [Int: (rtp: SocketAddress, rtcp: SocketAddress)] = [:]
  private var groups: [Int: (rtp: SocketAddress, rtcp: SocketAddress)] = [:]
  private var channels = ChannelMap([:])
  private var queue: ClientQueue
  private var earlierSkips = 0
  private var hasToldSkips = false
  private var allowance = ResendAllowance()
  private var timer: Scheduled<Void>?

  init(_ id: String, of programme: Programme, on connection: RTSPConnection, _ ports: MediaPorts?) {
    self.id = id
    self.programme = programme
    self.connection = connection
    self.ports = ports
    queue = ClientQueue(waits: programme.isLive)
  }

  // MARK: What is set up

  func setUp(_ track: Int, _ carrier: Carrier) {
    drop(track)
    carriers[track] = carrier
    if case .multicast(let group) = carrier,
      let address = try? SocketAddress(ipAddress: group.address, port: group.port),
      let control = try? SocketAddress(ipAddress: group.address, port: group.port + 1)
    {
      groups[track] = (address, control)
    }
    if case .udp(let rtp, let rtcp) = carrier, var address = connection.remoteAddress {
      address.port = rtp
      var control = address
      control.port = rtcp
      addresses[track] = (address, control)
    }
    channels = ChannelMap(carriers)
    queue.hasPictures = hasPictures
  }

  func drop(_ track: Int) {
    carriers[track] = nil
    addresses[track] = nil
    groups[track] = nil
    channels = ChannelMap(carriers)
    queue.hasPictures = hasPictures
  }

  /// The addresses from which its reports come, by tracks.
  var reportAddresses: [(track: Int, address: SocketAddress)] {
    addresses.flatMap { [($0.key, $0.value.rtp), ($0.key, $0.value.rtcp)] }
  }

  /// The groups that its tracks go to, and the interface by which it came.
  var memberships: [(group: MulticastGroup, host: String)] {
    guard let host = ports?.host else { return [] }
    var memberships: [(group: MulticastGroup, host: String)] = []
    for case .multicast(let group) in carriers.values { memberships.append((group, host)) }
    return memberships
  }

  /// Whether it has asked for pictures, and not for sound alone.
  var hasPictures: Bool { carriers.keys.contains(where: programme.hasPictures) }
  var isMulticast: Bool { !groups.isEmpty }
  var hasDatagrams: Bool { isMulticast || !addresses.isEmpty }

  /// Whether a source of its own may make more.
  var canTakeMore: Bool {
    guard queue.isEmpty else { return false }
    return addresses.isEmpty ? connection.isWritable : ports?.canSend ?? false
  }

  // MARK: What is sent

  /// Begins with `packets`, or with the next key picture if it `waits`.
  func start(with packets: [PacketFeed.Packet], waits: Bool) {
    stop()
    dropWaiting(waits: waits)
    for packet in packets where carriers[packet.track] != nil { queue.add(packet) }
    goOn()
  }

  /// Goes on with what waits, and then with whatever comes.
  func goOn() {
    isStarted = true
    drain()
  }

  /// The stream has ended: what waits still leaves, and then the session is told.
  func finish() {
    isEnding = true
    endIfEmpty()
  }

  private func endIfEmpty() {
    guard isStarted, isEnding, queue.isEmpty else { return }
    stop()
    connection.noteEnd(of: id)
  }

  /// Sends nothing until it is started again; what waits goes on waiting.
  func stop() {
    isStarted = false
    isEnding = false
    timer?.cancel()
    timer = nil
  }

  /// Leaves out what waits; what comes next begins with a key picture if it `waits`.
  func dropWaiting(waits: Bool) {
    earlierSkips += queue.skippedUnits
    queue = ClientQueue(waits: waits)
    queue.hasPictures = hasPictures
  }

  func take(_ batch: PacketBatch) {
    guard isStarted, !isMulticast else { return }
    if queue.isPassable, addresses.isEmpty, connection.isWritable {
      send(batch.frames(on: channels))
      for packet in batch.lasts { queue.notePassed(packet) }
    } else if queue.isPassable, !addresses.isEmpty, ports?.canSend ?? false {
      write(batch.packets)
      for packet in batch.lasts { queue.notePassed(packet) }
    } else {
      for packet in batch.packets where carriers[packet.track] != nil { queue.add(packet) }
      tellSkips()
      drain()
    }
  }

  /// What it reports.
  func note(_ receptions: [Int: ReportedReception]) {
    self.receptions.merge(receptions) { $1 }
  }

  /// What answers its own requests.
  func answer(_ packets: [PacketFeed.Packet], at now: Instant) {
    guard isStarted else { return }
    let allowed = Array(allowance.allowed(packets, at: now))
    var paths: Set<GroupPath> = []
    if isMulticast { writeToGroups(allowed, but: &paths) } else { write(allowed) }
    flush()
  }

  /// The connection takes more again.
  func drain() {
    guard isStarted, addresses.isEmpty else { return drainDatagrams() }
    while !queue.isEmpty, connection.isWritable {
      write(queue.take(upTo: Self.chunk))
    }
    if queue.isEmpty { noteEmpty() }
  }

  private func noteEmpty() {
    endIfEmpty()
    programme.wake()
  }

  private func drainDatagrams() {
    guard isStarted, timer == nil else { return }
    guard !queue.isEmpty else { return noteEmpty() }
    if ports?.canSend ?? false {
      write(queue.take(upTo: Self.step))
      flush()
    }
    guard !queue.isEmpty else { return noteEmpty() }
    timer = connection.loop.scheduleTask(in: Self.stepTime) {
      self.timer = nil
      self.drainDatagrams()
    }
  }

  /// Sends to the groups of its tracks, where nobody has sent these packets by the same interface.
  func writeToGroups(_ packets: [PacketFeed.Packet], but sent: inout Set<GroupPath>) {
    guard let ports else { return }
    let own = groups.keys.filter {
      sent.insert(GroupPath(interface: ports.interface, track: $0)).inserted
    }
    for packet in packets where own.contains(packet.track) {
      guard let address = groups[packet.track] else { continue }
      ports.write(packet, to: packet.goesToControlPort ? address.rtcp : address.rtp)
      note(packet)
    }
  }

  func flush() {
    if hasDatagrams { ports?.flush() }
    connection.flush()
  }

  private func write(_ packets: [PacketFeed.Packet]) {
    guard !addresses.isEmpty else { return send(channels.frames(of: packets)) }
    for packet in packets {
      guard let address = addresses[packet.track] else { continue }
      ports?.write(packet, to: packet.goesToControlPort ? address.rtcp : address.rtp)
      note(packet)
    }
  }

  /// Counts a datagram.
  private func note(_ packet: PacketFeed.Packet) {
    datagrams += 1
    bytes += packet.bytes.readableBytes
  }

  private func send(_ frames: InterleavedFrames) {
    guard frames.count > 0 else { return }
    datagrams += frames.count
    bytes += frames.packetBytes
    connection.write(frames.bytes, of: id)
  }

  /// Says once that the client is too slow.
  private func tellSkips() {
    guard !hasToldSkips, queue.skippedUnits > 0 else { return }
    hasToldSkips = true
    connection.tellSlowness()
  }
}

/// A way to a group: each track leaves once by each interface, however many members have joined.
struct GroupPath: Hashable {
  var interface: String
  var track: Int
}
