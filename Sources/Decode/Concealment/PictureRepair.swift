/// Fills what is lost of a picture with what an earlier one shows, moved on.
struct PictureRepair<Sample: PictureSample> {
  /// An earlier picture, all planes of it.
  typealias Planes = [SamplePlane<Sample>]

  private let target: Planes
  private let area: LostArea
  private let past: Planes
  private let format: PixelFormat
  private var bitDepth: Int { format.bitDepth }
  private var expected: ExpectedMotion
  private var brightness = Brightness.unchanged
  /// What came shows nothing that the picture before shows.
  private var isCut = false

  /// Estimates how `target` moved since `past`.
  ///
  /// `area` is what is lost of it, and `before` a picture shown before `past`. The time from `past`
  /// to `target` is `ratio` times that from `before` to `past`.
  init(
    of target: Planes, in area: LostArea, from past: Planes, and before: Planes?, ratio: Double,
    format: PixelFormat
  ) {
    (self.target, self.area, self.past, self.format) = (target, area, past, format)
    let (luma, pastLuma, bitDepth) = (target[0], past[0], format.bitDepth)
    let surroundings = Surroundings(of: area, width: luma.width, height: luma.height)
    var earlier: MotionField?
    var usual: Brightness?
    if let before = before?[0] {
      let change = Brightness(from: before, to: pastLuma, besides: nil, bitDepth: bitDepth)
      let best = Self.field(of: pastLuma, in: before, [change], bitDepth) {
        surroundings.isNear($0, $1)
      }
      earlier = best.field
      usual = best.brightness?.continued(for: ratio)
    }
    earlier?.smooth()
    expected = ExpectedMotion(in: area, continuing: earlier, ratio: ratio)
    guard surroundings.count > 0 else {
      brightness = usual ?? .unchanged
      return
    }
    let change = Brightness(from: pastLuma, to: luma, besides: area, bitDepth: bitDepth)
    var seen = Self.field(of: luma, in: pastLuma, [change, usual], bitDepth) {
      surroundings.contains($0, $1)
    }
    brightness = seen.brightness ?? .unchanged
    isCut = Self.isStrange(luma, seen.field)
    seen.field.smooth()
    expected.correct(by: seen.field, in: area)
  }

  /// The motion from `older` to `newer`, with the change of brightness that explains more.
  private static func field(
    of newer: SamplePlane<Sample>, in older: SamplePlane<Sample>, _ changes: [Brightness?],
    _ bitDepth: Int, where isWanted: (Int, Int) -> Bool
  ) -> (field: MotionField, brightness: Brightness?) {
    func sample(_ older: SamplePlane<Sample>) -> Int {
      MotionField(of: newer, in: older, bitDepth: bitDepth) { column, row in
        column % 4 == 1 && row % 2 == 0 && isWanted(column, row)
      }.differences.reduce(0, +)
    }
    var best: Brightness?
    let changes = changes.compactMap { $0 }
    var least = changes.isEmpty ? 0 : sample(older) * 9 / 10
    for change in changes {
      let difference = older.withBrightness(change, bitDepth: bitDepth, sample)
      if difference < least { (least, best) = (difference, change) }
    }
    guard let best else {
      return (MotionField(of: newer, in: older, bitDepth: bitDepth, where: isWanted), nil)
    }
    return older.withBrightness(best, bitDepth: bitDepth) {
      (MotionField(of: newer, in: $0, bitDepth: bitDepth, where: isWanted), best)
    }
  }

  /// Whether most blocks of `field` differ more from what was found for them than from grey.
  private static func isStrange(_ plane: SamplePlane<Sample>, _ field: MotionField) -> Bool {
    var (strange, count) = (0, 0)
    for row in 0..<field.rows {
      for column in 0..<field.columns where field.vector(column: column, row: row) != nil {
        let size = MotionField.blockSize
        let detail = plane.deviation(x: column * size, y: row * size, size: size)
        count += 1
        if field.differences[row * field.columns + column] > detail + 3 * size * size {
          strange += 1
        }
      }
    }
    return count >= 16 && strange * 10 > count * 6
  }

  /// Fills all that is lost.
  func fill() {
    for (index, plane) in target.enumerated() {
      let shift = format.shift(of: index)
      if isCut {
        plane.spread(into: area, shift: shift)
      } else {
        fill(
          plane, from: past[index], shift: shift,
          brightness: index == 0 ? brightness : .unchanged)
      }
    }
  }

  private func fill(
    _ plane: SamplePlane<Sample>, from source: SamplePlane<Sample>,
    shift: (width: Int, height: Int), brightness: Brightness
  ) {
    let (width, height) = (LostArea.cellSize >> shift.width, LostArea.cellSize >> shift.height)
    var cell = PredictedCell(from: source, shift: shift, bitDepth: bitDepth)
    let most = (1 << bitDepth) - 1
    for row in 0..<min(area.rows, (plane.height + height - 1) / height) {
      for column in 0..<min(area.columns, (plane.width + width - 1) / width)
      where area[column, row] {
        cell.predict(column: column, row: row, by: expected, in: area)
        if !brightness.isUnchanged { cell.change { brightness($0, most: Double(most)) } }
        for y in 0..<min(height, plane.height - row * height) {
          let line = unsafe plane.start + ((row * height + y) * plane.stride + column * width)
          for x in 0..<min(width, plane.width - column * width) {
            unsafe line[x] = Sample(truncatingIfNeeded: cell.rows[y][x])
          }
        }
      }
    }
  }
}

/// The blocks that came near what is lost.
private struct Surroundings {
  private let columns: Int
  private let rows: Int
  private var cameNear: [Bool]
  private var near: [Bool]
  private(set) var count = 0

  init(of area: LostArea, width: Int, height: Int) {
    let size = MotionField.blockSize
    (columns, rows) = (width / size, height / size)
    cameNear = Array(repeating: false, count: columns * rows)
    near = cameNear
    let reach = 5
    for row in 0..<rows {
      for column in 0..<columns where area.touches(column: column, row: row) {
        for nearRow in max(row - reach, 0)...min(row + reach, rows - 1) {
          for nearColumn in max(column - 2, 0)...min(column + 2, columns - 1) {
            near[nearRow * columns + nearColumn] = true
          }
        }
      }
    }
    for row in 0..<rows {
      for column in 0..<columns
      where near[row * columns + column] && !area.touches(column: column, row: row) {
        cameNear[row * columns + column] = true
        count += 1
      }
    }
  }

  /// Whether a block came.
  func contains(_ column: Int, _ row: Int) -> Bool { cameNear[row * columns + column] }

  /// Whether a block is lost or near.
  func isNear(_ column: Int, _ row: Int) -> Bool { near[row * columns + column] }
}
