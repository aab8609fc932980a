import Bitstream
import Decode
import Defragment
import Outputs
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
  /// How many frames tell the rate of a stream that does not say it, and whether its times are in
  /// order.
  private static let observedFrames = 5
  /// A frame may be so many intervals early or late before one is left out or shown again: the
  /// times of cameras are not exact.
  private static let tolerance = 0.9
  private static let plausibleRates = 1.0...1000.0

  /// The first frames, and later as many as may be out of order.
  private var waiting: [RawFrame] = []
  private var hasBegun = false
  /// The times of the frames that wait.
  ///
  /// Whoever muxes an elementary stream with B pictures by its order, as FFmpeg does with `-c
  /// copy`, gives each picture the time of another: of the times that wait the first is right.
  private var times: [MediaTime] = []
  private var isDisordered = false
  private var raster: Raster?
  private var observedRate: Double?

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
    if let last = times.last ?? raster?.last.time, frame.time.ticks < last.ticks {
      isDisordered = true
    }
    waiting.append(frame)
    times.append(frame.time)
    if !hasBegun {
      guard waiting.count >= Self.observedFrames else { return [] }
      begin()
    }
    var placements: [Placement] = []
    while waiting.count >= (isDisordered ? Self.observedFrames : 1) { placements += placeFirst() }
    return placements
  }

  /// What still waits when no more frames will come.
  mutating func finish() -> [Placement] {
    if !hasBegun { begin() }
    var placements: [Placement] = []
    while !waiting.isEmpty { placements += placeFirst() }
    return placements
  }

  /// Finds out the rate, if the stream does not say it.
  private mutating func begin() {
    hasBegun = true
    let sorted = times.sorted { $0.ticks < $1.ticks }
    let distances = zip(sorted, sorted.dropFirst())
      .map { $1.seconds - $0.seconds }.filter { $0 > 0 }.sorted()
    observedRate = distances.isEmpty ? nil : 1 / distances[(distances.count - 1) / 2]
  }

  private mutating func placeFirst() -> [Placement] {
    guard let earliest = times.indices.min(by: { times[$0].ticks < times[$1].ticks }),
      !waiting.isEmpty
    else { return [] }
    let frame = waiting.removeFirst()
    return [placeAtOnce(frame, at: times.remove(at: earliest))]
  }

  private mutating func placeAtOnce(_ frame: RawFrame, at time: MediaTime) -> Placement {
    // Cameras declare rates such as 90000 too, in which case the times tell.
    let declared = frame.frameRate?.value
    let isPlausible = declared.map(Self.plausibleRates.contains) ?? false
    let rate = (isPlausible ? declared : nil) ?? raster?.rate ?? observedRate
    guard var raster else {
      begin(with: frame, at: time, rate: rate)
      return Placement(repeated: nil, times: [], frame: frame)
    }
    let lag = raster.position(of: time) - Double(raster.next)
    guard abs(lag) <= Self.longestPause * raster.rate else {
      begin(with: frame, at: time, rate: rate)
      return Placement(repeated: nil, times: [], frame: frame)
    }
    guard lag >= -Self.tolerance else { return Placement(repeated: nil, times: [], frame: nil) }
    let missing = lag > Self.tolerance ? Int(lag.rounded()) : 0
    let repeated = raster.last
    let times = (raster.next..<raster.next + missing).map(raster.time)
    raster.next += missing + 1
    raster.last = frame
    self.raster = raster
    if rate != raster.rate { begin(with: frame, at: time, rate: rate) }
    return Placement(repeated: repeated, times: times, frame: frame)
  }

  private mutating func begin(with frame: RawFrame, at time: MediaTime, rate: Double?) {
    guard let rate, Self.plausibleRates.contains(rate) else {
      raster = nil
      return
    }
    raster = Raster(rate: rate, origin: time, next: 1, last: frame)
  }
}
