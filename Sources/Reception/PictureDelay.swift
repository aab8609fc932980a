import RTPWire

/// The least delay of pictures, which come in the order in which they are decoded.
///
/// RTP says when a picture is shown, and where there are B pictures, others come long before that.
/// By how much says nothing about the network: a file is sent at the pace of the decoding times, as
/// is whatever has passed a muxer, which puts sound and pictures in that order. There, the delay
/// behind the decoding time counts. An encoder whose pictures leave as they are made cannot be
/// early: it waits for the picture that the B pictures before it refer to, and makes these in one
/// go. There, that picture's delay behind its own time counts.
///
/// The rhythm tells them apart. At the pace of the decoding times, the picture that is earliest
/// before it is shown is so by all of the time from decoding to showing it; behind an encoder, by
/// half of that at most.
struct PictureDelay: Sendable {
  /// If the first ones are in order, sound waits for no more of them.
  private static let firstPictures = 5
  /// The most pictures that may precede one in decoding order and follow it in output order, in any
  /// stream (H.264 §E.2.1, H.265 §7.4.3.2.1).
  private static let greatestDepth = 16
  /// Some cameras go back once, by a picture; streams with B pictures do so all the time.
  private static let longestMemory: Duration = .seconds(10)

  /// By their own times, and by those of decoding.
  private var shown = LeastDelay()
  private var decoded = LeastDelay()
  /// The times of the last pictures in the order of presentation, the latest first.
  private var latest: [MediaTime] = []
  /// How many pictures come before one that is shown earlier, and when that was last seen.
  private var depth = 0
  private var lastDepth = Instant(nanoseconds: 0)
  /// Whether the picture behind the first B pictures has come.
  private var hasRhythm = false

  /// The newest time.
  var last: MediaTime? { shown.last }

  /// Nanoseconds.
  var least: Int64? {
    guard let shown = shown.least, let decoded = decoded.least else { return nil }
    let early = decoded.nanoseconds.subtractingSaturating(shown.nanoseconds)
    return early >= shown.lead / 4 * 3 ? decoded.nanoseconds : shown.nanoseconds
  }

  /// Whether the first pictures have shown in what order they come.
  var isOrderKnown: Bool { depth > 0 ? hasRhythm : latest.count >= Self.firstPictures }

  /// Whether the times leap with this one, further than the arrivals explain.
  func leaps(to time: MediaTime, arrival: Instant) -> Bool {
    shown.leaps(to: time, arrival: arrival)
  }

  /// Notes what came.
  mutating func note(_ time: MediaTime, arrival: Instant) {
    if leaps(to: time, arrival: arrival) { self = PictureDelay() }
    let decodingTime = decodingTime(of: time, arrival: arrival)
    shown.note(
      time, arrival: arrival,
      lead: time.nanoseconds.subtractingSaturating(decodingTime.nanoseconds))
    decoded.note(decodingTime, arrival: arrival)
  }

  /// When the picture shown at `time` is decoded: when the one is shown that is as many places
  /// before the latest as pictures are reordered.
  private mutating func decodingTime(of time: MediaTime, arrival: Instant) -> MediaTime {
    var place = latest.firstIndex { $0.nanoseconds <= time.nanoseconds } ?? latest.endIndex
    // No stream reorders as much: its times have gone back.
    if place > Self.greatestDepth { (self, place) = (PictureDelay(), 0) }
    latest.insert(time, at: place)
    if latest.count > Self.greatestDepth + 1 { latest.removeLast() }
    if place > depth || depth > 0 && lastDepth.duration(to: arrival) > Self.longestMemory {
      // What was noted was noted by other decoding times.
      (shown, decoded) = (LeastDelay(), LeastDelay())
      (depth, hasRhythm) = (place, false)
    } else if place == 0, depth > 0 {
      hasRhythm = true
    }
    if place == depth { lastDepth = arrival }
    return latest[min(depth, latest.count - 1)]
  }
}
