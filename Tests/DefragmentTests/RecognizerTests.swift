import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

@Suite("Recognizing the codec")
struct RecognizerTests {
  private static func packet(_ payload: [UInt8], type: UInt8) throws -> RTPPacket {
    try RTPPacket(
      parsing: ByteBuffer(bytes: [0x80, type] + [UInt8](repeating: 0, count: 10) + payload))
  }

  /// How a stream looks to those who were there from the start.
  private static func payloads(of material: Material) -> [[UInt8]] {
    let packetizer = Packetizer(codec: material.codec)
    return [packetizer.aggregate(material.parameterSets)]
      + packetizer.fragments(of: material.keySlice, maximum: 8).map(\.bytes)
      + [material.supplementalInformation]
      + packetizer.fragments(of: material.slice, maximum: 8).map(\.bytes)
      + [material.slice, material.laterSlice]
  }

  @Test("Joined at any packet", arguments: Material.all)
  func joined(_ material: Material) throws {
    let payloads = Self.payloads(of: material)
    for start in payloads.indices {
      var recognizer = FormatRecognizer()
      for payload in payloads[start...] + payloads[..<start] {
        recognizer.observe(try Self.packet(payload, type: 98))
      }
      #expect(recognizer.result?.codec == material.codec, "from \(start)")
      #expect(recognizer.result?.payloadType == 98)
    }
  }

  /// What comes beside slices in packets of its own: fillers, delimiters and parameter sets of a
  /// higher sub-layer, and the ends of a sequence and of a stream.
  private static let companions = [
    (Material.h264, ["0cffffff80", "0a", "0b"]),
    (Material.h265, ["4c01ff80", "460250", "4402c0f7", "4801", "4a01"]),
  ]

  @Test("Nothing but single NAL units and such, joined between key pictures", arguments: companions)
  func besides(_ material: Material, besides: [String]) throws {
    var recognizer = FormatRecognizer()
    for _ in 0..<100 {
      recognizer.observe(try Self.packet(material.slice, type: 96))
      for unit in besides { recognizer.observe(try Self.packet(bytes(unit), type: 96)) }
    }
    #expect(recognizer.result == nil)
    recognizer.observe(try Self.packet(material.parameterSets[0], type: 96))
    #expect(recognizer.result?.codec == material.codec)
  }

  @Test("Garbage and other payload types beside", arguments: Material.all, UInt64(1)...20)
  func garbage(_ material: Material, _ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var recognizer = FormatRecognizer()
    for payload in Self.payloads(of: material) {
      // Audio in PCMU, and a keep-alive that Geovision sends.
      let audio = (0..<160).map { _ in UInt8.random(in: 0xE0...0xFF, using: &random) }
      recognizer.observe(try Self.packet(audio, type: 0))
      recognizer.observe(try Self.packet([0x80, 0, 0, 0], type: 50))
      recognizer.observe(try Self.packet([], type: 97))
      recognizer.observe(try Self.packet(payload, type: 97))
    }
    #expect(recognizer.result?.codec == material.codec)
    #expect(recognizer.result?.payloadType == 97)
  }

  @Test("Decoding begins with parameter sets, or with a key picture when those are known")
  func entryPoints() {
    for material in Material.all {
      let packetizer = Packetizer(codec: material.codec)
      let sets = packetizer.aggregate(material.parameterSets)
      let key = packetizer.fragments(of: material.keySlice, maximum: 5).map(\.bytes)
      let rows: [([UInt8], always: Bool, known: Bool)] = [
        (sets, true, true), (material.parameterSets[0], true, true),
        (packetizer.aggregate([material.delimiter] + material.parameterSets), true, true),
        (material.keySlice, false, true), (key[0], false, true), (key[1], false, false),
        (material.slice, false, false), (material.supplementalInformation, false, false),
        ([], false, false),
      ]
      for (payload, always, known) in rows {
        let payload = ByteBuffer(bytes: payload)
        #expect(FormatCatalogue.standard.isEntryPoint(payload, parameterSetsKnown: false) == always)
        #expect(FormatCatalogue.standard.isEntryPoint(payload, parameterSetsKnown: true) == known)
      }
    }
  }

  @Test("Names")
  func names() throws {
    #expect(FormatCatalogue.standard.codec(named: "H265") == H265.codec)
    #expect(FormatCatalogue.standard.codec(encodingName: "h264") == H264.codec)
    #expect(throws: UnsupportedFormat.self) {
      try VideoDefragmenter(media: MediaDescription(encodingName: "VP8"))
    }
  }
}
