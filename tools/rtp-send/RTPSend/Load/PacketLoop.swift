import NIOCore

/// The packets of a source, without their headers, for streams that send them again and again.
struct PacketLoop: Sendable {
  struct Packet: Sendable {
    /// Its payload in ``PacketLoop/bytes``.
    var payload: Range<Int>
    /// When its picture is shown, from the start of the loop.
    var ticks: Int64
    var marker: Bool
  }

  struct Picture: Sendable {
    /// In ``PacketLoop/packets``.
    var packets: Range<Int>
    /// When it is due, from the start of the loop.
    var ticks: Int64
  }

  /// Kept in memory at most: a minute of 32 Mbit/s.
  static let memoryLimit = 256 << 20

  private(set) var packets: [Packet] = []
  private(set) var pictures: [Picture] = []
  private(set) var bytes: [UInt8] = []
  /// From one repetition to the next.
  private(set) var ticks: Int64 = 0
  let clock: MediaClock

  /// Reads all of a source that has an end.
  ///
  /// - Throws: ``SendError`` when it cannot be read, has no picture, or is too long.
  init(_ configuration: PacketFeed.Configuration) throws {
    var source = try VideoPayloads(configuration)
    clock = source.clock
    var interval: Int64 = 0
    while let batch = try source.next().element {
      guard !batch.payloads.isEmpty else { continue }
      let first = packets.count
      for payload in batch.payloads {
        let start = bytes.count
        bytes.append(contentsOf: payload.bytes.readableBytesView)
        packets.append(
          Packet(payload: start..<bytes.count, ticks: payload.ticks, marker: payload.marker))
      }
      if let last = pictures.last, batch.ticks > last.ticks { interval = batch.ticks - last.ticks }
      pictures.append(Picture(packets: first..<packets.count, ticks: batch.ticks))
      guard bytes.count <= Self.memoryLimit else {
        throw SendError.invalid(
          option: "--streams",
          reason: "keeps the source in memory, which is for \(Self.memoryLimit >> 20) MiB at most; "
            + "cut it first: ffmpeg -t 30 -i FILE -c copy short.mp4")
      }
    }
    guard let first = pictures.first, let last = pictures.last else {
      throw SendError.invalid(option: "SOURCE", reason: "has no pictures")
    }
    // A single picture is sent as often as one of 30 a second.
    ticks = max(1, last.ticks - first.ticks + (interval > 0 ? interval : 3000))
    // A file may begin at any time, of which the reports of the streams know nothing.
    for index in pictures.indices { pictures[index].ticks -= first.ticks }
    for index in packets.indices { packets[index].ticks -= first.ticks }
  }
}
