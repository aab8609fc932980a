import Bitstream
import Defragment
import NIOCore
import TestSupport
import Testing

@Suite("NAL unit forms")
struct NALUnitTests {
  private static let units = [bytes("6764001e"), bytes("68ee3c80"), bytes("65 000003 01 88")]
    .map { ByteBuffer(bytes: $0) }

  @Test("Start codes of three and four bytes, with zeros around them")
  func annexB() {
    for code in ["000001", "00000001", "0000000000000001"] {
      let stream = Self.units.map { code + $0.hex }.joined() + "0000"
      var shifted = ByteBuffer(bytes: [9, 9, 9])
      shifted.writeBytes(bytes(stream))
      shifted.moveReaderIndex(forwardBy: 3)
      #expect(AnnexB.units(of: shifted) == Self.units)
    }
    #expect(AnnexB.units(of: AnnexB.stream(of: Self.units)) == Self.units)
    #expect(AnnexB.units(of: ByteBuffer()).isEmpty)
  }

  @Test("Start codes at every place of a long unit")
  func everyPlace() {
    for place in 0..<100 {
      let before = ByteBuffer(repeating: 0x11, count: place)
      let after = ByteBuffer(repeating: 0x22, count: 100 - place)
      var stream = before
      stream.writeBytes([0, 0, 1])
      stream.writeImmutableBuffer(after)
      #expect(AnnexB.units(of: stream) == (place == 0 ? [after] : [before, after]))
    }
  }

  @Test("To length-prefixed form and back", arguments: LengthPrefixed.LengthSize.allCases)
  func lengthPrefixed(_ size: LengthPrefixed.LengthSize) throws {
    let sample = try LengthPrefixed.sample(of: Self.units, lengthSize: size)
    #expect(sample.readableBytes == 14 + 3 * size.rawValue)
    #expect(try LengthPrefixed.units(of: sample, lengthSize: size) == Self.units)
    let back = AnnexB.stream(of: try LengthPrefixed.units(of: sample, lengthSize: size))
    #expect(AnnexB.units(of: back) == Self.units)
  }

  @Test("Samples cut anywhere", arguments: LengthPrefixed.LengthSize.allCases)
  func truncated(_ size: LengthPrefixed.LengthSize) throws {
    let sample = try LengthPrefixed.sample(of: Self.units, lengthSize: size)
    let ends = [4, 8, 14].enumerated().map { $1 + ($0 + 1) * size.rawValue }
    for length in 0..<sample.readableBytes {
      let cut = try #require(sample.getSlice(at: 0, length: length))
      if length == 0 || ends.contains(length) {
        #expect(try LengthPrefixed.units(of: cut, lengthSize: size).count <= 2)
      } else {
        #expect(throws: LengthPrefixed.Failure.self) {
          try LengthPrefixed.units(of: cut, lengthSize: size)
        }
      }
    }
  }

  @Test("Units too long for their length field")
  func tooLong() throws {
    let rows: [(LengthPrefixed.LengthSize, Int)] = [(.one, 255), (.two, 65_535)]
    for (size, most) in rows {
      let longest = ByteBuffer(repeating: 1, count: most)
      #expect(
        try LengthPrefixed.units(
          of: LengthPrefixed.sample(of: [longest], lengthSize: size), lengthSize: size) == [longest]
      )
      #expect(throws: LengthPrefixed.Failure.unitTooLong(most + 1, maximum: most)) {
        try LengthPrefixed.sample(of: [ByteBuffer(repeating: 1, count: most + 1)], lengthSize: size)
      }
    }
    #expect(throws: LengthPrefixed.Failure.truncatedUnit(needed: 0xFFFF_FFFF, available: 1)) {
      try LengthPrefixed.units(of: ByteBuffer(bytes: bytes("ffffffff00")), lengthSize: .four)
    }
    #expect(throws: LengthPrefixed.Failure.truncatedLength(available: 3)) {
      try LengthPrefixed.units(of: ByteBuffer(bytes: bytes("000000")), lengthSize: .four)
    }
  }

  @Test(
    "Emulation prevention",
    arguments: [
      ("000003", "0000"), ("00000301", "000001"), ("0000030000030000", "000000000000"),
      ("00000300000003", "0000000000"), ("000002", "000002"), ("0003", "0003"), ("", ""),
      ("00000303", "000003"),
    ])
  func emulationPrevention(_ coded: String, _ plain: String) {
    #expect(EmulationPrevention.removed(from: ByteBuffer(bytes: bytes(coded))).hex == plain)
  }

  @Test("Types by their names in the standards")
  func types() {
    #expect(H264.NALUnitType(rawValue: 5) == .codedSliceOfIDRPicture)
    #expect(H264.NALUnitType(rawValue: 7) == .sequenceParameterSet)
    #expect(H265.NALUnitType(rawValue: 19) == .idrWRADL)
    #expect(H265.NALUnitType(rawValue: 32) == .videoParameterSet)
  }
}
