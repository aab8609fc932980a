import Decode
import Defragment
import RTPWire

/// Gives every frame interval of the media exactly one frame, whatever came.
struct ConstantRate {
  /// What is to be shown: an earlier frame again for each interval that is left over, then a frame.
  struct Placement {
    let repeated: RawFrame?
    let times: [MediaTime]
    let frame: RawFrame?
  }

  /// A longer pause is the start of something else, not to be filled.
  static let longestPause = 3600.0
  /// How many frames tell the rate of a stream that does not say it.
  private static let observedFrames = 5
  /// A frame may be so many intervals early or late before one is left out or shown again: the times of
  /// cameras are not exact.
  private static let tolerance = 0.9
  private static let plausibleRates = 1.0...1000.0

  /// Frames of a stream that does not say its rate, until they tell it.
  private var waiting: [RawFrame] = []
  private var raster: Raster?

  /// The intervals from some frame on.
  private struct Raster {
    let rate: Double
    let origin: MediaTime
    /// The interval that the next frame is due in.
    var next = 0
    var last: RawFrame

    func position(of time: MediaTime) -> Double { (time.seconds - origin.seconds) * rate }

    func time(of interval: Int) -> MediaTime {
      let ticks = Double(interval) / rate * Double(origin.timescale)
      return MediaTime(
        ticks: origin.ticks.addingSaturating(Int64(ticks.rounded())), timescale: origin.timescale)
    }
  }

  /// Puts `frame`, which has come out of the decoder, in its place.
  mutating func place(_ frame: RawFrame) -> [Placement] {
    if raster == nil, frame.frameRate == nil {
      waiting.append(frame)
      guard waiting.count >= Self.observedFrames else { return [] }
      return placeWaiting()
    }
    return placeWaiting() + [placeAtOnce(frame, rate: frame.frameRate?.value)]
  }

  /// What still waits when no more frames will come.
  mutating func finish() -> [Placement] { placeWaiting() }

  private mutating func placeWaiting() -> [Placement] {
    guard !waiting.isEmpty else { return [] }
    let frames = waiting
    waiting = []
    let distances = zip(frames, frames.dropFirst())
      .map { $1.time.seconds - $0.time.seconds }.filter { $0 > 0 }.sorted()
    let distance = distances.isEmpty ? 0 : distances[(distances.count - 1) / 2]
    let rate = distance > 0 ? 1 / distance : nil
    return frames.map { placeAtOnce($0, rate: rate) }
  }

  private mutating func placeAtOnce(_ frame: RawFrame, rate: Double?) -> Placement {
    guard var raster else {
      begin(with: frame, rate: rate)
      return Placement(repeated: nil, times: [], frame: frame)
    }
    let lag = raster.position(of: frame.time) - Double(raster.next)
    guard abs(lag) <= Self.longestPause * raster.rate else {
      begin(with: frame, rate: rate ?? raster.rate)
      return Placement(repeated: nil, times: [], frame: frame)
    }
    guard lag >= -Self.tolerance else { return Placement(repeated: nil, times: [], frame: nil) }
    let missing = lag > Self.tolerance ? Int(lag.rounded()) : 0
    let repeated = raster.last
    let times = (raster.next..<raster.next + missing).map(raster.time)
    raster.next += missing + 1
    raster.last = frame
    self.raster = raster
    if let rate, rate != raster.rate { begin(with: frame, rate: rate) }
    return Placement(repeated: repeated, times: times, frame: frame)
  }

  private mutating func begin(with frame: RawFrame, rate: Double?) {
    guard let rate, Self.plausibleRates.contains(rate) else {
      raster = nil
      return
    }
    raster = Raster(rate: rate, origin: frame.time, next: 1, last: frame)
  }
}
