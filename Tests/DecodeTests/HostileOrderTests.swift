import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Decode

/// Picture order counts that no encoder sends.
@Suite struct HostileOrderTests {
  /// `pic_order_cnt_type` 1 with the largest step there is, so that each number of a frame adds as
  /// much to the count as the standard allows altogether (H.264 §8.2.1.2).
  private enum Leaps {
    /// Baseline profile, 208 × 16 pixels.
    static var sequenceParameterSet: [UInt8] {
      var bits = BitWriter()
      bits.u(24, 66 << 16 | 10)
      for value in [0, 12, 1] { bits.ue(value) }
      bits.u(1, 1)
      // The last one is se(v): 2^31 - 1, the only offset of the cycle.
      for value in [0, 0, 1, 2 * Int(Int32.max) - 1, 1] { bits.ue(value) }
      bits.u(1, 0)
      bits.ue(12)
      bits.ue(0)
      bits.u(4, 0b1100)
      return bits.nalUnit(header: 0x67)
    }

    static func slice(frame: Int, isIDR: Bool) -> [UInt8] {
      var bits = BitWriter()
      bits.ue(0)
      bits.ue(isIDR ? 7 : 5)
      bits.ue(0)
      bits.u(16, frame)
      if isIDR { bits.ue(0) }
      bits.u(isIDR ? 2 : 3, 0)
      bits.ue(0)
      return bits.nalUnit(header: isIDR ? 0x65 : 0x61)
    }
  }

  @Test func countsThatLeaveTheRangeOfTheStandardAreNoOrder() {
    var reader = H264.PictureReader()
    for set in [Leaps.sequenceParameterSet, BitWriter.pictureParameterSet()] {
      reader.take(parameterSet: ByteBuffer(bytes: set))
    }
    let frames = [(0, true), (1, false), (2, false), (65_535, false), (0, false), (0, true)]
    let counts = frames.map { frame, isIDR in
      reader.order(of: [ByteBuffer(bytes: Leaps.slice(frame: frame, isIDR: isIDR))])?.count
    }
    #expect(counts == [0, Int(Int32.max), nil, nil, nil, 0])
  }

  @Test(arguments: fuzzSeeds)
  func anyCountsOfTheRangeArePlaced(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var timeline = PictureTimeline()
    var output = OutputOrder<Int>()
    var wait = RandomAccessWait(VideoDecoder.Configuration())
    var shown: [Int] = []
    for number in 0..<2000 {
      let order = anyOrder(&random)
      _ = timeline.position(of: order)
      output.insert(
        number,
        at: order.map {
          OutputOrder.Place(order: $0, time: Int64(number), isBehindLoss: random.uniform() < 0.1)
        })
      while let next = output.next() { shown.append(next) }
      #expect(number - shown.count <= 17)
      let unit = AccessUnit(
        codec: .testH264, bytes: ByteBuffer(), units: [],
        time: MediaTime(ticks: Int64(number), timescale: 90_000),
        firstArrival: Instant(nanoseconds: 0), lastArrival: Instant(nanoseconds: 0),
        isRandomAccess: random.uniform() < 0.1)
      if wait.admits(unit, at: order) { wait.noteDecoding(of: unit, at: order) }
      if random.uniform() < 0.1 { wait.restart() }
    }
    output.close()
    while let next = output.next() { shown.append(next) }
    #expect(shown.sorted() == Array(0..<2000))
  }

  private func anyOrder(_ random: inout SeededGenerator) -> PictureOrder? {
    let ends = [PictureOrder.counts.lowerBound, PictureOrder.counts.upperBound, 0]
    var order = PictureOrder(
      count: random.integer(below: 2) == 0
        ? ends[random.integer(below: 3)] : Int.random(in: PictureOrder.counts, using: &random))
    order.beginsSequence = random.uniform() < 0.05
    order.isBidirectional = random.uniform() < 0.1
    order.field = random.uniform() < 0.05 ? .bottom : nil
    order.reorderDepth = random.uniform() < 0.9 ? nil : random.integer(below: 17)
    order.isDecodingOrder = random.uniform() < 0.02
    return random.uniform() < 0.02 ? nil : order
  }
}
