import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

/// Sets written by x264 and x265, and what ffprobe 5.1 reports about them.
struct EncodedSet: Sendable, CustomTestStringConvertible {
  typealias Description = FormatDescription

  let testDescription: String
  let codec: VideoCodec
  let set: String
  let expected: Description

  init(
    _ name: String, _ codec: VideoCodec, _ set: String, _ width: Int, _ height: Int,
    profile: UInt8, level: UInt8, _ chroma: Description.ChromaFormat = .yuv420, depth: Int = 8,
    rate: (UInt32, UInt32), aspect: (UInt32, UInt32) = (1, 1),
    colour: Description.Colour = Description.Colour(), reorderDepth: Int,
    mayHaveFields: Bool = false
  ) {
    testDescription = "\(codec.encodingName) \(name)"
    self.codec = codec
    self.set = set
    expected = Description(
      codec: codec, width: width, height: height, profile: profile, level: level, chroma: chroma,
      lumaBitDepth: depth, chromaBitDepth: depth, frameRate: Rational(rate.0, rate.1),
      sampleAspectRatio: Rational(aspect.0, aspect.1), colour: colour, reorderDepth: reorderDepth,
      mayHaveFields: mayHaveFields)
  }

  private static let fullRange709 = Description.Colour(
    primaries: 1, transfer: 1, matrix: 1, isFullRange: true)
  private static let fullRange = Description.Colour(isFullRange: true)
  private static let range709 = Description.Colour(primaries: 1, transfer: 1, matrix: 1)

  static let all = [
    EncodedSet(
      "1080 lines cropped from 1088", H264.codec,
      "6742c028da01e0089f970110000003001000000303c0f1832a", 1920, 1080, profile: 66, level: 40,
      rate: (30, 1), reorderDepth: 0),
    EncodedSet(
      "4:2:2 in 10 bits with bt709", H264.codec,
      "677a001eb6cd940a02ff89c05a808080a0000003002000000641e2c5b2c0", 640, 360, profile: 122,
      level: 30, .yuv422, depth: 10, rate: (25, 1), colour: range709, reorderDepth: 2),
    EncodedSet(
      "monochrome in full range", H264.codec,
      "67640015f2c80a0fd80b64000003000400000301903c58b920", 320, 240, profile: 100, level: 21,
      .monochrome, rate: (50, 1), colour: fullRange, reorderDepth: 0),
    EncodedSet(
      "4:4:4, odd size, samples not square, B pictures", H264.codec,
      "67f4000d919b282a10f1f1fff80f200f18800001f480007530078a14cb", 322, 242, profile: 244,
      level: 13, .yuv444, rate: (30_000, 1001), aspect: (484, 483), reorderDepth: 2),
    EncodedSet(
      "interlaced, with scaling lists and hypothetical decoder", H264.codec,
      "6764001eacd940b424d8088000000300800000193020007a12000f427261807c50a658", 720, 576,
      profile: 100, level: 30, rate: (25, 1), reorderDepth: 2, mayHaveFields: true),
    EncodedSet(
      "baseline", H264.codec, "6742c00ad902c4ec0440000003004000000783c48992", 176, 144,
      profile: 66, level: 10, rate: (15, 1), reorderDepth: 0),
    EncodedSet(
      "1080 lines, default scaling lists, no B pictures", H265.codec,
      "420101016000000300900000030000030078a003c08010e5964a924e5780b4040000030004000003007820",
      1920, 1080, profile: 1, level: 120, rate: (30, 1), reorderDepth: 0),
    EncodedSet(
      "10 bits, cropped from 368, full range, bt709, many reference sets", H265.codec,
      """
      42010102200000030090000003000003003fa005020171f2365959a4932bc05b808080820000030002000003003210
      """, 640, 362, profile: 2, level: 63, depth: 10, rate: (25, 1), colour: fullRange709,
      reorderDepth: 2),
    EncodedSet(
      "4:4:4 with samples of 4:3", H265.codec,
      "4201010408000003009e0800000300003c90014901f39e7cb2b349265787340400000fa40001d4c020",
      322, 242, profile: 4, level: 60, .yuv444, rate: (30_000, 1001), aspect: (4, 3),
      reorderDepth: 2),
    EncodedSet(
      "4:2:2 in 10 bits with sub-layers", H265.codec,
      "4201020408000003009d0800000300003f0000b00a080f13659594acb24995e02d010000030001000003003208",
      320, 240, profile: 4, level: 63, .yuv422, depth: 10, rate: (50, 1), reorderDepth: 2),
    EncodedSet(
      "monochrome with hypothetical decoder", H265.codec,
      """
      4201010408000003009fc800000300003fc028203c596566924caf016c080000030008000003019300a4c37000\
      7a12000f4244
      """, 320, 240, profile: 4, level: 63, .monochrome, rate: (50, 1), colour: fullRange,
      reorderDepth: 2),
  ]
}

@Suite("Parameter sets")
struct ParameterSetTests {
  static func description(of set: [UInt8], _ codec: VideoCodec) throws -> FormatDescription? {
    let key = codec == H264.codec ? "sprop-parameter-sets" : "sprop-sps"
    return try Bench(codec, parameters: [key: base64(set)]).defragmenter.formatDescription
  }

  @Test("As ffprobe reads them", arguments: EncodedSet.all)
  func encoders(_ row: EncodedSet) throws {
    let description = try Self.description(of: bytes(row.set), row.codec)
    #expect(description == row.expected)
  }

  @Test("Bytes after the end, and the end cut off within the VUI")
  func tails() throws {
    for row in EncodedSet.all {
      let set = bytes(row.set)
      #expect(try Self.description(of: set + [0x80, 1, 2, 0xFF], row.codec) == row.expected)
      let cut = try Self.description(of: Array(set.dropLast(4)), row.codec)
      #expect(cut?.width == row.expected.width && cut?.height == row.expected.height)
    }
  }

  @Test(
    "Known from the SDP alone: before the first key picture, and again after a restart",
    arguments: Material.all)
  func signalled(_ material: Material) throws {
    var bench = try Bench(material.codec, parameters: Self.parameters(of: material))
    let sets = material.parameterSets.map(\.hex)
    bench.push(material.keySlice, at: 0, marker: true)
    bench.push(material.slice, at: 3000, marker: true)
    bench.push(material.keySlice, at: 6000, marker: true)
    bench.push(material.slice, at: 9000, marker: true, isDiscontinuity: true)
    bench.push(material.keySlice, at: 12000, marker: true)
    bench.push(material.keySlice, at: 15000, marker: true)
    let (key, slice) = (material.keySlice.hex, material.slice.hex)
    #expect(
      bench.accessUnits.map(\.hex) == [
        sets + [key], [slice], [key], sets + [slice], sets + [key], [key],
      ])
    for unit in bench.accessUnits { #expect(unit.isTidy) }
    #expect(bench.accessUnits.first?.format?.width == (material.codec == H264.codec ? 640 : 704))
  }

  @Test("Those in the stream replace those of the SDP", arguments: Material.all)
  func inBand(_ material: Material) throws {
    var bench = try Bench(material.codec, parameters: Self.parameters(of: material))
    let sets = material.parameterSets
    for set in sets { bench.push(set) }
    bench.push(material.keySlice, marker: true)
    #expect(bench.accessUnits.map(\.hex) == [(sets + [material.keySlice]).map(\.hex)])
    #expect(bench.defragmenter.parameterSets.inNaturalOrder.map(\.hex) == sets.map(\.hex))
  }

  @Test("A key picture with some of its sets gets them all", arguments: Material.all)
  func incomplete(_ material: Material) throws {
    var bench = try Bench(material.codec, parameters: Self.parameters(of: material))
    bench.push(material.parameterSets[0])
    bench.push(material.keySlice, marker: true)
    let sets = material.parameterSets.map(\.hex)
    #expect(bench.accessUnits.map(\.hex) == [sets + [sets[0], material.keySlice.hex]])
  }

  @Test(
    "Signalled sets that are none",
    arguments: [
      "", ",", ",,", "!!!", "Zw==", "QQ==,QUJD", "Z00AKp2oHgCJ+WbgICAoAAADAAgAAAMAfCA", "Z",
    ])
  func unusable(_ text: String) throws {
    let keys: [(VideoCodec, String)] = [
      (H264.codec, "sprop-parameter-sets"), (H265.codec, "sprop-vps"), (H265.codec, "sprop-sps"),
      (H265.codec, "sprop-pps"), (H265.codec, "sprop-parameter-sets"),
    ]
    for (codec, key) in keys {
      let material = codec == H264.codec ? Material.h264 : Material.h265
      var bench = try Bench(codec, parameters: [key: text])
      for set in material.parameterSets { bench.push(set) }
      bench.push(material.keySlice, marker: true)
      #expect(
        bench.accessUnits.map(\.hex) == [(material.parameterSets + [material.keySlice]).map(\.hex)])
      #expect(bench.defragmenter.parameterSets.isComplete)
    }
  }

  @Test("A new size in mid-stream is known with the picture that brings it")
  func change() throws {
    var bench = try Bench(H264.codec)
    var sizes: [Int] = []
    for row in EncodedSet.all where row.codec == H264.codec {
      bench.push(bytes(row.set), at: Int64(sizes.count) * 3000)
      bench.push(Material.h264.parameterSets[1], at: Int64(sizes.count) * 3000)
      bench.push(Material.h264.keySlice, at: Int64(sizes.count) * 3000, marker: true)
      sizes.append(row.expected.width)
    }
    #expect(bench.accessUnits.map { $0.format?.width ?? 0 } == sizes)
  }

  static func parameters(of material: Material) -> [String: String] {
    let sets = material.parameterSets.map(base64)
    return material.codec == H264.codec
      ? ["sprop-parameter-sets": sets.joined(separator: ",")]
      : ["sprop-vps": sets[0], "sprop-sps": sets[1], "sprop-pps": sets[2]]
  }
}
