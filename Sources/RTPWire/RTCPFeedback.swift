public import NIOCore

/// A receiver's requests to the sender of media: lost packets (RFC 4585 §6.2.1) or a key picture
/// (RFC 4585 §6.3.1, RFC 5104 §4.3.1).
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |V=2|P|   FMT   |   PT 205, 206 |             length            |
/// |                  SSRC of the packet's sender                  |
/// |                  SSRC of the media's source                   |
/// :            feedback control information (FCI)  …              :
/// ```
public enum RTCPFeedback: Sendable, Hashable {
  /// Packets of the source `media` that are missing.
  case genericNACK(media: UInt32, [LostPackets])
  /// Part of a picture of the source `media` is lost for good.
  case pictureLossIndication(media: UInt32)
  /// A key picture is needed; the commands, one for each source.
  case fullIntraRequest([IntraRequest])

  /// One missing packet, and which of the next 16 are missing too (§6.2.1, PID and BLP).
  public struct LostPackets: Sendable, Hashable {
    public var first: SequenceNumber
    /// Bit 0 is the packet after ``first``, bit 15 the sixteenth.
    public var mask: UInt16

    public init(first: SequenceNumber, mask: UInt16 = 0) {
      self.first = first
      self.mask = mask
    }

    /// The numbers that are named, 1 … 17 of them.
    public var numbers: [SequenceNumber] {
      [first] + (0..<16).filter { mask >> $0 & 1 == 1 }.map { first.advanced(by: $0 + 1) }
    }
  }

  /// A command to one source (RFC 5104 §4.3.1.1).
  public struct IntraRequest: Sendable, Hashable {
    public var ssrc: UInt32
    /// Increases by one, modulo 256, with each command; a repetition has the same number.
    public var number: UInt8

    public init(ssrc: UInt32, number: UInt8) {
      self.ssrc = ssrc
      self.number = number
    }
  }

  /// The fewest entries that name `sequences`: extended sequence numbers, in order.
  public static func entries(of sequences: [Int64]) -> [LostPackets] {
    var entries: [LostPackets] = []
    var first = Int64.min
    for sequence in sequences {
      let behind = sequence.subtractingSaturating(first)
      if (1...16).contains(behind), let last = entries.indices.last {
        entries[last].mask |= 1 << UInt16(behind - 1)
      } else if behind != 0 {
        first = sequence
        entries.append(
          LostPackets(first: SequenceNumber(UInt16(truncatingIfNeeded: sequence))))
      }
    }
    return entries
  }
}

extension RTCPFeedback {
  /// Reads the body of a packet of `type` and `format`; `nil` for other feedback and for a body
  /// that is too short.
  ///
  /// The rest of the compound stays valid.
  static func parse(
    type: UInt8, format: Int, body: ByteBuffer
  ) -> (message: RTCPFeedback, sender: UInt32)? {
    var body = body
    guard let (sender, media) = body.readMultipleIntegers(as: (UInt32, UInt32).self) else {
      return nil
    }
    switch (RTCPPacketType(rawValue: type), format) {
    case (.transportFeedback, 1):
      var entries: [LostPackets] = []
      while let (first, mask) = body.readMultipleIntegers(as: (UInt16, UInt16).self) {
        entries.append(LostPackets(first: SequenceNumber(first), mask: mask))
      }
      // At least one entry is required (§6.2.1).
      return entries.isEmpty ? nil : (.genericNACK(media: media, entries), sender)
    case (.payloadFeedback, 1):
      return (.pictureLossIndication(media: media), sender)
    case (.payloadFeedback, 4):
      var requests: [IntraRequest] = []
      while let (ssrc, number) = body.readMultipleIntegers(as: (UInt32, UInt32).self) {
        requests.append(IntraRequest(ssrc: ssrc, number: UInt8(truncatingIfNeeded: number >> 24)))
      }
      return requests.isEmpty ? nil : (.fullIntraRequest(requests), sender)
    default: return nil
    }
  }
}

extension ByteBuffer {
  /// Writes an RTCP packet: a header with the length in words, less one (RFC 3550 §6.4.1).
  ///
  /// The count, or the format of a feedback packet, is 0 … 31; the body is a whole number of words.
  public mutating func writeRTCPPacket(
    type: RTCPPacketType, count: UInt8, _ body: (inout ByteBuffer) -> Void
  ) {
    let start = writerIndex
    writeMultipleIntegers(0x80 | count & 0x1F, type.rawValue, UInt16(0))
    body(&self)
    setInteger(UInt16(clamping: (writerIndex - start) / 4 - 1), at: start + 2)
  }

  /// Writes `message` as a feedback packet of `sender`.
  public mutating func writeFeedback(_ message: RTCPFeedback, from sender: UInt32) {
    switch message {
    case .genericNACK(let media, let entries):
      writeRTCPPacket(type: .transportFeedback, count: 1) { buffer in
        buffer.writeMultipleIntegers(sender, media)
        for entry in entries { buffer.writeMultipleIntegers(entry.first.rawValue, entry.mask) }
      }
    case .pictureLossIndication(let media):
      writeRTCPPacket(type: .payloadFeedback, count: 1) {
        $0.writeMultipleIntegers(sender, media)
      }
    case .fullIntraRequest(let requests):
      // Each entry names its source; the header has 0 (RFC 5104 §4.3.1.2).
      writeRTCPPacket(type: .payloadFeedback, count: 4) { buffer in
        buffer.writeMultipleIntegers(sender, UInt32(0))
        for request in requests {
          buffer.writeMultipleIntegers(request.ssrc, UInt32(request.number) << 24)
        }
      }
    }
  }
}
