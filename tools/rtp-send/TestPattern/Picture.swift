/// A picture in memory, 8-bit 4:2:0, and the few shapes that the test pattern is made of.
package struct Picture: Sendable, Equatable {
  /// Samples; even.
  package let width: Int
  package let height: Int
  package private(set) var luma: [UInt8]
  /// The two chroma planes, half as wide and half as high.
  package private(set) var cb: [UInt8]
  package private(set) var cr: [UInt8]

  /// A colour in limited-range YCbCr.
  struct Colour {
    var luma: UInt8
    var cb: UInt8 = 128
    var cr: UInt8 = 128
  }

  /// A black picture; sizes are rounded down to even numbers.
  init(width: Int, height: Int) {
    self.width = max(2, width & ~1)
    self.height = max(2, height & ~1)
    luma = Array(repeating: 16, count: self.width * self.height)
    cb = Array(repeating: 128, count: self.width * self.height / 4)
    cr = cb
  }

  /// Fills what of a rectangle lies inside the picture.
  mutating func fill(x: Int, y: Int, width: Int, height: Int, _ colour: Colour) {
    let columns = max(0, x)..<max(0, x, min(self.width, x + width))
    let rows = max(0, y)..<max(0, y, min(self.height, y + height))
    for row in rows {
      for column in columns { luma[row * self.width + column] = colour.luma }
    }
    fillChroma(rows: rows, columns: columns, colour)
  }

  /// Fills a disc, shaded as if lit from the upper left when `isShaded`.
  mutating func fillDisc(
    x: Int, y: Int, radius: Int, _ colour: Colour, isShaded: Bool = false
  ) {
    for row in max(0, y - radius)..<max(0, y - radius, min(height, y + radius + 1)) {
      let offset = row - y
      let half = Int(Double(max(0, radius * radius - offset * offset)).squareRoot())
      let columns = max(0, x - half)..<max(0, x - half, min(width, x + half + 1))
      for column in columns {
        let shade = isShaded ? (offset + column - x) * 60 / max(1, radius) : 0
        luma[row * width + column] = UInt8(clamping: min(235, max(16, Int(colour.luma) - shade)))
      }
      fillChroma(rows: row..<row + 1, columns: columns, colour)
    }
  }

  /// Sets one row's luma from a function of the column, grey.
  mutating func fillGrey(rows: Range<Int>, _ level: (Int) -> UInt8) {
    let levels = (0..<width).map(level)
    for row in rows.clamped(to: 0..<height) {
      for column in 0..<width { luma[row * width + column] = levels[column] }
    }
    fillChroma(rows: rows.clamped(to: 0..<height), columns: 0..<width, Colour(luma: 0))
  }

  private mutating func fillChroma(rows: Range<Int>, columns: Range<Int>, _ colour: Colour) {
    guard !rows.isEmpty, !columns.isEmpty else { return }
    for row in rows.lowerBound / 2...(rows.upperBound - 1) / 2 {
      for column in columns.lowerBound / 2...(columns.upperBound - 1) / 2 {
        cb[row * (width / 2) + column] = colour.cb
        cr[row * (width / 2) + column] = colour.cr
      }
    }
  }
}
