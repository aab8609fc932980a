import Bitstream
import NIOCore
import TestSupport
import Testing

/// Pictures whose numbers say that one before them is missing (H.264 §7.4.3, `frame_num`).
@Suite struct FrameNumberTests {
  /// What a picture is.
  enum Kind: Sendable { case key, reference, unused, reset }

  typealias Picture = (number: Int, kind: Kind)

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var allowsGaps = false
    let pictures: [Picture]
    /// The places of those behind a picture that is missing.
    let gaps: [Int]
  }

  private static let group: [Picture] = [(0, .key), (1, .reference)]

  static let cases = [
    Case(
      testDescription: "numbers that begin again at the end of their bits",
      pictures: (0..<40).map { (number: $0 % 16, kind: $0 == 0 ? Kind.key : .reference) }, gaps: []),
    Case(
      testDescription: "a reference picture is missing",
      pictures: group + [(3, .reference), (4, .reference)], gaps: [2]),
    Case(
      testDescription: "the last one before they begin again is missing",
      pictures: [(13, .reference), (14, .reference), (0, .reference), (1, .reference)], gaps: [2]),
    Case(
      testDescription: "pictures that nothing refers to",
      pictures: group + [(2, .unused), (2, .unused), (2, .reference), (3, .unused)], gaps: []),
    Case(
      testDescription: "such a picture is the first behind a missing one",
      pictures: group + [(3, .unused), (3, .reference), (4, .reference)], gaps: [2]),
    Case(
      testDescription: "a picture that resets everything",
      pictures: group + [(2, .reset), (1, .reference), (2, .reference)], gaps: []),
    Case(testDescription: "key pictures", pictures: group + group + [(2, .reference)], gaps: []),
    Case(
      testDescription: "the stream may leave pictures out", allowsGaps: true,
      pictures: group + [(5, .reference)], gaps: []),
    Case(
      testDescription: "an encoder that counts by two",
      pictures: (0..<7).map { (number: 2 * $0, kind: $0 == 0 ? Kind.key : .reference) }, gaps: [1]),
    Case(
      testDescription: "an encoder that counts all pictures",
      pictures: group + [
        (2, .unused), (3, .reference), (4, .reference), (5, .unused), (6, .unused),
        (7, .reference), (8, .unused), (9, .reference),
      ],
      gaps: []),
    Case(
      testDescription: "one is missing of an encoder that counts references alone",
      pictures: group + [(2, .unused), (2, .reference), (3, .unused), (4, .reference)], gaps: [5]),
  ]

  @Test(arguments: cases)
  func gapsAreToldOnce(_ example: Case) {
    var reader = H264.PictureReader()
    for set in [Self.sequenceParameterSet(example.allowsGaps), BitWriter.pictureParameterSet()] {
      reader.take(parameterSet: ByteBuffer(bytes: set))
    }
    let told = example.pictures.map { number, kind in
      reader.order(of: [ByteBuffer(bytes: Self.slice(number, kind))])?.lacksReference
    }
    #expect(told == example.pictures.indices.map { example.gaps.contains($0) })
  }

  /// Baseline profile, 208 × 16 pixels, 4 bits of `frame_num`, shown in decoding order.
  private static func sequenceParameterSet(_ allowsGaps: Bool) -> [UInt8] {
    var bits = BitWriter()
    bits.u(24, 66 << 16 | 10)
    for value in [0, 0, 2, 1] { bits.ue(value) }
    bits.u(1, allowsGaps ? 1 : 0)
    bits.ue(12)
    bits.ue(0)
    bits.u(4, 0b1100)
    return bits.nalUnit(header: 0x67)
  }

  private static func slice(_ number: Int, _ kind: Kind) -> [UInt8] {
    var bits = BitWriter()
    bits.ue(0)
    bits.ue(kind == .key ? 7 : 5)
    bits.ue(0)
    bits.u(4, number)
    if kind == .key { bits.ue(0) }
    // No other number of references, and no other order of them.
    if kind != .key { bits.u(2, 0) }
    switch kind {
    case .key: bits.u(2, 0)
    case .reference: bits.u(1, 0)
    case .unused: break
    case .reset:
      bits.u(1, 1)
      for operation in [5, 0] { bits.ue(operation) }
    }
    bits.ue(0)
    return bits.nalUnit(header: kind == .key ? 0x65 : kind == .unused ? 0x01 : 0x61)
  }
}
