import NIOCore
import RTPWire

/// A client's session while it has media: its carriers, and what waits for it.
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
  /// Whether it was told about as a client.
  var hasPlayed = false
  private(set) var isStarted = false
  private var isEnding = false
  var remoteAddress: SocketAddress? { connection.remoteAddress }
  var skippedUnits: Int { earlierSkips + queue.skippedUnits }

  private let ports: MediaPorts?
  private var addresses: [Int: (rtp: SocketAddress, rtcp: SocketAddress)] = [:]
  private var groups: [Int: (rtp: SocketAddress, rtcp: SocketAddress)] = [:]
  private var channels = ChannelMap([:])
  private var queue = ClientQueue(waits: true)
  private var earlierSkips = 0
  private var hasToldSkips = false
  private var allowance = ResendAllowance()
  private var timer: Scheduled<Void>?

  init(_ id: String, of programme: Programme, on connection: RTSPConnection, _ ports: MediaPorts?) {
    self.id = id
    self.programme = programme
    self.connection = connection
    self.ports = ports
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
  }

  func drop(_ track: Int) {
    carriers[track] = nil
    addresses[track] = nil
    groups[track] = nil
    channels = ChannelMap(carriers)
  }

  /// The addresses from which its reports come, by tracks.
  var reportAddresses: [(track: Int, address: SocketAddress)] {
    addresses.flatMap { [($0.key, $0.value.rtp), ($0.key, $0.value.rtcp)] }
  }

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
    isStarted = true
    queue = ClientQueue(waits: waits)
    for packet in packets where carriers[packet.track] != nil { queue.add(packet) }
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

  func stop() {
    isStarted = false
    isEnding = false
    timer?.cancel()
    timer = nil
    earlierSkips += queue.skippedUnits
    queue = ClientQueue(waits: true)
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

  /// What answers its own requests.
  func answer(_ packets: [PacketFeed.Packet], at now: Instant) {
    guard isStarted else { return }
    write(Array(allowance.allowed(packets, at: now)))
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

  /// Sends a packet to the group of its track, which several clients have joined.
  func writeToGroup(_ packet: PacketFeed.Packet) {
    guard let address = groups[packet.track] else { return }
    ports?.write(packet, to: packet.goesToControlPort ? address.rtcp : address.rtp)
    datagrams += 1
    bytes += packet.bytes.readableBytes
  }

  func flushGroup() { ports?.flush() }

  func flush() {
    if !addresses.isEmpty { ports?.flush() }
    connection.flush()
  }

  private func write(_ packets: [PacketFeed.Packet]) {
    guard !packets.isEmpty else { return }
    if addresses.count < carriers.count {
      let framed = packets.filter { addresses[$0.track] == nil }
      send(channels.frames(of: framed))
    }
    guard !addresses.isEmpty else { return }
    for packet in packets {
      guard let address = addresses[packet.track] else { continue }
      ports?.write(packet, to: packet.goesToControlPort ? address.rtcp : address.rtp)
      datagrams += 1
      bytes += packet.bytes.readableBytes
    }
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
