import Bitstream
import Defragment
import NIOCore
import TestSupport
import Testing

@testable import Decode

/// Sound of each codec becomes the samples that ffmpeg makes of it.
struct SoundDecoderTests {
  static let clips = [
    SoundClip(encoder: "pcm_mulaw", decoder: "pcm_mulaw", unitBytes: 160, rawFormat: "mulaw"),
    SoundClip(encoder: "pcm_alaw", decoder: "pcm_alaw", unitBytes: 160, rawFormat: "alaw"),
    SoundClip(encoder: "g722", decoder: "g722", rate: 16_000, unitBytes: 160, rawFormat: "g722"),
    SoundClip(encoder: "g726", decoder: "g726", codeBits: 4, unitBytes: 80, rawFormat: "g726"),
    SoundClip(
      encoder: "g726le", decoder: "g726le", codeBits: 4, unitBytes: 80, rawFormat: "g726le"),
    SoundClip(
      encoder: "pcm_s16be", decoder: "pcm_s16be", rate: 44_100, channels: 2, unitBytes: 3528,
      rawFormat: "s16be"),
    SoundClip(
      encoder: "pcm_s24be", decoder: "pcm_s24be", rate: 48_000, channels: 2, unitBytes: 5760,
      rawFormat: "s24be"),
    SoundClip(encoder: "pcm_u8", decoder: "pcm_u8", unitBytes: 160, rawFormat: "u8"),
    SoundClip(encoder: "aac", decoder: "aac", rate: 48_000, channels: 2),
    SoundClip(encoder: "libopus", decoder: "opus", rate: 48_000, channels: 2, padding: 312),
  ]

  @Test("each codec decodes to ffmpeg's samples", arguments: clips)
  func samples(clip: SoundClip) throws {
    let (units, expected) = try clip.made()
    let decoder = try SoundDecoder(try #require(units.first).format)
    var bytes = ByteBuffer()
    for unit in units { decoder.decode(unit.bytes)?.writeInt16(to: &bytes) }
    #expect(decoder.failures == 0)
    // ffmpeg leaves out what the container says an encoder put before the first sample, and after
    // the last one.
    let found = Array(
      bytes.readableBytesView.dropFirst(2 * clip.padding * clip.channels).prefix(expected.count))
    #expect(found.count == expected.count)
    // ffmpeg cuts the lower bits off, where these samples are rounded.
    let tolerance = clip.decoder == "pcm_s24be" ? 1 : 0
    #expect(Self.greatestDifference(found, expected) <= tolerance)
  }

  private static func greatestDifference(_ one: [UInt8], _ other: [UInt8]) -> Int {
    func samples(_ bytes: [UInt8]) -> [Int] {
      stride(from: 0, to: bytes.count - 1, by: 2).map {
        Int(Int16(bitPattern: UInt16(bytes[$0 + 1]) << 8 | UInt16(bytes[$0])))
      }
    }
    return zip(samples(one), samples(other)).map { abs($0 - $1) }.max() ?? .max
  }

  @Test("Opus has the channels of its format, whatever its packets have", arguments: [1, 2])
  func channelsOfOpus(channels: Int) throws {
    let format = SoundFormat(codec: Opus.codec, sampleRate: Opus.sampleRate, channels: channels)
    let decoder = try SoundDecoder(format)
    let tone = (0..<Opus.sampleRate).map { index in
      0.5 * Float(sine(440 * Double(index) / Double(Opus.sampleRate)))
    }
    for coded in [1, 2, 1, 2] {
      let encoder = try SoundEncoder(.opus, sampleRate: Opus.sampleRate, channels: coded)
      let packets = encoder.encode(tone.flatMap { Array(repeating: $0, count: coded) })
      let pieces = try packets.map { try #require(decoder.decode($0.bytes)) }
      #expect(pieces.allSatisfy { $0.channels == channels })
      // The transition from the other encoder aside, it is the tone on each channel.
      let values = pieces.dropFirst(10).flatMap(\.values)
      for channel in 0..<channels {
        let own = stride(from: channel, to: values.count, by: channels).map { values[$0] }
        let mean = own.reduce(0) { $0 + $1 * $1 } / Float(own.count)
        #expect(abs(mean.squareRoot() - 0.354) < 0.02, "channel \(channel) of \(coded)")
      }
    }
    #expect(decoder.failures == 0)
  }

  @Test("samples of 24 bits stay what they are")
  func deepSamples() throws {
    let clip = try #require(Self.clips.first { $0.decoder == "pcm_s24be" })
    let (units, _) = try clip.made()
    let decoder = try SoundDecoder(try #require(units.first).format)
    for unit in units.prefix(5) {
      let bytes = Array(unit.bytes.readableBytesView)
      let sent = stride(from: 0, to: bytes.count, by: 3).map { start in
        let bits = bytes[start..<start + 3].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return Int(Int32(bitPattern: bits << 8) >> 8)
      }
      let found = decoder.decode(unit.bytes)?.values.map { Int($0 * Float(1 << 23)) }
      #expect(found == sent)
    }
  }

  @Test("what is no sound is counted", arguments: ["aac", "opus"])
  func nonsense(name: String) throws {
    let clip = try #require(Self.clips.first { $0.decoder == name })
    let (units, _) = try clip.made()
    let decoder = try SoundDecoder(try #require(units.first).format)
    _ = decoder.decode(ByteBuffer(repeating: 0xFF, count: 50))
    for unit in units { _ = decoder.decode(unit.bytes) }
    #expect(decoder.failures == 1)
  }

  @Test("what is no number becomes silence")
  func noNumber() {
    var bytes = ByteBuffer()
    SoundSamples(sampleRate: 8000, channels: 1, values: [.nan, .infinity, -.infinity, 2, -2, 1])
      .writeInt16(to: &bytes)
    let found = stride(from: 0, to: 12, by: 2).map {
      bytes.getInteger(at: $0, endianness: .little, as: Int16.self)
    }
    #expect(found == [0, .max, .min, .max, .min, .max])
  }

  @Test(
    "encoded sound is what was given, after the encoder's padding",
    arguments: [
      (SoundEncoder.Coding.aac, 8000), (.aac, 44_100), (.opus, 48_000), (.opus, 44_100),
      (.linear16, 44_100),
      (.linear24, 8000),
    ])
  func encoding(coding: SoundEncoder.Coding, rate: Int) throws {
    let encoder = try SoundEncoder(coding, sampleRate: rate, channels: 1)
    let tone = (0..<2 * rate).map { index in
      0.5 * Float(sine(440 * Double(index) / Double(rate)))
    }
    var packets: [SoundEncoder.Packet] = []
    for start in stride(from: 0, to: tone.count, by: rate / 50) {
      packets += encoder.encode(Array(tone[start..<min(start + rate / 50, tone.count)]))
    }
    packets += encoder.finish()
    #expect(packets.first?.position == -encoder.padding)
    let decoder = try SoundDecoder(encoder.format)
    let decoded = packets.flatMap { decoder.decode($0.bytes)?.values ?? [] }
    let scale = Double(encoder.format.sampleRate) / Double(rate)
    #expect(decoded.count >= Int(Double(tone.count) * scale) + encoder.padding)
    // A second in the middle is the tone again.
    let middle = encoder.padding + encoder.format.sampleRate / 2
    var error = 0.0
    for index in 0..<encoder.format.sampleRate {
      let time = Double(index) / Double(encoder.format.sampleRate) + 0.5
      let difference = Double(decoded[middle + index]) - 0.5 * sine(440 * time)
      error += difference * difference
    }
    #expect((error / Double(encoder.format.sampleRate)).squareRoot() < 0.02)
  }

  private func sine(_ turns: Double) -> Double {
    let phase = turns - turns.rounded(.down)
    // Bhaskara's approximation of each half wave, within 0.2 %.
    let half = phase < 0.5 ? phase * 2 : (phase - 0.5) * 2
    let value = 16 * half * (1 - half) / (5 - 4 * half * (1 - half))
    return phase < 0.5 ? value : -value
  }

  @Test("more channels than are said come to nothing")
  func manyChannels() throws {
    let clip = SoundClip(encoder: "aac", decoder: "aac", rate: 48_000, channels: 16, padding: 1024)
    let units = try clip.made().units
    let decoder = try SoundDecoder(try #require(units.first).format)
    #expect(units.prefix(20).allSatisfy { (decoder.decode($0.bytes)?.channels ?? 1) <= 8 })
  }
}
