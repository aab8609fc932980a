import Bitstream

/// Numbers pictures in output order, across the sequences in which picture order counts restart.
///
/// The numbers of pictures shown one after the other differ by the same, unless pictures are
/// missing.
struct PictureTimeline {
  /// What is added to the counts of this sequence.
  private var base = 0
  private var highest = 0
  /// The usual difference between two pictures.
  private var step = 2
  private var reorders = false

  /// More than the counts of a stream go back.
  private static let farthest = 64

  /// The number of the picture with this order, which is decoded next.
  mutating func position(of order: PictureOrder?) -> Int {
    guard let order, !order.isDecodingOrder else {
      highest += step
      return highest
    }
    // Slices of H.265 do not say by their type whether they are between others.
    reorders = reorders || order.isBidirectional || order.reorderDepth ?? 0 > 0
    var position = base + order.count
    let isRestart =
      order.beginsSequence || position <= highest && !reorders && order.field == nil
      || abs(position - highest) > Self.farthest * step
    if isRestart {
      position = highest + step
      base = position - order.count
    } else if position > highest {
      step = min(step, position - highest)
    }
    highest = max(highest, position)
    return position
  }
}
