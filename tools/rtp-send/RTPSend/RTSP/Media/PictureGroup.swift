import NIOCore

/// The packets since the last key picture, for clients that come later: they see a picture at once.
struct PictureGroup {
  /// The most bytes that are kept.
  static let longest = 8 << 20
  /// The longest time that is kept, in ticks of video: a client stays as far behind as its first
  /// picture is.
  static let longestTicks: UInt32 = 2 * 90_000

  /// From the first packet with anything of a key picture on, or empty.
  ///
  /// Between the packets of the key picture may be those of others (RFC 6184 §6.4).
  private(set) var packets: [PacketFeed.Packet] = []
  private var byteCount = 0
  /// The key picture's time, and its first packet's timestamp; `nil` while there is none, or after
  /// more than can be kept.
  private var key: (track: Int, time: Int64, timestamp: UInt32)?

  mutating func add(_ packet: PacketFeed.Packet) {
    guard !packet.isControl else { return }
    let timestamp = packet.bytes.rtpTimestamp
    if let time = packet.key, let timestamp, key.map({ time > $0.time }) ?? true {
      forget()
      key = (packet.track, time, timestamp)
    }
    guard let key else { return }
    if packet.track == key.track, let timestamp {
      // A picture may be shown before the key picture that it follows.
      let age = timestamp &- key.timestamp
      if age > Self.longestTicks, age < 1 << 31 { return forget() }
    }
    packets.append(packet)
    byteCount += packet.bytes.readableBytes
    if byteCount > Self.longest { forget() }
  }

  mutating func forget() {
    packets.removeAll()
    byteCount = 0
    key = nil
  }
}
