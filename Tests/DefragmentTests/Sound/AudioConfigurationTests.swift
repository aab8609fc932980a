import Bitstream
import NIOCore
import TestSupport
import Testing

/// The syntaxes of MPEG-4 audio, with configurations as senders describe them.
@Suite("Configurations of AAC")
struct AudioConfigurationTests {
  struct Row: Sendable {
    let hex: String
    let type: Int
    let core: Int
    let rate: Int
    let channels: Int
    let samples: Int
    var isStereoOfMono = false
  }

  static let rows = [
    Row(hex: "1190", type: 2, core: 48_000, rate: 48_000, channels: 2, samples: 1024),
    Row(hex: "1408", type: 2, core: 16_000, rate: 16_000, channels: 1, samples: 1024),
    Row(hex: "1194", type: 2, core: 48_000, rate: 48_000, channels: 2, samples: 960),
    // HE-AAC, said before the core.
    Row(hex: "2b920800", type: 2, core: 22_050, rate: 44_100, channels: 2, samples: 2048),
    // HE-AAC, said behind the core, where old decoders do not look.
    Row(hex: "139056e5a0", type: 2, core: 22_050, rate: 44_100, channels: 2, samples: 2048),
    // The same with parametric stereo.
    Row(
      hex: "138856e5a54880", type: 2, core: 22_050, rate: 44_100, channels: 2, samples: 2048,
      isStereoOfMono: true),
    Row(hex: "f8e85000", type: 39, core: 44_100, rate: 44_100, channels: 2, samples: 480),
    // 48 kHz in full, six channels.
    Row(hex: "17805dc030", type: 2, core: 48_000, rate: 48_000, channels: 6, samples: 1024),
    // AAC LD of 512 samples.
    Row(hex: "b98800", type: 23, core: 48_000, rate: 48_000, channels: 1, samples: 512),
  ]

  @Test("A configuration says rate, channels and samples", arguments: rows)
  func configurations(_ row: Row) throws {
    let config = try AudioSpecificConfig(parsing: ByteBuffer(bytes: bytes(row.hex)))
    #expect(config.objectType == row.type)
    #expect(config.coreSampleRate == row.core)
    #expect(config.sampleRate == row.rate)
    #expect(config.channels == row.channels)
    #expect(config.samples == row.samples)
    #expect(config.hasParametricStereo == row.isStereoOfMono)
    #expect(config.format.configuration == bytes(row.hex))
    for length in 0..<bytes(row.hex).count - (row.hex.hasSuffix("00") ? 1 : 0) {
      // Only the extension may be missing.
      let cut = try? AudioSpecificConfig(
        parsing: ByteBuffer(bytes: bytes(row.hex).prefix(length)))
      #expect(cut == nil || length >= 2 && cut?.objectType == row.type)
    }
  }

  @Test("A program config element tells its channels")
  func programConfigElement() throws {
    var writer = Bitstream.BitWriter()
    // AAC LC, 48 kHz, channels elsewhere, 1024 samples, no core coder, no extension.
    for (value, count) in [(2, 5), (3, 4), (0, 4), (0, 3)] as [(UInt32, Int)] {
      writer.append(value, bits: count)
    }
    // Front: one alone and a pair; back: a pair; one low-frequency element; one of data.
    for (value, count) in [
      (0, 4), (1, 2), (3, 4), (2, 4), (0, 4), (1, 4), (1, 2), (1, 3), (0, 4), (0, 1), (0, 1),
      (1, 1), (5, 3), (0, 1), (0, 4), (1, 1), (0, 4), (1, 1), (1, 4), (0, 4), (0, 4),
    ] as [(UInt32, Int)] {
      writer.append(value, bits: count)
    }
    var config = writer.plain
    config += [2] + Array("hi".utf8)
    #expect(try AudioSpecificConfig(parsing: ByteBuffer(bytes: config)).channels == 6)
  }

  @Test("What no decoder here can play is refused")
  func refusals() {
    func error(_ hex: String) -> AudioSpecificConfig.Invalid? {
      do {
        _ = try AudioSpecificConfig(parsing: ByteBuffer(bytes: bytes(hex)))
        return nil
      } catch {
        return error
      }
    }
    #expect(error("") == .cut)
    #expect(error("4590") == .objectType(8))
    #expect(error("1690") == .sampleRate)
    #expect(error("17800000") == .cut)
    #expect(error("1780000010") == .sampleRate)
    #expect(error("11c8") == .channels)
    // 7,349 and 7,350 Hz in full.
    #expect(error("17800e5a88") == .sampleRate)
    #expect(error("17800e5b08") == nil)
  }

  @Test(
    "A written configuration is read back",
    arguments: [8_000, 16_000, 44_100, 48_000, 12_345, 192_000], [1, 2, 6, 8])
  func written(_ rate: Int, _ channels: Int) throws {
    let config = try #require(AudioSpecificConfig(sampleRate: rate, channels: channels))
    #expect(try AudioSpecificConfig(parsing: ByteBuffer(bytes: config.bytes)) == config)
    #expect(config.sampleRate == rate && config.channels == channels && config.samples == 1024)
  }

  @Test("An ADTS header is as FFmpeg writes it, and is read back")
  func audioDataTransportStream() throws {
    let config = try #require(AudioSpecificConfig(sampleRate: 44_100, channels: 2))
    let header = try #require(ADTSHeader(of: config, byteCount: 372))
    #expect(ByteBuffer(bytes: header.bytes).hex == "fff150802f7ffc")
    #expect(ADTSHeader(at: ByteBuffer(bytes: header.bytes)) == header)
    #expect(header.configuration == config)
    // With a checksum.
    let other = try #require(ADTSHeader(at: ByteBuffer(bytes: bytes("fff050802fbffc beef"))))
    #expect(other.length == 9 && other.frameLength == 381 && other.units == 1)
    #expect(ADTSHeader(of: config, byteCount: 8185) == nil)
    for hex in ["", "ff", "fff15080", "fff1f4802f7ffc", "fff95080001ffc", "fff75080017ffc"] {
      #expect(ADTSHeader(at: ByteBuffer(bytes: bytes(hex))) == nil, "\(hex)")
    }
  }

  @Test("A multiplex configuration of RFC 6416 says what it carries")
  func multiplex() throws {
    let plain = try StreamMuxConfig(parsing: ByteBuffer(bytes: bytes("400026203fc0")))
    #expect(plain.configuration.sampleRate == 24_000 && plain.configuration.channels == 2)
    #expect(plain.configuration.bytes == bytes("1310"))
    let replicated = try StreamMuxConfig(parsing: ByteBuffer(bytes: bytes("40005623101fe0")))
    #expect(replicated.configuration.sampleRate == 48_000)
    #expect(replicated.configuration.samples == 2048)
    for text in ["40", "400024", "c00024203f"] {
      #expect(throws: StreamMuxConfig.Invalid.self) {
        try StreamMuxConfig(parsing: ByteBuffer(bytes: bytes(text)))
      }
    }
    #expect(throws: StreamMuxConfig.Invalid.version) {
      try StreamMuxConfig(parsing: ByteBuffer(bytes: bytes("c00026203fc0")))
    }
  }

  @Test(
    "GStreamer's multiplex configuration ends behind that of the stream, with its extension or not",
    arguments: ["40002420", "40002420adca00"])
  func multiplexOfGStreamer(text: String) throws {
    let found = try StreamMuxConfig(parsing: ByteBuffer(bytes: bytes(text)))
    #expect(found.configuration.sampleRate == 44_100 && found.configuration.channels == 2)
    #expect(!found.configuration.hasBandReplication)
  }
}
