extension H264 {
  /// Derives picture order counts (§8.2.1).
  struct OrderCounter: Sendable {
    /// The order counts of a picture's fields; one field alone may have arrived.
    struct Counts {
      var top: Int?
      var bottom: Int?

      /// `PicOrderCnt`.
      var lower: Int { min(top ?? bottom ?? 0, bottom ?? top ?? 0) }
    }

    /// `prevPicOrderCntMsb` and `prevPicOrderCntLsb`.
    private var previousHigh = 0
    private var previousLow = 0
    /// `prevFrameNum` and `prevFrameNumOffset`.
    private var previousFrameNumber = 0
    private var previousOffset = 0

    /// The counts of the next picture in decoding order.
    mutating func count(
      _ header: SliceHeader, resets: Bool, with sequence: CodingParameters
    ) -> Counts {
      let period = 1 << sequence.frameNumberBits
      let offset =
        header.isIDR
        ? 0 : previousFrameNumber > header.frameNumber ? previousOffset &+ period : previousOffset
      var counts: Counts
      var high = 0
      switch sequence.order {
      case .lowBits(let bits):
        if header.isIDR { (previousHigh, previousLow) = (0, 0) }
        high = self.high(of: header.orderLow, period: 1 << bits)
        let first = high + header.orderLow
        counts = Counts(top: first, bottom: first &+ (header.orderDifferences.first ?? 0))
      case .cycle(let cycle):
        counts = Self.counts(header, cycle, absolute: offset &+ header.frameNumber)
      case .decoding:
        let number = 2 &* (offset &+ header.frameNumber)
        let count = header.isIDR ? 0 : header.isReference ? number : number &- 1
        counts = Counts(top: count, bottom: count)
      }
      if header.field == .top { counts.bottom = nil }
      if header.field == .bottom { counts.top = nil }
      if resets {
        // From here on the picture counts as the first of those that follow (§8.2.1).
        let lower = counts.lower
        counts.top = counts.top.map { $0 &- lower }
        counts.bottom = counts.bottom.map { $0 &- lower }
        (previousHigh, previousLow) = (0, counts.top ?? 0)
        (previousFrameNumber, previousOffset) = (0, 0)
      } else {
        if header.isReference { (previousHigh, previousLow) = (high, header.orderLow) }
        (previousFrameNumber, previousOffset) = (header.frameNumber, offset)
      }
      return counts
    }

    /// `PicOrderCntMsb` (8-3).
    private func high(of low: Int, period: Int) -> Int {
      if low < previousLow, previousLow - low >= period / 2 { return previousHigh &+ period }
      if low > previousLow, low - previousLow > period / 2 { return previousHigh &- period }
      return previousHigh
    }

    /// §8.2.1.2.
    private static func counts(
      _ header: SliceHeader, _ cycle: CodingParameters.Cycle, absolute: Int
    ) -> Counts {
      var number = cycle.offsets.isEmpty ? 0 : absolute
      if !header.isReference, number > 0 { number -= 1 }
      var expected = 0
      if number > 0 {
        let (cycles, place) = (number - 1).quotientAndRemainder(dividingBy: cycle.offsets.count)
        expected = cycles &* cycle.offsets.reduce(0, &+)
        expected = cycle.offsets[...place].reduce(expected, &+)
      }
      if !header.isReference { expected = expected &+ cycle.offsetOfNonReference }
      let differences = header.orderDifferences
      let top = expected &+ (differences.first ?? 0)
      let second = differences.count > 1 ? differences[1] : 0
      return Counts(top: top, bottom: top &+ cycle.offsetFromTopToBottom &+ second)
    }
  }
}
