public import Bitstream
public import RTPWire

/// Media time that runs with a clock, at a rate, and can be paused.
///
/// Times of the media are nanoseconds on its timeline. Nothing here reads the clock.
public struct Timebase: Sendable, Hashable {
  /// How fast the media runs: 2/1 is twice as fast as the clock; `nil` while it is paused.
  public private(set) var rate: Rational?
  private var anchor: Anchor
  private var rateBeforePause: Rational?

  /// A moment at which both times are known.
  private struct Anchor: Sendable, Hashable {
    var instant: Instant
    var media: Int64
  }

  /// Begins at `media` at `instant`, and runs at `rate`; `nil` begins paused.
  public init(at media: Int64, at instant: Instant, rate: Rational? = Rational(1, 1)) {
    anchor = Anchor(instant: instant, media: media)
    self.rate = rate
    rateBeforePause = rate
  }

  /// The time of the media at `instant`.
  public func media(at instant: Instant) -> Int64 {
    guard let rate else { return anchor.media }
    let elapsed = anchor.instant.nanoseconds(to: instant)
    return anchor.media.addingSaturating(
      Self.scaled(elapsed, rate.numerator, rate.denominator))
  }

  /// When the media is at `media`; `nil` while it is paused.
  public func instant(of media: Int64) -> Instant? {
    guard let rate else { return nil }
    let distance = media.subtractingSaturating(anchor.media)
    return anchor.instant.advanced(
      byNanoseconds: Self.scaled(distance, rate.denominator, rate.numerator))
  }

  /// Runs at `rate` from `instant` on, without a leap; `nil` pauses.
  public mutating func run(at rate: Rational?, from instant: Instant) {
    anchor = Anchor(instant: instant, media: media(at: instant))
    if let current = self.rate { rateBeforePause = current }
    self.rate = rate
  }

  /// Stops at `instant`, until ``resume(at:)``.
  public mutating func pause(at instant: Instant) { run(at: nil, from: instant) }

  /// Runs on at `instant` where it was paused, at the rate before that.
  public mutating func resume(at instant: Instant) {
    guard rate == nil else { return }
    run(at: rateBeforePause ?? Rational(1, 1), from: instant)
  }

  /// Leaps to `media` at `instant`.
  public mutating func set(_ media: Int64, at instant: Instant) {
    anchor = Anchor(instant: instant, media: media)
  }

  /// `value * numerator / denominator`, exact to the nanosecond; saturates.
  private static func scaled(
    _ value: Int64, _ numerator: UInt32, _ denominator: UInt32
  ) -> Int64 {
    guard numerator != denominator else { return value }
    let product = value.magnitude.multipliedFullWidth(by: UInt64(numerator))
    // The quotient fits only where the high part is below the divisor.
    guard product.high < UInt64(denominator) else { return value < 0 ? .min : .max }
    let quotient = UInt64(denominator).dividingFullWidth(product).quotient
    let clamped = Int64(clamping: quotient)
    return value < 0 ? -clamped : clamped
  }
}
