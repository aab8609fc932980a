import Bitstream
import Defragment
import NIOCore
import Transports

/// How pictures of one codec go in RTP.
struct PublishedVideo: Sendable {
  let codec: VideoCodec
  /// Bytes of the header of a NAL unit.
  let headerLength: Int
  /// The parameter sets that came last, in their order.
  private(set) var sets: [ByteBuffer] = []

  /// Bytes of sets that are described; more are only in the stream.
  private static let mostOfSets = 4 << 10

  /// - Throws: ``JetStreamError/unsupportedCodec(_:)``.
  init(_ codec: VideoCodec) throws(JetStreamError) {
    self.codec = codec
    switch codec.encodingName {
    case "H264": headerLength = 1
    case "H265": headerLength = 2
    default: throw .unsupportedCodec(codec.encodingName)
    }
  }

  /// Remembers the parameter sets of `unit`, if it has any.
  mutating func note(_ unit: AccessUnit) {
    let types = codec.parameterSetTypes
    let found = unit.units.filter { $0.isWhole && types.contains($0.type) }
    let kinds = Set(found.map(\.type))
    guard !found.isEmpty, found.reduce(0, { $0 + $1.length }) <= Self.mostOfSets else { return }
    let kept = sets.filter { !kinds.contains(type(of: $0)) }
    let new = found.map { unit.bytes(of: $0) }.map { ByteBuffer(bytes: $0.readableBytesView) }
    let all = kept + new
    // In their natural order.
    sets = types.flatMap { wanted in all.filter { type(of: $0) == wanted } }
  }

  /// The `a=fmtp` with the parameter sets (RFC 6184 §8.1, RFC 7798 §7.1).
  var parameters: String {
    guard headerLength == 1 else {
      return zip(codec.parameterSetTypes, ["vps", "sps", "pps"]).compactMap { type, name in
        let sets = sets.filter { self.type(of: $0) == type }
        return sets.isEmpty ? nil : "sprop-\(name)=\(Self.list(sets))"
      }.joined(separator: ";")
    }
    return "packetization-mode=1" + (sets.isEmpty ? "" : ";sprop-parameter-sets=\(Self.list(sets))")
  }

  private func type(of set: ByteBuffer) -> UInt8 {
    let first = set.getInteger(at: set.readerIndex, as: UInt8.self) ?? 0
    return headerLength == 1 ? first & 0x1F : first >> 1 & 0x3F
  }

  private static func list(_ sets: [ByteBuffer]) -> String {
    sets.map { String(decoding: $0.readableBytesView.base64, as: UTF8.self) }
      .joined(separator: ",")
  }
}
