import NIOCore
import RTPProcessor
import RTPWire
import TestSupport
import Testing

/// Packets that were only late, and came after correction or a retransmission had filled their
/// places: nothing was lost.
struct OvertakenTests {
  private static func protect(
    _ media: [ByteBuffer], in stream: inout CorrectedStream, _ format: CorrectionFormat,
    timestamp: UInt32
  ) {
    switch format {
    case .ulpfec:
      stream.sendCorrection(
        [.init(packets: media, length: media.longest)], timestamp: timestamp)
    case .flexfec, .flexfecDraft:
      stream.sendFlexFEC(media, isDraft: format == .flexfecDraft)
    }
  }

  @Test(
    "with reordering alone, nothing was lost, and nothing counts as repaired",
    arguments: [CorrectionFormat.ulpfec, .flexfec, .flexfecDraft], UInt64(1)...8)
  func reorderingAlone(format: CorrectionFormat, seed: UInt64) {
    var noise = SeededGenerator(seed: seed)
    var stream = CorrectedStream(seed: seed)
    for group in 0..<80 as Range<UInt32> {
      let media = stream.sendMedia(5, timestamp: group * 3000)
      Self.protect(media, in: &stream, format, timestamp: group * 3000)
    }
    // The first packets say where the stream begins.
    let places = stream.packets.indices.map { index in
      index < 2 || noise.integer(below: 8) > 0 ? index : index + 1 + noise.integer(below: 12)
    }
    let order = stream.packets.indices.sorted { (places[$0], $0) < (places[$1], $1) }
    let session = played(order.map { stream.packets[$0] }, format: format)
    let statistics = session.statistics
    #expect(statistics.delivered == 400)
    #expect(statistics.overtaken > 0)
    #expect(statistics.lost + statistics.repaired == 0)
    #expect(statistics.filled == statistics.overtaken)
    #expect(statistics.reordered >= statistics.overtaken)
    // Packets of ULPFEC have numbers of the media's, which may be closed before they come.
    if format != .ulpfec { #expect(statistics.duplicate == 0) }
    #expect(session.processor.reception.map { $0.expected - $0.received } == 0)
  }

  @Test("a packet that comes twice after its repair is overtaken once, and then a duplicate")
  func twice() {
    var stream = CorrectedStream(seed: 1)
    let media = stream.sendMedia(6, timestamp: 0)
    Self.protect(media, in: &stream, .ulpfec, timestamp: 0)
    let correction = stream.packets[6]
    let next = stream.sendMedia(2, timestamp: 3000)
    var packets = media
    packets.remove(at: 3)
    let statistics = played(packets + [correction, media[3], media[3]] + next).statistics
    #expect((statistics.delivered, statistics.filled, statistics.repaired) == (8, 1, 0))
    #expect((statistics.overtaken, statistics.duplicate, statistics.reordered) == (1, 1, 1))
  }

  @Test("so it is where the rebuilt packet still waits for an earlier one")
  func whileItWaits() {
    var stream = CorrectedStream(seed: 2)
    let first = stream.sendMedia(4, timestamp: 0)
    let media = stream.sendMedia(4, timestamp: 3000)
    Self.protect(media, in: &stream, .ulpfec, timestamp: 3000)
    let correction = stream.packets[8]
    let packets =
      [first[0], first[1], first[3], media[0], media[2], media[3], correction]
      + [media[1], media[1], first[2]]
    let session = played(packets)
    let statistics = session.statistics
    #expect((statistics.delivered, statistics.filled, statistics.repaired) == (8, 1, 0))
    #expect((statistics.overtaken, statistics.duplicate, statistics.lost) == (1, 1, 0))
    #expect(session.deliveries.allSatisfy { !$0.packet.isRepaired })
  }

  @Test("what never comes itself stays repaired")
  func lost() {
    var stream = CorrectedStream(seed: 3)
    let media = stream.sendMedia(6, timestamp: 0)
    Self.protect(media, in: &stream, .ulpfec, timestamp: 0)
    var packets = stream.packets
    packets.remove(at: 3)
    let statistics = played(packets).statistics
    #expect((statistics.filled, statistics.repaired, statistics.overtaken) == (1, 1, 0))
  }

  @Test("with retransmissions too", arguments: UInt64(1)...5)
  func retransmissions(seed: UInt64) {
    var noise = SeededGenerator(seed: seed)
    var network = RepairingNetwork(seed: seed, answers: .inOwnStream, loss: 0)
    // One is lost, so that it is known where the answers come.
    for number in 0..<100 { network.sendOne(isLost: number == 20) }
    // Later than an answer takes, before it is known that packets come so late.
    network.send(lateness: 80)
    for _ in 0..<500 {
      network.send(lateness: noise.integer(below: 8) == 0 ? Int64(noise.integer(below: 90)) : 0)
      for _ in 0..<2 { network.step() }
    }
    for _ in 0..<500 { network.step() }
    let statistics = network.session.statistics
    #expect(statistics.delivered == 601)
    #expect((statistics.lost, statistics.repaired) == (0, 1))
    #expect(statistics.overtaken > 0)
  }
}
