/// How the blocks of a picture moved since the picture before it, estimated from the samples.
///
/// libavcodec exports motion vectors for H.264 only, and has none for a picture that is missing.
/// Whole-sample vectors for blocks of 16 × 16 are precise enough to conceal a loss.
struct MotionField {
  /// The offset, in samples, from a block in the newer picture to its place in the older one.
  struct Vector: Hashable {
    var x: Int
    var y: Int

    static let zero = Vector(x: 0, y: 0)

    /// Whether both are the same motion, within the error of a whole-sample search.
    func resembles(_ other: Vector) -> Bool { abs(x - other.x) + abs(y - other.y) <= 2 }
  }

  static let blockSize = 16
  /// The search range in samples: an object that crosses a 1080p picture in a second moves this far
  /// in one frame.
  private static let reach = 64
  /// A block whose mean difference per sample is at most this stands still: it is camera noise.
  private static let stillness = 2

  let columns: Int
  let rows: Int
  private var vectors: [Vector]

  /// Estimates the motion from `older` to `newer`, which must have the same size.
  init<Sample>(from older: SamplePlane<Sample>, to newer: SamplePlane<Sample>, bitDepth: Int) {
    columns = newer.width / Self.blockSize
    rows = newer.height / Self.blockSize
    vectors = Array(repeating: .zero, count: columns * rows)
    let still = (Self.stillness * Self.blockSize * Self.blockSize) << max(bitDepth - 8, 0)
    for row in 0..<rows {
      for column in 0..<columns {
        let search = BlockSearch(older: older, newer: newer, column: column, row: row)
        vectors[row * columns + column] = search.best(
          candidates: [
            vector(column: column - 1, row: row), vector(column: column, row: row - 1),
            vector(column: column + 1, row: row - 1),
          ], still: still)
      }
    }
  }

  /// The motion of a block; zero outside the picture.
  private func vector(column: Int, row: Int) -> Vector {
    guard column >= 0, column < columns, row >= 0, row < rows else { return .zero }
    return vectors[row * columns + column]
  }

  /// Where in the newer picture the block at `x`, `y` of the next one comes from, if motion
  /// continues.
  ///
  /// A moving block covers a still one: if a nearby block is about to arrive here, it wins.
  func source(x: Int, y: Int) -> Vector {
    let (column, row) = (x / Self.blockSize, y / Self.blockSize)
    let own = vector(column: column, row: row)
    for distance in 0...2 {
      for nearRow in row - distance...row + distance {
        let isEdge = nearRow == row - distance || nearRow == row + distance
        let step = isEdge || distance == 0 ? 1 : 2 * distance
        for nearColumn in stride(from: column - distance, through: column + distance, by: step) {
          let near = vector(column: nearColumn, row: nearRow)
          guard near != .zero else { continue }
          let there = vector(
            column: (x + near.x) / Self.blockSize, row: (y + near.y) / Self.blockSize)
          if there.resembles(near) { return near }
        }
      }
    }
    return own
  }

  /// The search for one block: starts at the best candidate and refines it in ever smaller steps.
  private struct BlockSearch<Sample: FixedWidthInteger & UnsignedInteger & Sendable> {
    let older: SamplePlane<Sample>
    let newer: SamplePlane<Sample>
    let column: Int
    let row: Int

    func best(candidates: [Vector], still: Int) -> Vector {
      let standing = difference(at: .zero, limit: .max)
      guard standing > still else { return .zero }
      var (best, least) = (Vector.zero, standing)
      func consider(_ vector: Vector) {
        guard isInside(vector) else { return }
        let difference = difference(at: vector, limit: least)
        if difference < least { (best, least) = (vector, difference) }
      }
      for candidate in candidates where candidate != .zero { consider(candidate) }
      for step in [16, 8, 4, 2, 1] {
        for _ in 0..<4 {
          let centre = best
          consider(Vector(x: centre.x - step, y: centre.y))
          consider(Vector(x: centre.x + step, y: centre.y))
          consider(Vector(x: centre.x, y: centre.y - step))
          consider(Vector(x: centre.x, y: centre.y + step))
          if best == centre { break }
        }
      }
      // Noise alone can make a vector look slightly better.
      return least < standing - standing / 4 ? best : .zero
    }

    private func isInside(_ vector: Vector) -> Bool {
      let x = column * blockSize + vector.x
      let y = row * blockSize + vector.y
      return abs(vector.x) <= reach && abs(vector.y) <= reach && x >= 0 && y >= 0
        && x + blockSize <= older.width && y + blockSize <= older.height
    }

    private func difference(at vector: Vector, limit: Int) -> Int {
      let (x, y) = (column * blockSize, row * blockSize)
      return newer.difference(
        x: x, y: y, to: older, x: x + vector.x, y: y + vector.y, size: blockSize, limit: limit)
    }
  }
}
