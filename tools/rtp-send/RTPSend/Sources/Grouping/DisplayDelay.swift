import Bitstream

/// How much later than they are decoded pictures are shown, matched to them in decoding order.
///
/// This follows from a picture's order count at once: from how far that is from the count of the
/// first picture of its sequence. A sequence begins with an IDR picture, and with memory management
/// control operation 5. Nothing waits for the pictures that are shown before it.
struct DisplayDelay {
  /// The most that a picture is shown before or after its turn: 16 frames, the largest buffer.
  private static let farthest = 32
  /// Counts that are compared to find how far they are apart.
  private static let memory = 32
  /// So many pictures of a sequence show how far their counts are apart.
  private static let enough = 8

  /// How much the counts of consecutive frames differ, once that is known.
  private var step: Int?
  private var recent: [Int] = []
  /// The count that is shown first, and fields decoded since.
  private var base = 0
  private var decoded = 0

  /// How many fields later than it is decoded the next picture is shown; it lasts `fields`.
  mutating func next(_ order: PictureOrder?, fields: Int) -> Int {
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
