import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

/// Random streams of sound, valid and invalid, each continuing after the last.
@Suite("Random streams of sound")
struct SoundFuzzTests {
  struct Sender: Sendable, CustomTestStringConvertible {
    let name: String
    var clock: UInt32 = 48_000
    var parameters: [String: String] = [:]
    let payloads: [[UInt8]]

    var testDescription: String { "\(name) \(parameters)" }
  }

  static let senders: [Sender] = {
    let packetizer = AccessUnitPacketizer()
    let generic = AACPayloadTests.layouts[2]
    let frame =
      (AudioSpecificConfig(sampleRate: 48_000, channels: 2)
        .flatMap { ADTSHeader(of: $0, byteCount: 9) }?.bytes ?? []) + [1, 2, 3, 4, 5, 6, 7, 8, 9]
    let multiplex = [
      LATMTests.inBand(
        LATMTests.configuration(isVersionOne: true, other: 3), [[1, 2, 3]], other: 3),
      LATMTests.inBand(LATMTests.configuration(isVersionOne: false, subframes: 2), [[1], [2, 3]]),
      LATMTests.inBand(nil, [[7], [8]]), LATMTests.element([1, 2, 3, 4]),
    ]
    return [
      Sender(
        name: "mpeg4-generic", parameters: AccessUnitPacketizer.highRate,
        payloads: [
          packetizer.packet([[1, 2, 3]]), packetizer.packet([[1], [2], [3]], skipped: [0, 2, 2]),
          packetizer.packet([[1, 2]], sizes: [4]), frame, frame + frame,
        ]),
      Sender(
        name: "mpeg4-generic", parameters: generic.parameters,
        payloads: [
          generic.packetizer.packet([[1], [2]], offsets: [nil, -3]),
          generic.packetizer.packet([[1, 2, 3]]),
        ]),
      Sender(name: "MP4A-LATM", payloads: multiplex),
      Sender(name: "MP4A-LATM", parameters: LATMTests.described, payloads: multiplex),
      Sender(name: "opus", payloads: [bytes("f811"), bytes("fb03112233"), bytes("f91122")]),
      Sender(name: "G726-24", clock: 8000, payloads: [[UInt8](repeating: 9, count: 60)]),
      Sender(name: "L24", payloads: [[UInt8](repeating: 9, count: 60)]),
    ]
  }()

  @Test("No packets in any order break an invariant", arguments: senders, UInt64(1)...3)
  func packets(_ sender: Sender, _ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var bench = try SoundBench(sender.name, clock: sender.clock, sender.parameters)
    var ticks: Int64 = 0
    var lost = 0
    for _ in 0..<5000 {
      var payload = sender.payloads[random.integer(below: sender.payloads.count)]
      switch random.integer(below: 8) {
      case 0: payload = Array(payload.prefix(random.integer(below: payload.count + 1)))
      case 1...2: payload[random.integer(below: payload.count)] = UInt8(random.integer(below: 256))
      case 3: payload = random.bytes(random.integer(below: 60))
      default: break
      }
      switch random.integer(below: 20) {
      case 0: ticks = Int64(truncatingIfNeeded: random.next()) >> random.integer(below: 60)
      case 1...12: ticks = ticks &+ 1024
      default: break
      }
      let gap = random.integer(below: 20) == 0 ? random.number(upTo: 3) : 0
      lost += gap
      bench.push(
        payload, at: ticks, marker: random.integer(below: 4) > 0, lost: gap,
        isDiscontinuity: random.integer(below: 300) == 0)
      if random.integer(below: 500) == 0 { bench.flush() }
    }
    bench.flush()
    let statistics = bench.statistics
    #expect(statistics.isBalanced && statistics.packets == 5000)
    #expect(statistics.lostPackets == UInt64(lost))
    #expect(statistics.units == UInt64(bench.units.count))
    #expect(bench.units.reduce(0) { $0 + $1.lostBefore } <= lost)
    for unit in bench.units {
      if unit.bytes.readableBytes == 0 || unit.sampleCount <= 0
        || unit.firstArrival > unit.lastArrival
      {
        Issue.record("\(unit)")
      }
    }
  }

  @Test("No bytes make the readers of configurations trap", arguments: UInt64(1)...4)
  func configurations(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let seeds = AudioConfigurationTests.rows.map { bytes($0.hex) } + [bytes("400026203fc0")]
    for _ in 0..<20_000 {
      var bytes = seeds[random.integer(below: seeds.count)] + random.bytes(random.integer(below: 9))
      for _ in 0..<random.integer(below: 5) {
        bytes[random.integer(below: bytes.count)] ^= UInt8(1 << random.integer(below: 8))
      }
      if let config = try? AudioSpecificConfig(parsing: ByteBuffer(bytes: bytes)) {
        if !(1...8).contains(config.channels) || config.samples <= 0 {
          // Doubled rates are the sender's own; anything else is not a number of samples.
          #expect(config.sampleRate < config.coreSampleRate, "\(config)")
        }
      }
      _ = try? StreamMuxConfig(parsing: ByteBuffer(bytes: bytes))
      _ = ADTSHeader(at: ByteBuffer(bytes: bytes))?.configuration
      var element = ByteBuffer(bytes: bytes)
      _ = try? AudioMuxElement(reading: &element, with: nil, isInBand: true)
    }
  }
}
