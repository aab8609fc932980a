import Bitstream
import NIOCore
import TestSupport
import Testing

@testable import RTPSend

/// The headers of MP4 and Matroska, and which of their parameter sets are sent.
@Suite struct DecoderConfigurationTests {
  private static func bytes(_ bytes: [UInt8]) -> ByteBuffer { ByteBuffer(bytes: bytes) }

  /// 4 bytes of length; a sequence and a picture parameter set.
  private static let avcC: [UInt8] =
    [1, 77, 0, 30, 0xFF, 0xE1, 0, 2, 0x67, 5, 1, 0, 2, 0x68, 6]
  /// 2 bytes of length; an array of one video parameter set, and one of one message.
  private static let hvcC: [UInt8] =
    [1] + [UInt8](repeating: 0, count: 20) + [0xFD, 2]
    + [0x20, 0, 1, 0, 3, 0x40, 1, 7] + [0x27, 0, 1, 0, 3, 0x4E, 1, 8]

  @Test func recordsAreRead() throws {
    let h264 = try #require(DecoderConfiguration(header: Self.bytes(Self.avcC), of: .h264))
    #expect(h264.lengthSize == .four)
    #expect(h264.units == [[0x67, 5], [0x68, 6]].map(Self.bytes))
    let h265 = try #require(DecoderConfiguration(header: Self.bytes(Self.hvcC), of: .h265))
    #expect(h265.lengthSize == .two)
    #expect(h265.units == [[0x40, 1, 7], [0x4E, 1, 8]].map(Self.bytes))
  }

  @Test(arguments: Codec.allCases) func streamsAreNoRecords(codec: Codec) throws {
    for (header, units) in [([], []), ([0, 0, 1, 0x67, 5], [[0x67, 5]])] as [([UInt8], [[UInt8]])] {
      let read = try #require(DecoderConfiguration(header: Self.bytes(header), of: codec))
      #expect(read.lengthSize == nil && read.units == units.map(Self.bytes))
      #expect(read.units(of: Self.bytes([0, 0, 0, 1, 0x65, 7])) == [Self.bytes([0x65, 7])])
    }
  }

  @Test func recordsThatAreCutAreRefused() {
    // Where the number of its sets would be, a record of H.264 may end.
    for length in 1..<Self.avcC.count where ![5, 10].contains(length) {
      #expect(
        DecoderConfiguration(header: Self.bytes(Array(Self.avcC.prefix(length))), of: .h264) == nil)
    }
    for length in 1..<Self.hvcC.count {
      #expect(
        DecoderConfiguration(header: Self.bytes(Array(Self.hvcC.prefix(length))), of: .h265) == nil)
    }
    // Lengths of 3 bytes are not allowed.
    var other = Self.avcC
    other[4] = 0xFE
    #expect(DecoderConfiguration(header: Self.bytes(other), of: .h264) == nil)
  }

  @Test(
    arguments: [
      ("one unit", [0, 0, 0, 2, 0x65, 7], [[0x65, 7]]),
      ("start codes in one length", [0, 0, 0, 6, 0x65, 7, 0, 0, 1, 0x41], [[0x65, 7], [0x41]]),
      ("zeros behind it", [0, 0, 0, 4, 0x65, 7, 0, 0], [[0x65, 7]]),
      ("an empty one", [0, 0, 0, 0, 0, 0, 0, 1, 0x41], [[0x41]]),
      ("more than there is", [0, 0, 0, 3, 0x65, 7], nil),
    ] as [(String, [UInt8], [[UInt8]]?)])
  func samplesAreDivided(what: String, sample: [UInt8], units: [[UInt8]]?) throws {
    let read = try #require(DecoderConfiguration(header: Self.bytes(Self.avcC), of: .h264))
    #expect(read.units(of: Self.bytes(sample)) == units?.map(Self.bytes), "\(what)")
  }

  private static let slice = GroupingTests.key.unit
  private static let delimiter = bytes([9, 0x10])
  private static let sequence = GroupingTests.sequence()
  /// Another one of the same identifier.
  private static let otherSequence = GroupingTests.sequence(2)

  /// The header has `sequence` and the picture parameter sets 0 and 1.
  @Test(
    arguments: [
      ("it has none", [slice], true, [sequence, picture(0), picture(1), slice]),
      ("it has none, later", [slice], false, [sequence, picture(0), picture(1), slice]),
      (
        "others of the same identifiers", [otherSequence, picture(0), picture(1), slice], true,
        [otherSequence, picture(0), picture(1), slice]
      ),
      (
        "not all of the header's", [delimiter, otherSequence, picture(1), slice], true,
        [delimiter, otherSequence, picture(0), picture(1), slice]
      ),
      (
        "the same, later", [delimiter, otherSequence, picture(1), slice], false,
        [delimiter, otherSequence, picture(1), slice]
      ),
      (
        "one kind alone, later", [otherSequence, slice], false,
        [otherSequence, picture(0), picture(1), slice]
      ),
    ] as [(String, [ByteBuffer], Bool, [ByteBuffer])])
  func setsOfAPictureWinOverThoseOfTheHeader(
    what: String, units: [ByteBuffer], isFirst: Bool, sent: [ByteBuffer]
  ) throws {
    let stream = Bitstream.AnnexB.stream(of: [Self.sequence, Self.picture(0), Self.picture(1)])
    let header = try #require(DecoderConfiguration(header: stream, of: .h264))
    #expect(KnownVideo(.h264, header).completed(units, isFirst: isFirst) == sent, "\(what)")
  }

  private static func picture(_ identifier: UInt32) -> ByteBuffer {
    GroupingTests.picture(identifier)
  }

  /// The mastering display of a film stands only in its header.
  @Test func messagesOfAHeaderFollowItsSets() throws {
    let (set, message, slice) = (
      Self.bytes([0x40, 1, 7]), Self.bytes([0x4E, 1, 8]), Self.bytes([0x26, 1, 9])
    )
    let stream = Bitstream.AnnexB.stream(of: [message, set])
    let header = try #require(DecoderConfiguration(header: stream, of: .h265))
    let known = KnownVideo(.h265, header)
    #expect(known.completed([slice], isFirst: true) == [set, message, slice])
    #expect(known.completed([message, slice], isFirst: true) == [set, message, slice])
  }
}
