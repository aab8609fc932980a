internal import NIOCore
internal import RTPWire

/// The layout of a stream's packets (RFC 3711 §3.1 and §3.4, RFC 7714 §7 and §9.3).
///
/// ```
/// SRTP:   header | payload | MKI | tag          RFC 7714:  header | payload, tag | MKI
/// SRTCP:  header | reports | E, index | MKI | tag          header | reports, tag | E, index | MKI
/// ```
/// Every length that libsrtp relies on is checked here before it sees a packet: some releases have
/// read and written past the end of packets that were shorter than they claimed.
struct SRTPLayout: Sendable, Hashable {
  let suite: SRTPSuite
  /// Bytes of the master key identifier in each packet; 0 for none.
  let identifierLength: Int
  /// Whether SRTCP may come unencrypted (E of 0) but authenticated.
  let acceptsReadableControl: Bool

  /// What is wrong with a packet's lengths.
  enum Malformation: Sendable, Hashable {
    /// Shorter than its fixed header.
    case header
    case version
    case contributingSources
    case headerExtension
    /// No room for the tag, the identifier and, in SRTCP, the index.
    case trailer
    /// Unencrypted SRTCP, which the policy does not accept.
    case readableControl
  }

  /// What is wrong with `packet`; `nil` when it has room for everything its first bytes claim.
  func malformation(of packet: ByteBuffer, isControl: Bool) -> Malformation? {
    isControl ? controlMalformation(of: packet) : mediaMalformation(of: packet)
  }

  private func mediaMalformation(of packet: ByteBuffer) -> Malformation? {
    let start = packet.readerIndex
    let length = packet.readableBytes
    guard length >= RTPPacket.minimumLength,
      let first = packet.getInteger(at: start, as: UInt8.self)
    else { return .header }
    guard first >> 6 == 2 else { return .version }
    var header = RTPPacket.minimumLength + 4 * Int(first & 0x0F)
    guard header <= length else { return .contributingSources }
    if first & 0x10 != 0 {
      guard let words = packet.getInteger(at: start + header + 2, as: UInt16.self),
        header + 4 + 4 * Int(words) <= length
      else { return .headerExtension }
      header += 4 + 4 * Int(words)
    }
    return header + suite.tagLength + identifierLength <= length ? nil : .trailer
  }

  private func controlMalformation(of packet: ByteBuffer) -> Malformation? {
    let start = packet.readerIndex
    let length = packet.readableBytes
    guard length >= Self.controlHeader, let first = packet.getInteger(at: start, as: UInt8.self)
    else { return .header }
    guard first >> 6 == 2 else { return .version }
    let trailer = Self.indexLength + identifierLength + suite.controlTagLength
    guard Self.controlHeader + trailer <= length else { return .trailer }
    let behindIndex = suite.isAEAD ? identifierLength : identifierLength + suite.controlTagLength
    guard
      let index = packet.getInteger(
        at: start + length - behindIndex - Self.indexLength, as: UInt32.self)
    else { return .trailer }
    // With AEAD, libsrtp 3 wrote 16 bytes past the end of a packet without E, before it had
    // authenticated it (cisco/libsrtp#817).
    let isReadable = index & 0x8000_0000 == 0
    return isReadable == expectsReadableControl ? nil : .readableControl
  }

  /// Whether SRTCP comes without E; a libsrtp context takes packets with E or without, not both.
  var expectsReadableControl: Bool { suite.isReadable || acceptsReadableControl && !suite.isAEAD }

  /// The master key identifier of a well-formed packet.
  func identifier(of packet: ByteBuffer, isControl: Bool) -> ByteBufferView? {
    let behind = suite.isAEAD ? 0 : isControl ? suite.controlTagLength : suite.tagLength
    return packet.viewBytes(
      at: packet.readerIndex + packet.readableBytes - behind - identifierLength,
      length: identifierLength)
  }

  /// Removes the master key identifier from a well-formed packet.
  ///
  /// The identifier is not authenticated (RFC 3711 §3.1), so the rest is a valid packet of a stream
  /// without identifiers.
  func removeIdentifier(from packet: inout ByteBuffer, isControl: Bool) {
    guard identifierLength > 0 else { return }
    let behind = suite.isAEAD ? 0 : isControl ? suite.controlTagLength : suite.tagLength
    let end = packet.writerIndex
    if let tag = packet.getSlice(at: end - behind, length: behind) {
      packet.setBuffer(tag, at: end - behind - identifierLength)
    }
    packet.moveWriterIndex(to: end - identifierLength)
  }

  /// Inserts a master key identifier into a packet without one.
  func insert(_ identifier: [UInt8], into packet: inout ByteBuffer, isControl: Bool) {
    guard identifierLength > 0 else { return }
    let behind = suite.isAEAD ? 0 : isControl ? suite.controlTagLength : suite.tagLength
    let tag = packet.getSlice(at: packet.writerIndex - behind, length: behind) ?? ByteBuffer()
    packet.moveWriterIndex(to: packet.writerIndex - behind)
    packet.writeBytes(identifier)
    packet.writeImmutableBuffer(tag)
  }

  /// The length of the first RTCP packet's header and SSRC, which SRTCP does not encrypt.
  static let controlHeader = 8
  /// The length of E and the index.
  static let indexLength = 4
}
