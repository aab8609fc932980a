import Bitstream
import RTPWire

/// The times of pictures that are sent as soon as they are whole, matched to them in decoding
/// order.
struct PictureTimes {
  private var pace: FramePace
  private var delay = DisplayDelay()
  /// The latest time so far.
  private var latest: Int64?
  /// What is added to the times, so that none comes twice.
  private var shift: Int64 = 0

  /// - Parameters:
  ///   - framesPerSecond: the rate, or `nil` for the usual one.
  ///   - isFixed: whether the rate is kept even if pictures come at another.
  init(framesPerSecond: Double?, isFixed: Bool) {
    pace = FramePace(framesPerSecond: framesPerSecond, isFixed: isFixed)
  }

  /// The times of the next picture in decoding order, which came at `arrival`; in ticks of 90 kHz.
  mutating func place(
    _ order: PictureOrder?, fields: Int64, at arrival: Int64
  ) -> (presentation: Int64, decoding: Int64) {
    let offset = delay.next(order, fields: Int(fields))
    var decoding = pace.next(fields: fields, at: arrival).addingSaturating(shift)
    if order?.beginsSequence ?? true, let latest, decoding <= latest {
      // Lost pictures leave holes in the counts, and what follows must not be shown among them.
      let step = latest.addingSaturating(pace.interval).subtractingSaturating(decoding)
      shift = shift.addingSaturating(step)
      decoding = decoding.addingSaturating(step)
    }
    let presentation = decoding.addingSaturating(Int64(offset) * pace.interval / 2)
    latest = max(latest ?? presentation, presentation)
    return (presentation, decoding)
  }
}
