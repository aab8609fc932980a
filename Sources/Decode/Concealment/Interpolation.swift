/// Predicts squares of 8 × 8 samples from places between the samples of a plane.
struct Interpolation<Sample: PictureSample> {
  typealias Row = SIMD8<Int32>

  static var side: Int { 8 }
  /// How many rows and columns the samples of a square depend on.
  private static var extent: Int { side + 3 }

  /// The taps for each eighth of a sample (H.265 table 8-13).
  private static var taps: [SIMD4<Int32>] {
    [
      [0, 64, 0, 0], [-2, 58, 10, -2], [-4, 54, 16, -2], [-6, 46, 28, -4], [-4, 36, 36, -4],
      [-4, 28, 46, -6], [-2, 16, 54, -4], [-2, 10, 58, -2],
    ]
  }

  private let taps = Self.taps
  private let most: Int32
  /// Source samples, where some are outside of the plane.
  private var gathered = [Sample](repeating: 0, count: extent * extent)

  init(bitDepth: Int) { most = Int32((1 << bitDepth) - 1) }

  /// Predicts a square from `x`, `y`, in eighths of a sample; outside of `plane` are the samples at
  /// its border.
  mutating func predict(
    _ rows: inout [Row], from plane: SamplePlane<Sample>, x: Int, y: Int
  ) {
    let (left, top, extent) = ((x >> 3) - 1, (y >> 3) - 1, Self.extent)
    if left >= 0, top >= 0, left + extent <= plane.width, top + extent <= plane.height {
      let source = unsafe UnsafePointer(plane.start + (top * plane.stride + left))
      return unsafe predict(&rows, from: source, stride: plane.stride, x & 7, y & 7)
    }
    gather(from: plane, left: left, top: top)
    unsafe gathered.withUnsafeBufferPointer { gathered in
      guard let source = gathered.baseAddress else { return }
      unsafe predict(&rows, from: source, stride: extent, x & 7, y & 7)
    }
  }

  private func predict(
    _ rows: inout [Row], from source: UnsafePointer<Sample>, stride: Int, _ x: Int, _ y: Int
  ) {
    func row(_ number: Int, _ column: Int) -> Row {
      let place = unsafe UnsafeRawPointer(source + (number * stride + column))
      return unsafe Row(truncatingIfNeeded: place.loadUnaligned(as: SIMD8<Sample>.self))
    }
    if x == 0, y == 0 {
      for index in 0..<Self.side { rows[index] = row(index + 1, 1) }
      return
    }
    let (across, down) = (taps[x], taps[y])
    func filtered(_ number: Int) -> Row {
      if x == 0 { return row(number, 1) &* 64 }
      let left: Row = row(number, 0) &* across[0] &+ row(number, 1) &* across[1]
      let right: Row = row(number, 2) &* across[2] &+ row(number, 3) &* across[3]
      return left &+ right
    }
    var (above, own, below) = (filtered(0), filtered(1), filtered(2))
    for index in 0..<Self.side {
      let last = filtered(index + 3)
      let upper: Row = above &* down[0] &+ own &* down[1]
      let lower: Row = below &* down[2] &+ last &* down[3]
      rows[index] = ((upper &+ lower &+ 2048) &>> 12).clamped(
        lowerBound: Row(repeating: 0), upperBound: Row(repeating: most))
      (above, own, below) = (own, below, last)
    }
  }

  private mutating func gather(from plane: SamplePlane<Sample>, left: Int, top: Int) {
    for row in 0..<Self.extent {
      let line = unsafe plane.start + min(max(top + row, 0), plane.height - 1) * plane.stride
      for column in 0..<Self.extent {
        gathered[row * Self.extent + column] =
          unsafe line[min(max(left + column, 0), plane.width - 1)]
      }
    }
  }
}
