import Bitstream
import Defragment
import NIOCore
import RTPWire
import Testing

/// What sound is called where only its encoding name in RTP is known.
@Suite("Names of sound")
struct SoundNameTests {
  @Test(
    "is called what its coding is, whatever its packets are called",
    arguments: [
      ("mpeg4-generic", "aac"), ("MP4A-LATM", "aac"), ("MP4A-ADTS", "aac"), ("opus", "opus"),
      ("PCMU", "pcmu"), ("PCMA", "pcma"), ("G722", "g722"), ("AAL2-G726-32", "g726"),
      ("g726-32", "g726le"), ("L24", "l24"), ("X-Unknown", "x-unknown"),
    ])
  func standard(encodingName: String, name: String) {
    #expect(FormatCatalogue.standard.soundName(encodingName: encodingName) == name)
  }

  /// AAC with low delay by another package, under a name of its own.
  private struct Foreign: SoundPayloadFormat {
    static let encodingNames = ["X-AAC-LD"]
    static func codecName(of encodingName: String) -> String { "aac" }
    let format: SoundFormat? = nil

    init?(media: MediaDescription) {}

    mutating func unpack(
      _ payload: ByteBuffer, marker: Bool, into units: inout SoundUnitCollector
    ) {}
  }

  @Test("is called what another package's format says")
  func foreign() {
    let formats = FormatCatalogue([], sound: [Foreign.self])
    #expect(formats.soundName(encodingName: "x-aac-ld") == "aac")
    #expect(formats.soundName(encodingName: "MP4A-LATM") == "mp4a-latm")
  }
}
