import Bitstream
import RTPWire

/// The times of pictures that are sent as soon as they are whole, matched to them in decoding
/// order.
///
/// How much later than it is decoded a picture is shown follows from its picture order count at
/// once: from how far that is from the count of the first picture of its sequence. A sequence
/// begins with an IDR picture, and with memory management control operation 5. Nothing waits for
/// the pictures that are shown before it.
struct PictureTimes {
  /// The most that a picture is shown before or after its turn: 16 frames, the largest buffer.
  private static let farthest = 32
  /// Counts that are compared to find how far they are apart.
  private static let memory = 32
  /// So many pictures of a sequence show how far their counts are apart.
  private static let enough = 8

  private var pace: FramePace
  /// How much the counts of consecutive frames differ, once that is known.
  private var step: Int?
  private var recent: [Int] = []
  /// The count that is shown first, and fields decoded since.
  private var base = 0
  private var decoded = 0
  private var isReordered = false
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
    let offset = offset(of: order, fields: Int(fields))
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

  /// How many fields later than it is decoded the picture is shown.
  private mutating func offset(of order: PictureOrder?, fields: Int) -> Int {
    defer { decoded += fields }
    guard let order else { return 0 }
    if order.beginsSequence {
      learn()
      (base, decoded, recent) = (order.count, 0, [])
    }
    note(order)
    guard !order.isDecodingOrder, order.reorderDepth != 0 else { return 0 }
    let step = step ?? order.usualStep
    let offset = (order.count &- base) &* 2 / max(1, step) &- decoded
    if (-Self.farthest...Self.farthest).contains(offset) { return offset }
    // A part of the stream is missing, or it was joined in its middle.
    base = order.count &- decoded &* step / 2
    return 0
  }

  /// Two frames cannot be closer together than the step.
  private mutating func note(_ order: PictureOrder) {
    guard order.field == nil else { return }
    let nearest = recent.map { Int(clamping: ($0 &- order.count).magnitude) }.filter { $0 > 0 }
      .min()
    if let nearest, nearest < step ?? order.usualStep { step = nearest }
    recent.append(order.count)
    if recent.count > Self.memory { recent.removeFirst() }
  }

  /// What a whole sequence shows: counts may also be farther apart than usual.
  private mutating func learn() {
    guard recent.count >= Self.enough else { return }
    let sorted = recent.sorted()
    step = zip(sorted, sorted.dropFirst()).map { $1 &- $0 }.filter { $0 > 0 }.min() ?? step
  }
}
