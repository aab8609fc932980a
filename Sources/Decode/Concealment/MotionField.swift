/// Where the blocks of a picture come from in an earlier one, estimated from the samples.
///
/// libavcodec exports motion vectors for H.264 only, and only if it does so for every picture.
struct MotionField {
  static let blockSize = 16

  let columns: Int
  let rows: Int
  /// From a block to its place in the earlier picture; `nil` where it was not looked for.
  private(set) var vectors: [MotionVector?]
  /// The sum of absolute differences of each block.
  private(set) var differences: [Int]

  /// Looks in `older` for those blocks of `newer`, of the same size, that `isWanted` names.
  init<Sample>(
    of newer: SamplePlane<Sample>, in older: SamplePlane<Sample>, bitDepth: Int,
    where isWanted: (_ column: Int, _ row: Int) -> Bool
  ) {
    let size = Self.blockSize
    (columns, rows) = (newer.width / size, newer.height / size)
    vectors = Array(repeating: nil, count: columns * rows)
    differences = Array(repeating: 0, count: columns * rows)
    var latest = MotionVector.zero
    for row in 0..<rows {
      for column in 0..<columns where isWanted(column, row) {
        let near = [
          vector(column: column - 1, row: row), vector(column: column, row: row - 1),
          vector(column: column + 1, row: row - 1), latest,
        ]
        var search = BlockSearch(
          of: newer, in: older, x: column * size, y: row * size, bitDepth: bitDepth)
        latest = search.find(near: near.compactMap { $0 })
        vectors[row * columns + column] = latest
        differences[row * columns + column] = search.difference
      }
    }
  }

  /// `nil` outside the picture, and where it was not looked for.
  func vector(column: Int, row: Int) -> MotionVector? {
    guard column >= 0, column < columns, row >= 0, row < rows else { return nil }
    return vectors[row * columns + column]
  }

  /// The mean difference of a sample in a block that was looked for.
  func difference(column: Int, row: Int) -> Double {
    Double(differences[row * columns + column]) / Double(Self.blockSize * Self.blockSize)
  }

  /// The middle of all vectors in each direction.
  var usual: MotionVector {
    let found = vectors.compactMap { $0 }
    guard !found.isEmpty else { return .zero }
    let middle = found.count / 2
    return MotionVector(
      x: found.map(\.x).sorted()[middle], y: found.map(\.y).sorted()[middle])
  }

  /// Replaces each vector by the mean of those nearby that resemble it: what moves together moves
  /// smoothly, and each was found with an error.
  mutating func smooth() {
    let (radius, likeness) = (2, 12)
    var result = vectors
    for row in 0..<rows {
      for column in 0..<columns {
        guard let own = vectors[row * columns + column] else { continue }
        var sum = MotionSum()
        // Only pairs on opposite sides, so that a slope remains what it is.
        for down in 0...radius {
          for right in (down == 0 ? 0 : -radius)...radius {
            guard let one = vector(column: column + right, row: row + down),
              let other = vector(column: column - right, row: row - down),
              one.distance(to: own) <= likeness, other.distance(to: own) <= likeness
            else { continue }
            sum.add(one)
            sum.add(other)
          }
        }
        result[row * columns + column] = sum.mean ?? own
      }
    }
    vectors = result
  }
}
