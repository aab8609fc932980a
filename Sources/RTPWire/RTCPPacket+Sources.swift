package import NIOCore

extension RTCPPacket {
  /// So many sources of one compound are looked at.
  private static let maximumSources = 32

  /// The sources that the packets of a compound are of, each once, up to the first bytes that are
  /// no packet (RFC 3550 §6.4.1, §6.6).
  ///
  /// What the packets say is not looked at: a compound that ``parse(compound:)`` refuses still
  /// belongs to somebody.
  package static func sources(in compound: ByteBuffer) -> [UInt32] {
    var rest = compound
    var sources: [UInt32] = []
    while sources.count < maximumSources,
      let (first, type, words) = rest.readMultipleIntegers(as: (UInt8, UInt8, UInt16).self),
      first >> 6 == 2, let body = rest.readSlice(length: 4 * Int(words))
    {
      let isGoodbye = type == RTCPPacketType.goodbye.rawValue
      for place in 0..<(isGoodbye ? Int(first & 0x1F) : 1) {
        guard
          let source = body.getInteger(at: body.readerIndex + 4 * place, as: UInt32.self)
        else { break }
        if !sources.contains(source) { sources.append(source) }
      }
    }
    return sources
  }
}
