#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The sound of the test pattern: a quiet tone, and at each full second of the pattern's clock a
/// loud click of 5 ms.
///
/// The click's first sample has full loudness and is the one whose time is nearest to that of the
/// first picture with the ``PatternFlash``. The first channel's tone has 1000 Hz, each further one
/// 200 Hz more.
public struct Tone: Sendable {
  /// Of full scale.
  public static let loudness: Float = 0.05
  public static let clickLoudness: Float = 0.6
  /// The frequency of the click, in hertz.
  static let clickFrequency = 2000.0

  let samplingRate: Int
  let channels: Int
  /// Samples in a second of the pattern's clock.
  private let rate: Double
  private let clickLength: Int64
  /// The sample after the last one; `nil` for no end.
  let end: Int64?

  /// Makes the sound of `seconds` of the pattern, or without end.
  ///
  /// A `deviation` of 200 makes 200 millionths more samples than `samplingRate` says, as a sound
  /// card does whose clock is fast.
  public init(samplingRate: Int, channels: Int, deviation: Double = 0, seconds: Double? = nil) {
    self.samplingRate = max(1, samplingRate)
    self.channels = max(1, channels)
    rate = Double(self.samplingRate) * (1 + deviation / 1_000_000)
    clickLength = Int64(self.samplingRate / 200)
    let rate = rate
    end = seconds.map { Int64(clamping: ($0 * rate).rounded()) }
  }

  /// The samples in `range`, interleaved, from -1 to 1.
  public func samples(_ range: Range<Int64>) -> [Float] {
    var samples: [Float] = []
    samples.reserveCapacity(range.count * channels)
    for index in range {
      // Half a sample further, this second's click has begun, if this is its first sample.
      let second = ((Double(index) + 0.5) / rate).rounded(.down)
      let place = index - Int64(clamping: (second * rate).rounded())
      if second >= 0, (0..<clickLength).contains(place) {
        let value = Self.clickLoudness * Self.wave(place, Self.clickFrequency, samplingRate)
        samples.append(contentsOf: repeatElement(value, count: channels))
      } else {
        // A second has a whole number of waves.
        let place = index % Int64(samplingRate)
        for channel in 0..<channels {
          let frequency = 1000 + 200 * Double(channel)
          samples.append(Self.loudness * Self.wave(place, frequency, samplingRate))
        }
      }
    }
    return samples
  }

  private static func wave(_ place: Int64, _ frequency: Double, _ samplingRate: Int) -> Float {
    Float(cos(2 * .pi * frequency * Double(place) / Double(samplingRate)))
  }
}
