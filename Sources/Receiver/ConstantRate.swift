import Bitstream
import Decode
import Defragment
import Outputs
import RTPWire

/// Fills every frame interval of the media with exactly one frame.
struct ConstantRate {
  /// What to output: the previous frame repeated for each empty interval, then a frame.
  struct Placement {
    let repeated: RawFrame?
    let times: [MediaTime]
    let frame: RawFrame?
  }

  /// A longer pause is a new beginning and is not filled.
  static let longestPause = 3600.0
  /// How many frames show the rate of a stream that does not give it, and whether its times are in
  /// order.
  private static let observedFrames = 5
  /// How many intervals a frame may be early or late before one is dropped or repeated: cameras'
  /// times are not exact.
  private static let tolerance = 0.9
  private static let plausibleRates = 1.0...1000.0
  /// How many seconds the media may move more than the time that went by, or move back, before it
  /// is a new beginning.
  ///
  /// Networks and servers hold packets back that long; a forged timestamp leaps further, or leaps
  /// again and again (``RepeatAllowance``).
  static let longestLead = 5.0

  /// The first frames; later, as many as may be out of order.
  private var waiting: [RawFrame] = []
  private var hasBegun = false
  /// The times of the waiting frames.
  ///
  /// Programs that mux an elementary stream with B pictures in its order, such as FFmpeg with `-c
  /// copy`, give each picture the time of another. The earliest of the waiting times is the right
  /// one.
  private var times: [MediaTime] = []
  private var isDisordered = false
  private var raster: Raster?
  private var observedRate: Double?
  /// For all rasters: a sender begins as many as it likes.
  private var allowance = RepeatAllowance()

  /// The frame intervals, from some frame on.
  private struct Raster {
    let rate: Double
    let origin: MediaTime
    /// The interval of the next frame.
    var next = 0
    var last: RawFrame

    func position(of time: MediaTime) -> Double { (time.seconds - origin.seconds) * rate }

    func time(of interval: Int) -> MediaTime {
      let ticks = Double(interval) / rate * Double(origin.timescale)
      return MediaTime(
        ticks: origin.ticks.addingSaturating(Int64(ticks.rounded())), timescale: origin.timescale)
    }
  }

  /// Takes the next decoded frame and returns what to output.
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

  /// Returns what still waits, after the last frame.
  mutating func finish() -> [Placement] {
    if !hasBegun { begin() }
    var placements: [Placement] = []
    while !waiting.isEmpty { placements += placeFirst() }
    return placements
  }

  /// Determines the rate, if the stream does not give it.
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
    // Cameras also declare rates such as 90000; then the times decide.
    let declared = frame.frameRate?.value
    let isPlausible = declared.map(Self.plausibleRates.contains) ?? false
    let rate = (isPlausible ? declared : nil) ?? raster?.rate ?? observedRate
    allowance.note(frame.lastArrival)
    guard var raster else {
      begin(with: frame, at: time, rate: rate)
      return Placement(repeated: nil, times: [], frame: frame)
    }
    let lag = raster.position(of: time) - Double(raster.next)
    let step = lag / raster.rate
    guard step >= -Self.longestLead, step <= allowance.seconds(at: raster.rate) else {
      begin(with: frame, at: time, rate: rate)
      return Placement(repeated: nil, times: [], frame: frame)
    }
    guard lag >= -Self.tolerance else { return Placement(repeated: nil, times: [], frame: nil) }
    let missing = lag > Self.tolerance ? Int(lag.rounded()) : 0
    let repeated = raster.last
    let times = (raster.next..<raster.next + missing).map(raster.time)
    allowance.take(missing, at: raster.rate)
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
