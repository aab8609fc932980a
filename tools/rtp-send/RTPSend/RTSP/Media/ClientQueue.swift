import NIOCore

/// What waits for one client of a live stream that takes it more slowly than it is made.
///
/// When too much waits, whole access units are left out up to a key picture: what waits already, if
/// there is one, and otherwise the next that comes. Nobody else is affected.
struct ClientQueue {
  /// The most bytes that wait: a key picture of the largest kind, and some seconds of ordinary
  /// video.
  static let longest = 4 << 20
  /// Reports pass what is left out, and are bounded by themselves.
  static let longestControl = 64 << 10

  /// Pictures and frames of sound that were left out.
  private(set) var skippedUnits = 0
  /// Whether packets are left out until a key picture comes.
  private(set) var isWaiting: Bool
  /// Whether the client has pictures; otherwise it can begin with any packet.
  var hasPictures = true
  var isEmpty: Bool { packets.isEmpty }
  /// All that waits, in its order.
  var waiting: [PacketFeed.Packet] { Array(packets) }
  private(set) var byteCount = 0

  private var packets = CircularBuffer<PacketFeed.Packet>()
  /// The access unit whose packets were taken or left out last, by tracks.
  private var lastTaken: [Int: UInt32] = [:]
  private var lastSkipped: [Int: UInt32] = [:]
  /// The latest key picture of which anything was taken or left out, by tracks: between its packets
  /// may be those of other pictures (RFC 6184 §6.4).
  private var lastTakenKey: [Int: Int64] = [:]
  private var lastSkippedKey: [Int: Int64] = [:]
  /// Whether waiting for the first key picture counts as leaving out.
  private var hasBegun: Bool

  /// A client that begins with a key picture, or with whatever comes first.
  init(waits: Bool) {
    isWaiting = waits
    hasBegun = !waits
  }

  /// Whether packets can be written at once, since nothing waits before them.
  var isPassable: Bool { packets.isEmpty && !isWaiting }

  /// The last packet of a track that was written without waiting.
  mutating func notePassed(_ packet: PacketFeed.Packet) { noteTaken(packet) }

  /// Adds a packet behind the others, or leaves it out.
  mutating func add(_ packet: PacketFeed.Packet) {
    let size = packet.bytes.readableBytes
    if packet.isControl {
      if byteCount + size <= Self.longest + Self.longestControl { append(packet) }
      return
    }
    // The rest of a key picture whose beginning was left out does not help.
    if isWaiting, isKey(packet), !isBegun(packet), !isSkipped(packet) {
      isWaiting = false
      hasBegun = true
    }
    guard !isWaiting else { return skip(packet) }
    if byteCount + size > Self.longest { makeRoom(for: size) }
    if isWaiting { skip(packet) } else { append(packet) }
  }

  /// Takes out packets of up to `count` bytes, or one that is longer.
  mutating func take(upTo count: Int) -> [PacketFeed.Packet] {
    var taken: [PacketFeed.Packet] = []
    var rest = count
    while let packet = packets.first, taken.isEmpty || packet.bytes.readableBytes <= rest {
      packets.removeFirst()
      byteCount -= packet.bytes.readableBytes
      rest -= packet.bytes.readableBytes
      noteTaken(packet)
      taken.append(packet)
    }
    return taken
  }

  /// Leaves out what waits: up to the last key picture, if enough is free then, or all of it.
  private mutating func makeRoom(for size: Int) {
    let last = packets.lastIndex { isKey($0) && !isBegun($0) }
    var kept = last
    if let key = last.map({ packets[$0] }) {
      kept = packets.firstIndex { isKey($0) && isSamePicture($0, key) }
    }
    var rest = CircularBuffer<PacketFeed.Packet>()
    var count = 0
    var index = packets.startIndex
    let old = packets
    packets.removeAll()
    while index != old.endIndex {
      let packet = old[index]
      // The end of what the client has begun to receive, and reports, go out.
      if packet.isControl || isBegun(packet) || kept.map({ index >= $0 }) ?? false {
        rest.append(packet)
        count += packet.bytes.readableBytes
      } else {
        skip(packet)
      }
      index = old.index(after: index)
    }
    packets = rest
    byteCount = count
    if kept == nil || count + size > Self.longest / 2 {
      // The key picture itself may be what is too long.
      if kept != nil { dropUnbegun() }
      isWaiting = true
    }
  }

  private mutating func dropUnbegun() {
    var rest = CircularBuffer<PacketFeed.Packet>()
    for packet in packets {
      if packet.isControl || isBegun(packet) { rest.append(packet) } else { skip(packet) }
    }
    packets = rest
    byteCount = rest.reduce(0) { $0 + $1.bytes.readableBytes }
  }

  private func isKey(_ packet: PacketFeed.Packet) -> Bool {
    packet.isKey || !hasPictures && !packet.isControl
  }

  private func isSamePicture(_ packet: PacketFeed.Packet, _ other: PacketFeed.Packet) -> Bool {
    if let key = packet.key { return key == other.key }
    return packet.track == other.track && packet.bytes.rtpTimestamp == other.bytes.rtpTimestamp
  }

  private func isBegun(_ packet: PacketFeed.Packet) -> Bool {
    if let key = packet.key { return lastTakenKey[packet.track].map { key <= $0 } ?? false }
    return lastTaken[packet.track] == packet.bytes.rtpTimestamp
  }

  private func isSkipped(_ packet: PacketFeed.Packet) -> Bool {
    if let key = packet.key { return lastSkippedKey[packet.track].map { key <= $0 } ?? false }
    return lastSkipped[packet.track] == packet.bytes.rtpTimestamp
  }

  private mutating func append(_ packet: PacketFeed.Packet) {
    packets.append(packet)
    byteCount += packet.bytes.readableBytes
  }

  private mutating func noteTaken(_ packet: PacketFeed.Packet) {
    guard !packet.isControl else { return }
    lastTaken[packet.track] = packet.bytes.rtpTimestamp
    guard let key = packet.key else { return }
    lastTakenKey[packet.track] = max(key, lastTakenKey[packet.track] ?? key)
  }

  /// Counts an access unit once, by its timestamp.
  private mutating func skip(_ packet: PacketFeed.Packet) {
    guard !isSkipped(packet) else { return }
    lastSkipped[packet.track] = packet.bytes.rtpTimestamp
    if let key = packet.key { lastSkippedKey[packet.track] = key }
    if hasBegun { skippedUnits += 1 }
  }
}
