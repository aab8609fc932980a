import RTPWire

/// How much later than a file says all of its pictures can be decoded, and none is late to be
/// shown.
///
/// Reordering wants pictures decoded before they are shown. Some writers add seconds to that for
/// all pictures alike (an MP4 whose `ctts` has 3 s in it), and by their decoding times pictures
/// would be sent that long before the sound that belongs to them.
struct CompositionDelay {
  /// So many pictures show what reordering needs: two times the largest buffer, which has 16
  /// frames.
  static let enough = 32

  /// The least difference so far between when a picture is shown and when it is decoded.
  private var least: Int64?
  private var count = 0
  /// Whether enough pictures were seen.
  private(set) var isKnown = false

  /// The delay in the unit of the times, at least 0, as far as the pictures so far show it; it can
  /// only shrink.
  var ticks: Int64 { max(0, least ?? 0) }

  /// Takes the times of the next picture in decoding order, as far as it has any, in any unit.
  mutating func note(presentation: Int64?, decoding: Int64?) {
    count += 1
    if let presentation, let decoding {
      let difference = presentation.subtractingSaturating(decoding)
      least = min(least ?? difference, difference)
    }
    // A picture that is shown when it is decoded leaves nothing to find.
    if count >= Self.enough || least.map({ $0 <= 0 }) ?? false { settle() }
  }

  /// Has what is known do, because no more pictures come.
  mutating func settle() { isKnown = true }
}
