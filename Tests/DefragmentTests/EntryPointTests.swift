import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

@Suite("Where decoding can begin, and what codec it is")
struct EntryPointTests {
  private static let sequenceSet = "000e 6742c01e8c8d40501ed00f08846a"
  private static let pictureSet = "0004 68ce3c80"
  private static let information = "0005 0605010280"
  private static let videoSet = "0018 40010c01ffff01600000030000030000030000030096ac09"

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let payload: String
    /// Without parameter sets, and with.
    let expected: (Bool, Bool)
  }

  static let cases = [
    Case(
      testDescription: "parameter sets in a STAP-A", payload: "78 \(sequenceSet) \(pictureSet)",
      expected: (true, true)),
    Case(
      testDescription: "SEI before them", payload: "78 \(information) \(sequenceSet) \(pictureSet)",
      expected: (true, true)),
    Case(
      testDescription: "a delimiter before them", payload: "78 0002 09f0 \(sequenceSet)",
      expected: (true, true)),
    Case(
      testDescription: "a delimiter and a picture that is no key picture",
      payload: "78 0002 09f0 000c 419a01020304050607080910", expected: (false, false)),
    Case(
      testDescription: "a delimiter and a key picture", payload: "78 0002 09f0 0004 65888401",
      expected: (false, true)),
    Case(
      testDescription: "a later slice of a key picture", payload: "78 0004 65408401",
      expected: (false, false)),
    Case(
      testDescription: "a sequence parameter set behind a start code",
      payload: "00000001 6742c01e8c8d40501ed00f08846a", expected: (true, true)),
    Case(
      testDescription: "parameter sets behind start codes in a STAP-A",
      payload: "78 0012 00000001 6742c01e8c8d40501ed00f08846a 0008 00000001 68ce3c80",
      expected: (true, true)),
    Case(
      testDescription: "an AP with a key picture behind a start code",
      payload: "6001 000a 00000001 2601af010203", expected: (false, true)),
    Case(
      testDescription: "an AP with the video parameter set behind a delimiter",
      payload: "6001 0003 460150 \(videoSet)", expected: (true, true)),
    Case(
      testDescription: "an AP with SEI and a key picture",
      payload: "6001 0007 4e010501028000 0006 2601af010203", expected: (false, true)),
    Case(
      testDescription: "an AP with a delimiter and another picture",
      payload: "6001 0003 460150 0014 0201d00102030405060708091011121314151617",
      expected: (false, false)),
  ]

  @Test("Entry points", arguments: cases)
  func entryPoint(_ row: Case) {
    let payload = ByteBuffer(bytes: bytes(row.payload))
    for (isKnown, expected) in [(false, row.expected.0), (true, row.expected.1)] {
      #expect(
        FormatCatalogue.standard.isEntryPoint(payload, parameterSetsKnown: isKnown) == expected,
        "parameter sets known: \(isKnown)")
    }
  }

  @Test(
    "One payload tells the codec",
    arguments: [
      ("78 \(sequenceSet) \(pictureSet) 00000000", "h264"),
      ("00000001 6742c01e8c8d40501ed00f08846a", "h264"),
      ("7c01 0405", "h264"), ("6201 01 0405", "h265"), ("6001 \(videoSet) 0000", "h265"),
      ("78 0008 00000001 68ce3c80", "h264"), ("09f0 00000001 419a22", "h264"),
      // The first fragments of byte streams, and of parameter sets.
      ("1c89 f0 00000001 6742", "h264"), ("7c87 42c01e8c8d", "h264"),
      ("6201 a3 50 00000001 0201d0", "h265"), ("6201 a0 0c01ffff", "h265"),
    ])
  func recognize(_ payload: String, _ name: String) {
    var recognizer = FormatRecognizer()
    var stream = Stream()
    recognizer.observe(stream.packet(bytes(payload)).packet)
    #expect(recognizer.result?.codec.name == name)
  }

  @Test(
    "What other traffic may look like tells no codec",
    arguments: [
      // Delimiters behind which nothing follows, or no unit.
      "09f0", "09f0 00000001", "1c89 f0 000001", "1c89 f0 5a5a5a5a", "1c89 f1 00000001 6742",
      "6202 a3 50 00000001",
      // Another profile; first and last fragment at once; not the first.
      "7c87 05c01e8c8d", "7cc7 42c01e8c8d", "7c07 42c01e8c8d", "6201 e3 50", "6201 23 50",
    ])
  func recognizeNothing(_ payload: String) {
    var recognizer = FormatRecognizer()
    var stream = Stream()
    recognizer.observe(stream.packet(bytes(payload)).packet)
    #expect(recognizer.result == nil)
  }

  @Test("A recovery point is a place to begin", arguments: Material.all)
  func recoveryPoint(_ material: Material) throws {
    var bench = try Bench(material.codec)
    bench.push(material.recoveryPoint)
    bench.push(material.slice, marker: true)
    bench.push(material.supplementalInformation, at: 3000)
    bench.push(material.slice, at: 3000, marker: true)
    #expect(bench.accessUnits.map(\.isRandomAccess) == [true, false])
  }

  @Test func aRecoveryPointIsARandomAccessPoint() throws {
    var bench = try Bench(H264.codec)
    bench.push("06060184", at: 0)
    bench.push("419a11", at: 0, marker: true)
    bench.push("419a22", at: 3000, marker: true)
    #expect(bench.accessUnits.map(\.isRandomAccess) == [true, false])
  }
}
