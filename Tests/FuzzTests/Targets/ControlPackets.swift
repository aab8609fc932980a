import NIOCore
import RTPWire

@testable import RTPSend

extension FuzzTarget {
  /// F2: compounds of RTCP as a receiver and a sender read them (RFC 3550 §6, RFC 4585).
  static let controlPackets = FuzzTarget("rtcp") { choices in
    let bytes = choices.all()
    let buffer = ByteBuffer(sliceOf: bytes)
    _ = RTCPPacket.recognizes(buffer)
    let sources = RTCPPacket.sources(in: buffer)
    // The last packet looked at may be a goodbye of 31.
    try require(Set(sources).count == sources.count && sources.count < 32 + 31, "\(sources)")
    _ = ReceptionReport.reports(in: buffer)
    guard let packets = try? RTCPPacket.parse(compound: buffer) else { return }
    try require(4 * packets.count <= bytes.count, "\(packets.count) packets")
    for packet in packets {
      switch packet {
      case .goodbye(let sources): try require(sources.count <= 31, "\(sources.count) sources")
      case .sourceDescription(let names):
        try require(names.count <= 31, "\(names.count) names")
        try require(names.values.allSatisfy { $0.unicodeScalars.count <= 255 }, "a long name")
      case .feedback(.genericNACK(_, let entries), _):
        try require(!entries.isEmpty && 4 * entries.count <= bytes.count, "\(entries)")
        try require(entries.allSatisfy { (1...17).contains($0.numbers.count) }, "\(entries)")
      case .feedback(.fullIntraRequest(let requests), _):
        try require(!requests.isEmpty && 8 * requests.count <= bytes.count, "\(requests)")
      default: break
      }
    }
    // The same wherever the bytes are.
    try requireEqual(try? RTCPPacket.parse(compound: ByteBuffer(bytes: bytes)), packets)
    try requireEqual(buffer.array, bytes, "the input has changed")
  }

}
