import Bitstream
import Defragment
import Impairment
import NIOCore
import RTPProcessor
import RTPSend
import RTPWire
import Receiver
import Reception
import Testing

/// The whole core on a virtual clock, after networks that lose, reorder and duplicate.
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
    Network("5 % reordered by up to 190") { $0.reordering = .init(probability: 0.05, depth: 190) },
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

  /// Every complete access unit is exact, and no incomplete one is called whole.
  @Test(arguments: networks, [RTPSend.Codec.h264, .h265])
  func whatComesIsExact(network: Network, codec: RTPSend.Codec) throws {
    for seed in UInt64(1)...2 {
      let sent = SyntheticStream(codec: codec, accessUnits: 200, seed: seed)
      let datagrams = Self.datagrams(of: sent, through: network.impairments, seed: seed)
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

  /// An overhead of 20 %, with a packet in a hundred lost: 99 of 100 access units come whole.
  @Test(arguments: UInt64(1)...10)
  func correctionLeavesLittleMissing(seed: UInt64) throws {
    let codec: RTPSend.Codec = seed.isMultiple(of: 2) ? .h264 : .h265
    let correction = RTPStream.Correction(payloadType: 97, interval: 5)
    let sent = SyntheticStream(codec: codec, accessUnits: 400, seed: seed, correction: correction)
    var impairments = Impairments()
    impairments.loss = 0.01
    let datagrams = Self.datagrams(of: sent, through: impairments, seed: seed)
    let playback = try Playback(datagrams, media: sent.media)
    let reception = playback.stream.reception
    #expect(reception.isBalanced)
    #expect(reception.recovered > 0)
    let whole = playback.accessUnits.filter { $0.integrity == .whole }
    for unit in whole {
      #expect(unit.nalUnits == sent.units[unit.time.ticks - sent.firstTicks])
    }
    #expect(whole.count >= 396)
    let media = UInt64(sent.packets.count) * 5 / 6
    #expect(reception.delivered >= media * 99 / 100)
  }

  /// What comes out of a network into which a packet goes every millisecond.
  private static func datagrams(
    of sent: SyntheticStream, through impairments: Impairments, seed: UInt64
  ) -> [Datagram] {
    var simulator = NetworkSimulator(impairments, seed: seed)
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
    return datagrams
  }
}
