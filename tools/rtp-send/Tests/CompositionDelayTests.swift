import Testing

@testable import RTPSend

@Suite struct CompositionDelayTests {
  /// When pictures are shown after they are decoded, in decoding order; `nil` where a time is
  /// missing.
  @Test(
    arguments: [
      ("without reordering", [0], 0, true),
      ("a pyramid of B pictures", [2, 5, 2, 0], 0, true),
      ("shown before it is decoded", [-1], 0, true),
      ("seconds more than reordering needs", [92, 95, 92, 90, 92], 90, false),
      ("the same without reordering", [90, 90, 90], 90, false),
      ("times that come late", [nil, nil, 92, 90], 90, false),
      ("no times", [nil], 0, false),
    ] as [(String, [Int64?], Int64, Bool)])
  func whatReorderingDoesNotNeed(
    what: String, differences: [Int64?], ticks: Int64, isKnown: Bool
  ) {
    var delay = CompositionDelay()
    for (index, difference) in differences.enumerated() {
      let decoding = Int64(index) * 10
      delay.note(presentation: difference.map { $0 + decoding }, decoding: decoding)
    }
    #expect(delay.isKnown == isKnown, "\(what)")
    delay.settle()
    #expect(delay.ticks == ticks && delay.isKnown, "\(what)")
  }

  /// Otherwise a whole film would be read before it is sent.
  @Test func noMorePicturesAreReadAheadThanReorderingCanSpan() {
    var delay = CompositionDelay()
    for number in 1...Int64(CompositionDelay.enough) {
      #expect(!delay.isKnown)
      delay.note(presentation: number + 90, decoding: number)
    }
    #expect(delay.isKnown)
    // A film that begins without B pictures.
    delay.note(presentation: 1040, decoding: 1000)
    #expect(delay.ticks == 40)
  }

  /// They come from a file.
  @Test func extremeTimesDoNotTrap() {
    var delay = CompositionDelay()
    delay.note(presentation: .max, decoding: .min)
    #expect(delay.ticks == .max)
    delay.note(presentation: .min, decoding: .max)
    #expect(delay.ticks == 0)
  }
}
