/// Which parts of a picture are lost, in cells of 8 × 8 luma samples.
///
/// libavcodec does not say which it has decoded. So a pattern is put into the picture before, which
/// no decoder leaves: where it still is, nothing came. No filter takes it for part of an edge to be
/// smoothed either.
struct LostArea {
  static let cellSize = 8

  let columns: Int
  let rows: Int
  private var cells: [Bool]

  /// All of a picture of this size, or nothing of it.
  init(width: Int, height: Int, isLost: Bool) {
    columns = (width + Self.cellSize - 1) / Self.cellSize
    rows = (height + Self.cellSize - 1) / Self.cellSize
    cells = Array(repeating: isLost, count: columns * rows)
  }

  /// What is lost of a picture that was marked before it was decoded.
  init<Sample>(of plane: SamplePlane<Sample>, bitDepth: Int) {
    self.init(width: plane.width, height: plane.height, isLost: false)
    for row in 0..<rows {
      for column in 0..<columns {
        // Filters of H.264 and H.265 change three samples at an edge.
        cells[row * columns + column] = plane.isChequered(
          x: column * Self.cellSize + 3, y: row * Self.cellSize + 3, size: Self.cellSize - 6,
          bitDepth: bitDepth)
      }
    }
  }

  var isEmpty: Bool { !cells.contains(true) }

  /// False outside of the picture.
  subscript(column: Int, row: Int) -> Bool {
    get {
      column >= 0 && column < columns && row >= 0 && row < rows && cells[row * columns + column]
    }
    set { cells[row * columns + column] = newValue }
  }

  /// Whether part of a block of motion is lost.
  func touches(column: Int, row: Int) -> Bool {
    self[2 * column, 2 * row] || self[2 * column + 1, 2 * row]
      || self[2 * column, 2 * row + 1] || self[2 * column + 1, 2 * row + 1]
  }
}

extension SamplePlane {
  /// Fills what is lost with `value`.
  func fill(_ area: LostArea, with value: Sample, shift: (width: Int, height: Int)) {
    for row in 0..<height {
      let line = unsafe start + row * stride
      for column in 0..<width
      where area[
        (column << shift.width) / LostArea.cellSize, (row << shift.height) / LostArea.cellSize]
      {
        unsafe line[column] = value
      }
    }
  }

  /// Fills the plane with the smallest and the largest sample in turn, in both directions.
  func chequer(bitDepth: Int) {
    let most = Sample(truncatingIfNeeded: (1 << bitDepth) - 1)
    for row in 0..<height {
      let line = unsafe start + row * stride
      for column in 0..<width { unsafe line[column] = (row ^ column) & 1 == 0 ? 0 : most }
    }
  }

  /// Whether a square still holds that pattern; only what lies inside of the plane counts.
  fileprivate func isChequered(x: Int, y: Int, size: Int, bitDepth: Int) -> Bool {
    let most = Sample(truncatingIfNeeded: (1 << bitDepth) - 1)
    let (x, y) = (min(x, width - 1), min(y, height - 1))
    for row in y..<min(y + size, height) {
      let line = unsafe start + row * stride
      for column in x..<min(x + size, width) {
        guard unsafe line[column] == ((row ^ column) & 1 == 0 ? 0 : most) else { return false }
      }
    }
    return true
  }
}
