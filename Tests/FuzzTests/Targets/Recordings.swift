import NIOCore
import RTPWire

@testable import Transports

extension FuzzTarget {
  /// Captures of every format and what is in them, gzip included, however the reads divide them.
  static let capture = FuzzTarget("capture") { choices in
    let (whole, reads) = choices.reads()
    let isCompressed = whole.starts(with: GzipReader.signature)
    let expected = play([whole], isCompressed)
    try requireEqual(play(reads, isCompressed), expected, "\(reads.map(\.count))")
    let bytes = expected.packets.reduce(0) { $0 + $1.count }
    if !isCompressed { try require(bytes <= whole.count, "\(bytes) of \(whole.count) bytes") }
  }

  private struct Played: Equatable {
    var packets: [[UInt8]] = []
    var descriptions: [[MediaDescription]] = []
    var error: String?
    var remarks = 0
  }

  private static func play(_ reads: [[UInt8]], _ isCompressed: Bool) -> Played {
    var played = Played()
    var delivery = CaptureDelivery(ReplayConfiguration(), isCompressed: isCompressed)
    func pull() throws {
      while let event = try delivery.next() {
        switch event {
        case .packet(let datagram): played.packets.append(datagram.bytes.array)
        case .described(let media): played.descriptions.append(media)
        case .readCompleted: break
        }
      }
    }
    do {
      for (index, read) in reads.enumerated() {
        delivery.append(ByteBuffer(sliceOf: read), at: Instant(nanoseconds: Int64(index)))
        try pull()
      }
      delivery.finish()
      try pull()
    } catch {
      // zlib looks a few bytes ahead, if there are any, so the place may differ by them.
      played.error = "\(error)".filter { !$0.isNumber }
    }
    played.remarks = delivery.remarks.count
    return played
  }

  /// The packets of a link: IP in all its forms, fragments, and TCP with RTSP inside.
  static let network = FuzzTarget("network") { choices in
    var dissection = Dissection()
    var time: Int64 = 0
    var count = (carried: 0, bytes: 0)
    let links: [LinkType] =
      [.ethernet, .raw, .linuxCooked] + (0...300).map { LinkType(rawValue: $0) }
    while !choices.isEmpty {
      let kind = choices.byte()
      time += Int64(choices.byte()) * 10_000_000
      let bytes = choices.piece()
      count.bytes += bytes.count
      let buffer = ByteBuffer(sliceOf: bytes)
      let link = kind & 0x80 != 0 ? choices.pick(links) : links[Int(kind) % 3]
      let recording = Recording(
        time: time, content: .frame(buffer, link), missing: kind & 0x40 != 0 ? 1 : 0)
      dissection.receive(recording) { packet in
        count.carried += packet.bytes.readableBytes
      }
      try requireEqual(buffer.array, bytes, "the input has changed")
    }
    dissection.finish { count.carried += $0.bytes.readableBytes }
    try require(count.carried <= count.bytes, "\(count.carried) of \(count.bytes) bytes")
  }
}
