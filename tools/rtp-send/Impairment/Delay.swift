/// How long packets travel: a mean, and how it varies.
public struct Delay: Sendable, Hashable {
  /// In nanoseconds.
  public var mean: Int64 = 0
  /// In nanoseconds: the standard deviation, or with ``Distribution/uniform`` the most in either
  /// direction.
  public var jitter: Int64 = 0
  public var distribution = Distribution.normal
  /// How much a delay resembles the one before: 0 … 1.
  ///
  /// Mean and deviation stay as they are; a strong correlation makes any distribution resemble a
  /// normal one.
  public var correlation = 0.0
  /// Whether packets wait for those before them, as in a real queue.
  ///
  /// Otherwise jitter lets packets overtake one another.
  public var keepsOrder = true

  /// The longest delay and the largest jitter that can be asked for: a minute.
  public static let longest: Int64 = 60_000_000_000

  public init() {}

  /// The shape of the jitter, none of which goes further than ten deviations.
  public enum Distribution: String, Sendable, Hashable, CaseIterable {
    case uniform
    case normal
    /// Mostly a little early, sometimes very late.
    case pareto
    /// A quarter of a normal and three quarters of a pareto distribution, as in tc-netem.
    case paretonormal
  }

  /// A delay of normal distribution with this deviation and three times that as its mean, in which
  /// packets overtake one another.
  public static func disorderly(jitter: Int64) -> Delay {
    var delay = Delay()
    delay.mean = jitter * 3
    delay.jitter = jitter
    delay.keepsOrder = false
    return delay
  }
}
