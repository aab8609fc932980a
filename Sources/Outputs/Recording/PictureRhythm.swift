import Bitstream
import Defragment
import RTPWire

/// How many pictures a second a stream has, as far as its last pictures show it.
struct PictureRhythm: Sendable {
  /// The pictures that are looked at.
  private static let count = 48
  /// Fewer do not show it.
  private static let fewest = 8
  /// By how much a picture may be early or late, as a part of the time between two.
  private static let tolerance = 0.02
  /// How far a rate may be from a usual one that is meant.
  private static let closeness = 0.000_3

  private var timescale: UInt32 = 0
  private var times: [Int64] = []
  private var said: Rational?

  /// Takes the next picture in decoding order.
  mutating func note(_ unit: AccessUnit) {
    if let format = unit.format { said = format.frameRate }
    if unit.time.timescale != timescale {
      (timescale, times) = (unit.time.timescale, [])
    }
    times.append(unit.time.ticks)
    if times.count > Self.count { times.removeFirst() }
  }

  /// Whether more pictures would tell more.
  var isKnown: Bool { said != nil || times.count >= Self.fewest }

  /// What the stream says, unless its pictures show something else; `nil` where they follow each
  /// other unevenly.
  var rate: Rational? {
    guard times.count >= Self.fewest else { return said }
    let sorted = times.sorted()
    let steps = zip(sorted, sorted.dropFirst()).map { $1.subtractingSaturating($0) }.filter {
      $0 > 0
    }
    guard !steps.isEmpty else { return nil }
    let median = Double(steps.sorted()[steps.count / 2])
    let usual = steps.filter { abs(Double($0) - median) <= median * Self.tolerance }
    // Some are missing where pictures are lost, or are still to come where they are reordered.
    guard usual.count * 5 >= steps.count * 4 else { return nil }
    let shown = Double(timescale) * Double(usual.count) / usual.reduce(0) { $0 + Double($1) }
    if let said, abs(said.value / shown - 1) <= Self.tolerance { return said }
    return Self.usualRates(near: shown).first { abs($0.value / shown - 1) <= Self.closeness }
      ?? Rational(UInt32(clamping: Int64((shown * 1000).rounded())), 1000)
  }

  /// A whole rate, one of television with colour, and half a rate.
  private static func usualRates(near rate: Double) -> [Rational] {
    guard rate > 0.5, rate < 1_000_000 else { return [] }
    let whole = UInt32(rate.rounded())
    let candidates = [
      Rational(whole, 1), Rational(UInt32((rate * 1.001).rounded()) * 1000, 1001),
      Rational(UInt32((rate * 2).rounded()), 2),
    ]
    return candidates.compactMap(\.self)
  }
}
