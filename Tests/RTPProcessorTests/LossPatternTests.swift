import RTPWire
import Testing

@testable import RTPProcessor

/// RFC 3611 §4.7.2: bursts, and the gaps between them.
struct LossPatternTests {
  /// Plays packets a millisecond apart: `true` came, `false` was lost.
  private func pattern(_ packets: [Bool]) -> LossPattern {
    var pattern = LossPattern()
    var lost: UInt64 = 0
    for (number, came) in packets.enumerated() {
      guard came else {
        lost += 1
        continue
      }
      if lost > 0 { pattern.noteLoss(of: lost) }
      lost = 0
      pattern.noteArrival(Instant(nanoseconds: Int64(number) * 1_000_000))
    }
    return pattern
  }

  @Test("packets lost far from one another are no burst")
  func single() {
    let losses = pattern(
      (0..<10).flatMap { _ in [false] + Array(repeating: true, count: 20) })
    #expect(losses.bursts == 0)
    #expect(losses.gapLost == 10)
    #expect(losses.burstDensity == 0)
  }

  @Test("losses with fewer than sixteen packets between them are one burst")
  func burst() {
    let before = Array(repeating: true, count: 30)
    let between = Array(repeating: true, count: 15)
    let losses = pattern(before + [false] + between + [false, false] + before)
    #expect(losses.bursts == 1)
    #expect(losses.burstPackets == 18)
    #expect(losses.burstLost == 3)
    #expect(losses.greatestBurst == 3)
    #expect(losses.gapLost == 0)
    #expect(losses.gapPackets == 30)
    // From the packet before the first loss to the one after the last.
    #expect(losses.meanBurstDuration == 19)
    #expect(losses.meanGapDuration == 29)
  }

  @Test("what has come since the last loss is in a gap")
  func goesOn() {
    let losses = pattern(
      Array(repeating: true, count: 30) + [false] + Array(repeating: true, count: 1000))
    #expect(losses.settled.gapPackets == 1031)
    #expect(losses.settled.gapLost == 1)
  }

  @Test("sixteen packets between two losses part them")
  func parted() {
    let between = Array(repeating: true, count: 16)
    let losses = pattern(between + [false] + between + [false] + between)
    #expect(losses.bursts == 0)
    #expect(losses.gapLost == 2)
  }
}
