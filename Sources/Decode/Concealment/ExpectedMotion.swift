/// Where the cells of a picture come from in the picture before, by what is known of its motion.
struct ExpectedMotion {
  let columns: Int
  let rows: Int
  private(set) var vectors: [MotionVector]

  /// Continues `field`, the motion between two earlier pictures, for `ratio` times as long.
  ///
  /// Without it, nothing moves.
  init(in area: LostArea, continuing field: MotionField?, ratio: Double) {
    (columns, rows) = (area.columns, area.rows)
    vectors = Array(repeating: .zero, count: columns * rows)
    if let field { moveOn(field, ratio: ratio) }
  }

  subscript(column: Int, row: Int) -> MotionVector { vectors[row * columns + column] }

  /// Puts the blocks of `field` where they arrive; of several, the one that covers more of a cell
  /// and was found with more certainty counts.
  private mutating func moveOn(_ field: MotionField, ratio: Double) {
    let (cell, block) = (
      LostArea.cellSize * MotionVector.unit, MotionField.blockSize * MotionVector.unit
    )
    let usual = field.usual.scaled(by: ratio)
    var weights = [Double](repeating: 0, count: columns * rows)
    for row in 0..<field.rows {
      for column in 0..<field.columns {
        guard let vector = field.vector(column: column, row: row)?.scaled(by: ratio) else {
          continue
        }
        let (x, y) = (column * block - vector.x, row * block - vector.y)
        // What moves unlike most is in front.
        let isInFront = vector.distance(to: usual) > MotionVector.unit
        let certainty =
          (isInFront ? 3 : 1) / (2 + field.difference(column: column, row: row))
        for cellRow in max(y / cell, 0)..<max(min((y + block) / cell + 1, rows), max(y / cell, 0)) {
          for cellColumn in max(
            x / cell, 0)..<max(min((x + block) / cell + 1, columns), max(x / cell, 0))
          {
            let width = min(x + block, (cellColumn + 1) * cell) - max(x, cellColumn * cell)
            let height = min(y + block, (cellRow + 1) * cell) - max(y, cellRow * cell)
            guard width > 0, height > 0 else { continue }
            let weight = Double(width * height) * certainty
            let index = cellRow * columns + cellColumn
            if weight > weights[index] { (weights[index], vectors[index]) = (weight, vector) }
          }
        }
      }
    }
    fillGaps(where: weights.map { $0 == 0 })
    takeOutOutliers()
  }

  /// What moves apart leaves cells open: they move as the cells before them.
  private mutating func fillGaps(where isOpen: [Bool]) {
    for index in vectors.indices where isOpen[index] {
      let column = index % columns
      if column > 0 {
        vectors[index] = vectors[index - 1]
      } else if index >= columns {
        vectors[index] = vectors[index - columns]
      }
    }
    for index in vectors.indices.reversed() where isOpen[index] && vectors[index] == .zero {
      if index % columns < columns - 1 { vectors[index] = vectors[index + 1] }
    }
  }

  /// Replaces each vector by the one among its neighbours that is closest to all of them.
  private mutating func takeOutOutliers() {
    let given = vectors
    var around: [MotionVector] = []
    around.reserveCapacity(9)
    var sums = [Int](repeating: 0, count: 9)
    for row in 0..<rows {
      for column in 0..<columns {
        around.removeAll(keepingCapacity: true)
        for nearRow in max(row - 1, 0)...min(row + 1, rows - 1) {
          for nearColumn in max(column - 1, 0)...min(column + 1, columns - 1) {
            around.append(given[nearRow * columns + nearColumn])
          }
        }
        let own = given[row * columns + column]
        guard around.contains(where: { $0.distance(to: own) > 4 }) else { continue }
        for index in around.indices { sums[index] = 0 }
        for index in around.indices {
          for other in around.indices.dropFirst(index + 1) {
            let distance = around[index].distance(to: around[other])
            sums[index] &+= distance
            sums[other] &+= distance
          }
        }
        var best = 0
        for index in around.indices where sums[index] < sums[best] { best = index }
        vectors[row * columns + column] = around[best]
      }
    }
  }

  /// Takes into account how the motion of what came, `seen`, differs from what was expected.
  ///
  /// A camera that turns or shakes moves everything: what comes shows how. What stood still while
  /// everything moved belongs to no scene, such as the time in a corner.
  mutating func correct(by seen: MotionField, in area: LostArea) {
    var changes: [(change: MotionVector, column: Int, row: Int)] = []
    for row in 0..<seen.rows {
      for column in 0..<seen.columns {
        guard let vector = seen.vector(column: column, row: row) else { continue }
        changes.append((vector - self[2 * column, 2 * row], column, row))
      }
    }
    guard changes.count >= 4 else { return }
    let middle = changes.count / 2
    let usual = MotionVector(
      x: changes.map(\.change.x).sorted()[middle], y: changes.map(\.change.y).sorted()[middle])
    let spread = changes.map { $0.change.distance(to: usual) }.sorted()[middle]
    let likely = changes.filter { $0.change.distance(to: usual) <= 8 + 3 * spread }
    let motion = vectors.map { $0.distance(to: .zero) }.sorted()[vectors.count / 2]
    let local = LocalChanges(likely, columns: seen.columns, rows: seen.rows, usual: usual)
    for row in 0..<seen.rows {
      for column in 0..<seen.columns
      where area.touches(column: column, row: row)
        || seen.vector(column: column, row: row) != nil
      {
        let change = local.change(column: column, row: row)
        for cellRow in 2 * row..<min(2 * row + 2, rows) {
          for cellColumn in 2 * column..<min(2 * column + 2, columns) {
            let index = cellRow * columns + cellColumn
            if motion > 8, vectors[index].distance(to: .zero) <= 2 { continue }
            vectors[index] = vectors[index] + change
          }
        }
      }
    }
  }
}

/// How motion changes from place to place: as nearby, and as everywhere where nothing is nearby.
private struct LocalChanges {
  private let columns: Int
  private let rows: Int
  private let usual: MotionVector
  private var changes: [MotionVector?]

  init(
    _ changes: [(change: MotionVector, column: Int, row: Int)], columns: Int, rows: Int,
    usual: MotionVector
  ) {
    (self.columns, self.rows, self.usual) = (columns, rows, usual)
    self.changes = Array(repeating: nil, count: columns * rows)
    for (change, column, row) in changes { self.changes[row * columns + column] = change }
  }

  func change(column: Int, row: Int) -> MotionVector {
    var sum = MotionSum()
    sum.add(usual, weight: 0.15)
    for nearRow in max(row - 6, 0)..<max(min(row + 7, rows), max(row - 6, 0)) {
      for nearColumn in max(column - 3, 0)..<max(min(column + 4, columns), max(column - 3, 0)) {
        guard let change = changes[nearRow * columns + nearColumn] else { continue }
        let distance =
          (nearColumn - column) * (nearColumn - column) + (nearRow - row) * (nearRow - row)
        sum.add(change, weight: 1 / Double(distance + 1))
      }
    }
    return sum.mean ?? usual
  }
}
