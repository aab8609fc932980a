extension SamplePlane {
  /// Fills what is lost with what came around it, which becomes flatter with the distance.
  func spread(into area: LostArea, shift: (width: Int, height: Int)) {
    let (width, height) = (LostArea.cellSize >> shift.width, LostArea.cellSize >> shift.height)
    let (columns, rows) = (
      min(area.columns, (self.width + width - 1) / width),
      min(area.rows, (self.height + height - 1) / height)
    )
    var means = [Double](repeating: 0, count: columns * rows)
    var (sum, count) = (0.0, 0)
    for row in 0..<rows {
      for column in 0..<columns where !area[column, row] {
        let mean = mean(x: column * width, y: row * height, width: width, height: height)
        means[row * columns + column] = mean
        (sum, count) = (sum + mean, count + 1)
      }
    }
    guard count > 0 else { return }
    for index in means.indices where area[index % columns, index / columns] {
      means[index] = sum / Double(count)
    }
    // Each lost cell becomes the mean of its neighbours, again and again.
    for _ in 0..<24 {
      for row in 0..<rows {
        for column in 0..<columns where area[column, row] {
          let (left, right) = (max(column - 1, 0), min(column + 1, columns - 1))
          let (above, below) = (max(row - 1, 0), min(row + 1, rows - 1))
          means[row * columns + column] =
            (means[row * columns + left] + means[row * columns + right]
              + means[above * columns + column] + means[below * columns + column]) / 4
        }
      }
    }
    for row in 0..<rows {
      for column in 0..<columns where area[column, row] {
        let value = Sample(means[row * columns + column].rounded())
        for y in row * height..<min((row + 1) * height, self.height) {
          let line = unsafe start + (y * stride + column * width)
          for x in 0..<min(width, self.width - column * width) { unsafe line[x] = value }
        }
      }
    }
  }

  /// The mean of what of a block is inside the plane.
  private func mean(x: Int, y: Int, width: Int, height: Int) -> Double {
    var (sum, count) = (0, 0)
    for row in y..<min(y + height, self.height) {
      for column in x..<min(x + width, self.width) {
        unsafe sum += Int(start[row * stride + column])
        count += 1
      }
    }
    return count > 0 ? Double(sum) / Double(count) : 0
  }

  /// The sum of how far the samples of a block inside the plane are from their mean.
  func deviation(x: Int, y: Int, size: Int) -> Int {
    let mean = Int(mean(x: x, y: y, width: size, height: size).rounded())
    var sum = 0
    for row in y..<y + size {
      for column in x..<x + size { unsafe sum += abs(Int(start[row * stride + column]) - mean) }
    }
    return sum
  }
}
