public import NIOCore

/// The header of one RTP packet (RFC 3550 §5.1), read once and then carried along.
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |V=2|P|X|  CC   |M|     PT      |       sequence number         |
/// |                           timestamp                           |
/// |           synchronization source (SSRC) identifier            |
/// |            contributing source (CSRC) identifiers  ...        |
/// |      defined by profile       |    length     |  extension …  |
/// |                        payload  …            | padding | count |
/// ```
public struct RTPHeader: Sendable, Hashable {
  /// The fixed header's length in bytes.
  public static let minimumLength = 12

  /// True on the last packet of an access unit in the video formats (RFC 6184 §5.1, RFC 7798 §4.1).
  public let marker: Bool
  /// 0 … 127.
  public let payloadType: UInt8
  public let sequenceNumber: SequenceNumber
  /// Clock ticks modulo 2^32, from a random start.
  public let timestamp: UInt32
  public let ssrc: UInt32
  /// The header extension's 16-bit profile word, or `nil` when the X bit is clear.
  public let extensionProfile: UInt16?

  // Packets move from stage to stage by value, so the layout is stored in as few bytes as possible.
  private let sourceCount: UInt8
  private let paddingCount: UInt8
  private let extensionWords: UInt16

  /// Reads the header of `bytes`, which must hold one packet and nothing else.
  ///
  /// - Throws: the first field that is wrong, with the expected and the actual size.
  public init(parsing bytes: ByteBuffer) throws(RTPPacketError) {
    let length = bytes.readableBytes
    let start = bytes.readerIndex
    guard
      let (first, second, sequence, timestamp, ssrc) = bytes.getMultipleIntegers(
        at: start, as: (UInt8, UInt8, UInt16, UInt32, UInt32).self)
    else { throw .truncatedHeader(needed: Self.minimumLength, available: length) }
    guard first >> 6 == 2 else { throw .version(first >> 6) }

    sourceCount = first & 0x0F
    var offset = Self.minimumLength + 4 * Int(sourceCount)
    guard offset <= length else {
      throw .truncatedContributingSources(needed: offset, available: length)
    }

    if first & 0x10 != 0 {
      guard
        let (profile, words) = bytes.getMultipleIntegers(
          at: start + offset, as: (UInt16, UInt16).self)
      else { throw .truncatedExtension(needed: offset + 4, available: length) }
      offset += 4
      extensionProfile = profile
      extensionWords = words
      offset += 4 * Int(words)
      guard offset <= length else {
        throw .truncatedExtension(needed: offset, available: length)
      }
    } else {
      extensionProfile = nil
      extensionWords = 0
    }

    if first & 0x20 != 0 {
      // The count includes itself, so 0 is wrong, like a count that reaches into the header.
      let last = offset < length ? bytes.getInteger(at: start + length - 1, as: UInt8.self) : nil
      guard let count = last, count > 0, Int(count) <= length - offset else {
        throw .padding(count: last.map(Int.init) ?? 0, available: length - offset)
      }
      paddingCount = count
    } else {
      paddingCount = 0
    }

    marker = second & 0x80 != 0
    payloadType = second & 0x7F
    sequenceNumber = SequenceNumber(sequence)
    self.timestamp = timestamp
    self.ssrc = ssrc
  }

  /// Contributing sources, 0 … 15 of them.
  public var contributingSourceCount: Int { Int(sourceCount) }

  /// Padding bytes at the end, the count byte included; 0 without padding.
  public var paddingLength: Int { Int(paddingCount) }

  /// The header extension's data in bytes, without its four-byte header.
  public var extensionLength: Int { 4 * Int(extensionWords) }

  /// The offset of the payload: after the fixed header, the contributing sources and the extension.
  public var payloadOffset: Int {
    Self.minimumLength + 4 * Int(sourceCount) + (extensionProfile == nil ? 0 : 4 + extensionLength)
  }
}

/// Why bytes are not an RTP packet, by the field that is wrong; lengths are in bytes.
public enum RTPPacketError: Error, Sendable, Hashable {
  case truncatedHeader(needed: Int, available: Int)
  /// A version other than 2 (RFC 3550 §5.1).
  case version(UInt8)
  case truncatedContributingSources(needed: Int, available: Int)
  case truncatedExtension(needed: Int, available: Int)
  /// A padding count of 0, or larger than the rest of the packet.
  case padding(count: Int, available: Int)
}
