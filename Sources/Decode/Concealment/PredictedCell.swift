/// The samples that a cell of a plane is predicted to have.
struct PredictedCell<Sample: PictureSample> {
  private let source: SamplePlane<Sample>
  private let shift: (width: Int, height: Int)
  private var interpolation: Interpolation<Sample>
  /// Of a plane with less samples, the first ones are used.
  var rows = [SIMD8<Int32>](repeating: SIMD8(), count: 8)
  private var others = [SIMD8<Int32>](repeating: SIMD8(), count: 8)
  private var sums = [SIMD8<Int32>](repeating: SIMD8(), count: 8)

  let width: Int
  let height: Int

  init(from source: SamplePlane<Sample>, shift: (width: Int, height: Int), bitDepth: Int) {
    (self.source, self.shift) = (source, shift)
    (width, height) = (LostArea.cellSize >> shift.width, LostArea.cellSize >> shift.height)
    interpolation = Interpolation(bitDepth: bitDepth)
  }

  /// Predicts the cell in a column and a row of `area` by its motion, and by that of those lost
  /// around it.
  mutating func predict(column: Int, row: Int, by motion: ExpectedMotion, in area: LostArea) {
    let own = motion[column, row]
    let cell = LostArea.cellSize * MotionVector.unit
    let (x, y) = (column * cell, row * cell)
    interpolation.predict(
      &rows, from: source, x: (x + own.x) >> shift.width, y: (y + own.y) >> shift.height)
    guard shift == (0, 0) else { return }
    func neighbour(_ column: Int, _ row: Int) -> MotionVector {
      guard area[column, row] else { return own }
      let vector = motion[column, row]
      // Less is not seen.
      return vector.distance(to: own) > 1 ? vector : own
    }
    let (above, below) = (neighbour(column, row - 1), neighbour(column, row + 1))
    let (left, right) = (neighbour(column - 1, row), neighbour(column + 1, row))
    if above == own, below == own, left == own, right == own { return }
    for row in 0..<8 { sums[row] = rows[row] &* OverlappedCells.own[row] &+ 4 }
    func add(_ vector: MotionVector, _ weights: [SIMD8<Int32>]) {
      if vector == own {
        for row in 0..<8 { sums[row] &+= rows[row] &* weights[row] }
      } else {
        interpolation.predict(&others, from: source, x: x + vector.x, y: y + vector.y)
        for row in 0..<8 { sums[row] &+= others[row] &* weights[row] }
      }
    }
    add(above, OverlappedCells.above)
    add(below, OverlappedCells.below)
    add(left, OverlappedCells.left)
    add(right, OverlappedCells.right)
    for row in 0..<8 { rows[row] = sums[row] &>> 3 }
  }

  /// Changes each sample.
  mutating func change(_ change: (Int32) -> Int32) {
    for row in 0..<8 { for column in 0..<8 { rows[row][column] = change(rows[row][column]) } }
  }
}
