import RTPWire

/// A part of a source that a client asks for, and how fast.
struct Passage: Sendable, Hashable {
  /// Nanoseconds from the beginning of the source; `nil` to go on where it stopped.
  var start: Int64?
  /// `nil` for the end of the source.
  var end: Int64?
  /// Seconds of the source in a second of the stream: twice as many timestamps pass by at 0.5.
  var scale = 1.0
  /// How much faster the stream is sent than its timestamps say.
  var speed = 1.0

  /// A client that asks for more or less gets the nearest: frames are never left out.
  static let scales = 0.125...8.0
  static let speeds = 0.125...16.0
}

/// How the times of a source become those of its stream.
///
/// After a seek they go on behind what was sent before, and a scale spreads them.
struct Timeline: Sendable, Hashable {
  /// The source's time, in nanoseconds, that has the time ``stream`` in the stream.
  var source: Int64 = 0
  var stream: Int64 = 0
  var scale = 1.0

  /// The ticks in the stream of `ticks` in the source.
  func ticks(_ ticks: Int64, of clock: MediaClock) -> Int64 {
    guard self != Timeline() else { return ticks }
    let distance = ticks.subtractingSaturating(clock.ticks(of: source))
    let spread = scale == 1 ? distance : Int64(clamping: (Double(distance) / scale).rounded())
    return clock.ticks(of: stream).addingSaturating(spread)
  }

  func stream(of time: Int64) -> Int64 {
    let distance = Double(time.subtractingSaturating(source)) / scale
    return stream.addingSaturating(Int64(clamping: distance))
  }

  func source(of time: Int64) -> Int64 {
    let distance = Double(time.subtractingSaturating(stream)) * scale
    return source.addingSaturating(Int64(clamping: distance))
  }
}

/// Where a passage really begins, and with which packets.
struct PassageBeginning: Sendable, Hashable {
  /// Nanoseconds from the beginning of the source; `nil` where the source has none.
  var start: Int64?
  var end: Int64?
  var scale = 1.0
  var speed = 1.0
  /// By tracks: the number of the first packet that follows, and the timestamp of `start`.
  var packets: [Int: FirstPacket] = [:]
  /// Whether it is another part than the one before, so that what waits of that is left out.
  var isElsewhere = false

  struct FirstPacket: Sendable, Hashable {
    var sequence: UInt16
    var timestamp: UInt32
  }
}
