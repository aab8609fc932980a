public import NIOCore

/// One packet of an RTCP compound (RFC 3550 §6), reduced to what a receiver needs.
public enum RTCPPacket: Sendable, Hashable {
  case senderReport(SenderReport)
  /// A receiver report; only its sender is kept.
  case receiverReport(ssrc: UInt32)
  /// The canonical names by source (§6.5); other items are skipped.
  case sourceDescription([UInt32: String])
  /// The sources that say goodbye (§6.6).
  case goodbye([UInt32])
  /// Feedback from the receiver `sender`.
  case feedback(RTCPFeedback, sender: UInt32)
  /// Any other well-formed packet: other feedback, application-defined, extended reports.
  case other(type: UInt8)

  /// A sender report's relation between wall-clock and media time (§6.4.1).
  public struct SenderReport: Sendable, Hashable {
    public let ssrc: UInt32
    /// NTP time: seconds since 1900 in the upper 32 bits, the fraction in the lower.
    public let ntpTime: UInt64
    public let timestamp: UInt32
    public let packetCount: UInt32
    public let octetCount: UInt32
  }

  /// Whether `bytes` are RTCP rather than RTP where both share a port.
  ///
  /// RFC 5761 §4: RTCP packet types 192 … 223 would be RTP payload types 64 … 95 with the marker
  /// set.
  public static func recognizes(_ bytes: ByteBuffer) -> Bool {
    guard
      let (first, type) = bytes.getMultipleIntegers(
        at: bytes.readerIndex, as: (UInt8, UInt8).self)
    else { return false }
    return first >> 6 == 2 && (192...223).contains(type)
  }

  /// Reads every packet of a compound.
  ///
  /// Each one takes at least four bytes, so the loop ends.
  ///
  /// - Throws: the first field that is wrong. Nothing of a malformed compound is returned, so a
  ///   broken goodbye cannot end a stream.
  public static func parse(compound bytes: ByteBuffer) throws(RTCPPacketError) -> [RTCPPacket] {
    var packets: [RTCPPacket] = []
    try read(compound: bytes, into: &packets)
    return packets
  }

  /// Appends the packets of a compound to `packets`, up to the first that is wrong.
  ///
  /// - Throws: the first field that is wrong.
  package static func read(
    compound bytes: ByteBuffer, into packets: inout [RTCPPacket]
  ) throws(RTCPPacketError) {
    var rest = bytes
    guard rest.readableBytes > 0 else { throw .truncatedHeader(available: 0) }
    while rest.readableBytes > 0 {
      guard
        let (first, type, words) = rest.readMultipleIntegers(as: (UInt8, UInt8, UInt16).self)
      else { throw .truncatedHeader(available: rest.readableBytes) }
      guard first >> 6 == 2 else { throw .version(first >> 6) }
      guard var body = rest.readSlice(length: 4 * Int(words)) else {
        throw .truncatedPacket(needed: 4 * Int(words), available: rest.readableBytes)
      }
      if first & 0x20 != 0 {
        guard let count = body.getInteger(at: body.writerIndex - 1, as: UInt8.self),
          count > 0, Int(count) <= body.readableBytes
        else { throw .padding }
        body = body.getSlice(at: body.readerIndex, length: body.readableBytes - Int(count)) ?? body
      }
      packets.append(try parse(type: type, count: Int(first & 0x1F), body: body))
    }
  }

  private static func parse(
    type: UInt8, count: Int, body: ByteBuffer
  ) throws(RTCPPacketError) -> RTCPPacket {
    var body = body
    switch RTCPPacketType(rawValue: type) {
    case .senderReport:
      guard
        let (ssrc, ntpTime, timestamp, packetCount, octetCount) = body.readMultipleIntegers(
          as: (UInt32, UInt64, UInt32, UInt32, UInt32).self),
        body.readableBytes >= 24 * count
      else { throw .truncatedReport }
      return .senderReport(
        SenderReport(
          ssrc: ssrc, ntpTime: ntpTime, timestamp: timestamp, packetCount: packetCount,
          octetCount: octetCount))
    case .receiverReport:
      guard let ssrc = body.readInteger(as: UInt32.self), body.readableBytes >= 24 * count else {
        throw .truncatedReport
      }
      return .receiverReport(ssrc: ssrc)
    case .sourceDescription:
      return .sourceDescription(try canonicalNames(in: &body, chunks: count))
    case .goodbye:
      var sources: [UInt32] = []
      for _ in 0..<count {
        guard let source = body.readInteger(as: UInt32.self) else { throw .truncatedGoodbye }
        sources.append(source)
      }
      if let length = body.readInteger(as: UInt8.self), body.readableBytes < Int(length) {
        throw .truncatedGoodbye
      }
      return .goodbye(sources)
    default:
      guard
        let (message, sender) = RTCPFeedback.parse(type: type, format: count, body: body)
      else { return .other(type: type) }
      return .feedback(message, sender: sender)
    }
  }

  private static func canonicalNames(
    in body: inout ByteBuffer, chunks: Int
  ) throws(RTCPPacketError) -> [UInt32: String] {
    var names: [UInt32: String] = [:]
    for _ in 0..<chunks {
      guard let source = body.readInteger(as: UInt32.self) else {
        throw .truncatedSourceDescription
      }
      // Hanwha cameras omit the END item, so the end of the packet ends the chunk too.
      while let item = body.readInteger(as: UInt8.self), item != 0 {
        guard let length = body.readInteger(as: UInt8.self),
          let text = body.readSlice(length: Int(length))
        else { throw .truncatedSourceDescription }
        if item == 1 { names[source] = String(buffer: text) }
      }
      // Chunks begin on a 32-bit boundary of the packet (§6.5).
      let padding = body.readableBytes % 4
      body.moveReaderIndex(forwardBy: padding)
    }
    return names
  }
}

/// Why bytes are not an RTCP compound, by the field that is wrong.
public enum RTCPPacketError: Error, Sendable, Hashable {
  case truncatedHeader(available: Int)
  case version(UInt8)
  /// The length field, in bytes, reaches beyond the datagram.
  case truncatedPacket(needed: Int, available: Int)
  case padding
  case truncatedReport
  case truncatedSourceDescription
  case truncatedGoodbye
}
