/// The square at the lower right of the test pattern that flashes with the click of its sound.
///
/// It is white in the pictures of the first tenth of each second, at least in the first one, and
/// black in all others.
package enum PatternFlash {
  /// The square in a picture of this size, in samples from the upper left.
  package static func place(width: Int, height: Int) -> (x: Int, y: Int, size: Int) {
    // Even, between the ramp and the bar at the bottom.
    let size = min(height / 6, width / 8) & ~1
    return ((width - size * 5 / 4) & ~1, (height * 74 / 100) & ~1, size)
  }

  /// Whether the square is white in the picture `frame`.
  static func isLit(frame: Int, framesPerSecond: Int) -> Bool {
    frame % framesPerSecond * 10 < framesPerSecond
  }

  /// Whether the square is white in a plane of 8-bit luma, by its inner half; `nil` for a plane
  /// that is too small.
  package static func read(luma: Span<UInt8>, stride: Int, width: Int, height: Int) -> Bool? {
    let (x, y, size) = place(width: width, height: height)
    let inner = size / 4..<size - size / 4
    guard x >= 0, y >= 0, !inner.isEmpty, stride >= width, luma.count / stride >= y + size else {
      return nil
    }
    var sum = 0
    for row in inner {
      for column in inner { sum += Int(luma[(y + row) * stride + x + column]) }
    }
    return sum / (inner.count * inner.count) > 125
  }
}
