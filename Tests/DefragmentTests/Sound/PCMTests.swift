import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

/// Codings whose payloads have nothing around their samples (RFC 3551, RFC 3190), and Opus.
@Suite("Samples and Opus in RTP")
struct PCMTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let name: String
    let clock: UInt32
    var channels: Int?
    var type: UInt8 = 97
    let codec: SoundCodec
    let rate: Int
    /// Bytes of 20 ms.
    let bytes: Int
    /// Ticks of 20 ms.
    let ticks: Int64
    var bits = 0

    var testDescription: String { "\(name)/\(clock)/\(channels ?? 1)" }
  }

  static let rows = [
    Row(name: "PCMU", clock: 8000, type: 0, codec: G711.muLaw, rate: 8000, bytes: 160, ticks: 160),
    Row(name: "PCMA", clock: 8000, type: 8, codec: G711.aLaw, rate: 8000, bytes: 160, ticks: 160),
    Row(
      name: "PCMA", clock: 16_000, channels: 2, codec: G711.aLaw, rate: 16_000, bytes: 640,
      ticks: 320),
    // The clock of G.722 is half as fast as its samples.
    Row(
      name: "G722", clock: 8000, type: 9, codec: G722.codec, rate: 16_000, bytes: 160, ticks: 160),
    Row(name: "G722", clock: 16_000, codec: G722.codec, rate: 16_000, bytes: 160, ticks: 320),
    Row(
      name: "G726-16", clock: 8000, codec: G726.leastSignificantFirst, rate: 8000, bytes: 40,
      ticks: 160, bits: 2),
    Row(
      name: "G726-24", clock: 8000, codec: G726.leastSignificantFirst, rate: 8000, bytes: 60,
      ticks: 160, bits: 3),
    Row(
      name: "G726-32", clock: 8000, codec: G726.leastSignificantFirst, rate: 8000, bytes: 80,
      ticks: 160, bits: 4),
    Row(
      name: "g726-40", clock: 8000, codec: G726.leastSignificantFirst, rate: 8000, bytes: 100,
      ticks: 160, bits: 5),
    Row(
      name: "AAL2-G726-32", clock: 8000, codec: G726.mostSignificantFirst, rate: 8000, bytes: 80,
      ticks: 160, bits: 4),
    Row(name: "L8", clock: 11_025, codec: LinearPCM.l8, rate: 11_025, bytes: 220, ticks: 220),
    Row(
      name: "L16", clock: 44_100, channels: 2, type: 10, codec: LinearPCM.l16, rate: 44_100,
      bytes: 3528, ticks: 882),
    Row(
      name: "L16", clock: 44_100, type: 11, codec: LinearPCM.l16, rate: 44_100, bytes: 1764,
      ticks: 882),
    Row(
      name: "L24", clock: 48_000, channels: 2, codec: LinearPCM.l24, rate: 48_000, bytes: 5760,
      ticks: 960),
  ]

  @Test("Sends 20 ms in each packet", arguments: rows)
  func packets(_ row: Row) throws {
    var bench = try SoundBench(
      row.name, clock: row.clock, channels: row.channels, payloadType: row.type)
    let format = try #require(bench.defragmenter.format)
    #expect(format.codec == row.codec && format.sampleRate == row.rate)
    #expect(format.channels == row.channels ?? 1 && format.codeBits == row.bits)
    for number in 0..<10 where number != 4 {
      bench.push(
        [UInt8](repeating: UInt8(number), count: row.bytes), at: Int64(number) * row.ticks,
        marker: false, lost: number == 5 ? 1 : 0)
    }
    let samples = row.rate / 50
    #expect(bench.units.count == 9)
    #expect(
      bench.units.allSatisfy { $0.sampleCount == samples && $0.bytes.readableBytes == row.bytes })
    #expect(bench.units.map(\.lostBefore) == [0, 0, 0, 0, 1, 0, 0, 0, 0])
    #expect(bench.statistics.missingSamples == UInt64(samples))
    #expect(bench.statistics.silentSamples == 0 && bench.statistics.samples == UInt64(9 * samples))
    // Half a sample at the end is left out.
    bench.push([UInt8](repeating: 1, count: row.bytes + 1), at: 10 * row.ticks)
    #expect(bench.units.last.map { $0.sampleCount - samples < 8 } == true)
    #expect(bench.statistics.isBalanced)
  }

  @Test("Says another name for a static payload type: the type decides")
  func staticTypes() throws {
    let bench = try SoundBench("PCMU", clock: 8000, payloadType: 8)
    #expect(bench.defragmenter.format?.codec == G711.aLaw)
    let unnamed = try SoundBench(nil, clock: 8000, payloadType: 0)
    #expect(unnamed.defragmenter.format?.codec == G711.muLaw)
    let media = MediaDescription(kind: .audio, payloadType: 3, encodingName: "GSM", clockRate: 8000)
    #expect(SoundDefragmenter(media: media) == nil)
    #expect(!FormatCatalogue.standard.knowsSound(media))
  }

  @Test("Pauses, sends comfort noise and telephone events")
  func pauses() throws {
    var bench = try SoundBench("PCMU", clock: 8000, payloadType: 0)
    let payload = [UInt8](repeating: 0xFF, count: 160)
    bench.push(payload, at: 0)
    bench.push([40], at: 160, type: 13)
    bench.push(payload, at: 8160)
    bench.push([1, 2, 3, 4], at: 8160, type: 101)
    bench.push([], at: 8320)
    bench.push(payload, at: 8320, lost: 0)
    // The timestamps leap by an hour.
    bench.push(payload, at: 28_808_320)
    let statistics = bench.statistics
    #expect(bench.units.count == 4)
    #expect(statistics.silentSamples == 8000 && statistics.missingSamples == 0)
    #expect(statistics.comfortNoise == 1 && statistics.otherTypes == 1)
    #expect(statistics.emptyPayloads == 1 && statistics.leaps == 1)
    #expect(statistics.packets == 7 && statistics.isBalanced)
  }

  struct Packet: Sendable {
    let hex: String
    /// Samples of each channel at 48 kHz; `nil` for what is no packet.
    let samples: Int?
  }

  static let opusPackets = [
    // SILK of 10 to 60 ms, hybrid, CELT of 2.5 to 20 ms.
    Packet(hex: "00 11", samples: 480), Packet(hex: "08 11", samples: 960),
    Packet(hex: "18 11", samples: 2880), Packet(hex: "60 11", samples: 480),
    Packet(hex: "80 11", samples: 120), Packet(hex: "f8 11", samples: 960),
    Packet(hex: "fc 11", samples: 960),
    // Two frames of the same length and of different ones; three frames.
    Packet(hex: "f9 1122", samples: 1920), Packet(hex: "fa 01 1122", samples: 1920),
    Packet(hex: "fb 03 112233", samples: 2880),
    // A frame that is not transmitted.
    Packet(hex: "08", samples: 960),
    // Different lengths where they must be the same; no frames; more than 120 ms.
    Packet(hex: "f9 11", samples: nil), Packet(hex: "fb 00", samples: nil),
    Packet(hex: "fb", samples: nil), Packet(hex: "1b 03 112233", samples: nil),
  ]

  @Test("Sends Opus packets of every kind", arguments: opusPackets)
  func opus(_ packet: Packet) throws {
    var bench = try SoundBench("opus", clock: 48_000, channels: 2)
    bench.push(bytes(packet.hex), at: 0)
    #expect(bench.units.first?.sampleCount == packet.samples)
    #expect(bench.statistics.malformedPayloads == (packet.samples == nil ? 1 : 0))
    guard packet.samples != nil else { return }
    #expect(bench.units.first?.format.codec == Opus.codec)
  }

  /// Encoders switch by themselves, such as at low rates.
  @Test(
    "Sends Opus in stereo and in mono by turns, of which the description says this",
    arguments: [
      ([:], 2), (["sprop-stereo": "1"], 2), (["sprop-stereo": "0"], 1), (["stereo": "0"], 2),
    ] as [([String: String], Int)])
  func stereo(_ parameters: [String: String], _ channels: Int) throws {
    for order in [[0xF8, 0xFC, 0xF8], [0xFC, 0xF8, 0xFC]] as [[UInt8]] {
      var bench = try SoundBench("opus", clock: 48_000, channels: 2, parameters)
      #expect(bench.defragmenter.format?.channels == channels)
      for (number, first) in order.enumerated() {
        bench.push([first, 1], at: Int64(number) * 960)
      }
      #expect(bench.units.map(\.format.channels) == [channels, channels, channels])
    }
  }

  @Test(
    "Sends more channels than can be told apart: that is no sound",
    arguments: ["PCMU", "L8", "L16", "L24"], [9, 16, 64, 255])
  func manyChannels(_ name: String, _ channels: Int) {
    let media = MediaDescription(
      kind: .audio, payloadType: 97, encodingName: name, clockRate: 48_000, channels: channels)
    #expect(SoundDefragmenter(media: media) == nil)
  }

  @Test(
    "A rate that no sound has is not believed",
    arguments: ["PCMU", "PCMA", "G722", "G726-32", "AAL2-G726-16", "L8", "L16", "L24"],
    [1, 3999, 384_001, UInt32(Int32.max), .max])
  func absurdRate(_ name: String, _ rate: UInt32) {
    let media = MediaDescription(
      kind: .audio, payloadType: 97, encodingName: name, clockRate: rate, channels: 8)
    #expect(SoundDefragmenter(media: media) == nil)
  }
}
