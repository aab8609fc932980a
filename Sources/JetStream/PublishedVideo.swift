import Bitstream
import Defragment
import NIOCore
import Transports

/// How pictures of one codec go in RTP.
struct PublishedVideo: Sendable {
  let codec: VideoCodec
  let packetization: VideoCodec.Packetization
  /// The parameter sets that came last, in their order.
  private(set) var sets: [ByteBuffer] = []

  /// Bytes of sets that are described; more are only in the stream.
  private static let mostOfSets = 4 << 10

  /// - Throws: ``JetStreamError/unsupportedCodec(_:)``.
  init(_ codec: VideoCodec) throws(JetStreamError) {
    guard let packetization = codec.packetization else {
      throw .unsupportedCodec(codec.encodingName)
    }
    (self.codec, self.packetization) = (codec, packetization)
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
    let names = packetization.setParameters
    let lists =
      names.count == 1
      ? [sets] : codec.parameterSetTypes.map { type in sets.filter { self.type(of: $0) == type } }
    let described = zip(names, lists).compactMap { name, sets in
      sets.isEmpty ? nil : "\(name)=\(Self.list(sets))"
    }
    return (packetization.otherParameters + described).joined(separator: ";")
  }

  private func type(of set: ByteBuffer) -> UInt8 { codec.type(of: NALUnitHead(of: set)) }

  private static func list(_ sets: [ByteBuffer]) -> String {
    sets.map { String(decoding: $0.readableBytesView.base64, as: UTF8.self) }
      .joined(separator: ",")
  }
}
