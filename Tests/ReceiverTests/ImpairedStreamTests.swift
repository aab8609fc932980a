import Defragment
import NIOCore
import RTPProcessor
import RTPSend
import RTPWire
import Receiver
import Testing

/// The whole core on a virtual clock, behind networks that lose, reorder and repeat.
struct ImpairedStreamTests {
  struct Network: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var impairments = Impairments()
    /// Whether everything comes in time, so that nothing may be missing.
    var isLossless = true

    init(_ name: String, isLossless: Bool = true, _ setUp: (inout Impairments) -> Void) {
      testDescription = name
      self.isLossless = isLossless
      setUp(&impairments)
    }
  }

  static let networks = [
    Network("in order") { _ in },
    Network("5 % reordered by up to 5") { $0.reordering = .init(probability: 0.05, depth: 5) },
    Network("30 % reordered by up to 60") { $0.reordering = .init(probability: 0.3, depth: 60) },
    Network("10 % duplicated") { $0.duplication = 0.1 },
    Network("garbage beside every fifth packet") { $0.garbage = 0.2 },
    Network("1 % lost", isLossless: false) { $0.loss = 0.01 },
    Network("20 % lost", isLossless: false) { $0.loss = 0.2 },
    Network("bursts of ten lost", isLossless: false) {
      $0.burstLoss = .init(probability: 0.03, meanLength: 10)
    },
    Network("everything at once", isLossless: false) {
      $0.loss = 0.03
      $0.reordering = .init(probability: 0.1, depth: 10)
      $0.duplication = 0.05
      $0.garbage = 0.05
    },
  ]

  /// Every access unit whose packets all came is exact, and none is called whole that is not.
  @Test(arguments: networks, [RTPSend.Codec.h264, .h265])
  func whatComesIsExact(network: Network, codec: RTPSend.Codec) throws {
    for seed in UInt64(1)...3 {
      let sent = SyntheticStream(codec: codec, accessUnits: 200, seed: seed)
      var simulator = NetworkSimulator(network.impairments, seed: seed)
      var now = Instant(nanoseconds: 0)
      var datagrams: [Datagram] = []
      func collect(until time: Instant) {
        while let release = simulator.release(by: time) {
          datagrams.append(Datagram(bytes: release.bytes, arrival: release.time))
        }
      }
      for packet in sent.packets {
        simulator.offer(packet, at: now)
        collect(until: now)
        now = now.advanced(byNanoseconds: 1_000_000)
      }
      simulator.finish(at: now)
      collect(until: now.advanced(by: .seconds(10)))

      let playback = try Playback(datagrams, media: sent.media)
      #expect(playback.stream.reception.isBalanced)
      var found = 0
      for unit in playback.accessUnits {
        let golden = try #require(sent.units[unit.time.ticks - sent.firstTicks])
        let units = unit.nalUnits
        if unit.integrity == .whole { #expect(units == golden) }
        for (entry, bytes) in zip(unit.units, units) where entry.isWhole {
          #expect(golden.contains(bytes))
        }
        if units == golden { found += 1 }
      }
      if network.isLossless {
        #expect(found == 200)
        #expect(playback.accessUnits.count == 200)
        #expect(playback.stream.reception.lost == 0)
      }
    }
  }
}
