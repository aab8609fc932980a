internal import NIOCore
internal import RTPWire

/// What stands where in the packets of a stream (RFC 3711 §3.1 and §3.4, RFC 7714 §7 and §9.3).
///
/// ```
/// SRTP:   header | payload | MKI | tag          RFC 7714:  header | payload, tag | MKI
/// SRTCP:  header | reports | E, index | MKI | tag          header | reports, tag | E, index | MKI
/// ```
/// Every length that libsrtp relies on is checked here before it sees a packet: releases of it have
/// read and written past the end of packets that were shorter than they claimed.
struct SRTPLayout: Sendable, Hashable {
  let suite: SRTPSuite
  /// Bytes of the master key identifier in each packet; 0 for none.
  let identifierLength: Int
  /// Whether SRTCP may leave its reports in clear (E of 0), which are authenticated all the same.
  let acceptsReadableControl: Bool

  /// What does not fit.
  enum Malformation: Sendable, Hashable {
    /// Shorter than its fixed header.
    case header
    case version
    case contributingSources
    case headerExtension
    /// No room for the tag, the identifier and, in SRTCP, the index.
    case trailer
    /// SRTCP in clear, which the policy does not accept.
    case readableControl
  }

  /// Whether `packet` has room for all that its first bytes say it has; `nil` when it has.
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
    // libsrtp 3 wrote 16 bytes behind a packet without E, with AEAD, before it had authenticated it
    // (cisco/libsrtp#817).
    let isReadable = index & 0x8000_0000 == 0
    return isReadable == expectsReadableControl ? nil : .readableControl
  }

  /// A context of libsrtp takes SRTCP with E or without, not both.
  var expectsReadableControl: Bool { suite.isReadable || acceptsReadableControl && !suite.isAEAD }

  /// The master key identifier of a packet that is well formed.
  func identifier(of packet: ByteBuffer, isControl: Bool) -> ByteBufferView? {
    let behind = suite.isAEAD ? 0 : isControl ? suite.controlTagLength : suite.tagLength
    return packet.viewBytes(
      at: packet.readerIndex + packet.readableBytes - behind - identifierLength,
      length: identifierLength)
  }

  /// Takes the master key identifier out of a packet that is well formed.
  ///
  /// It is not authenticated (RFC 3711 §3.1), and what is left is a packet of a stream without one.
  func removeIdentifier(from packet: inout ByteBuffer, isControl: Bool) {
    guard identifierLength > 0 else { return }
    let behind = suite.isAEAD ? 0 : isControl ? suite.controlTagLength : suite.tagLength
    let end = packet.writerIndex
    if let tag = packet.getSlice(at: end - behind, length: behind) {
      packet.setBuffer(tag, at: end - behind - identifierLength)
    }
    packet.moveWriterIndex(to: end - identifierLength)
  }

  /// Puts a master key identifier where it belongs in a packet of a stream without one.
  func insert(_ identifier: [UInt8], into packet: inout ByteBuffer, isControl: Bool) {
    guard identifierLength > 0 else { return }
    let behind = suite.isAEAD ? 0 : isControl ? suite.controlTagLength : suite.tagLength
    let tag = packet.getSlice(at: packet.writerIndex - behind, length: behind) ?? ByteBuffer()
    packet.moveWriterIndex(to: packet.writerIndex - behind)
    packet.writeBytes(identifier)
    packet.writeImmutableBuffer(tag)
  }

  /// The header of the first RTCP packet and its SSRC: what SRTCP leaves in clear.
  static let controlHeader = 8
  /// E and the index.
  static let indexLength = 4
}
