/// One plane of a picture in the decoder's memory; the owner must keep that memory alive.
@safe struct SamplePlane<Sample: FixedWidthInteger & UnsignedInteger & Sendable> {
  let start: UnsafeMutablePointer<Sample>
  /// Samples from the start of one row to the start of the next.
  let stride: Int
  let width: Int
  let height: Int

  /// The sum of absolute differences of two blocks of `size` × `size`; when it reaches `limit`,
  /// some value of at least `limit`.
  ///
  /// Both blocks must lie inside their planes.
  func difference(
    x: Int, y: Int, to other: SamplePlane, x otherX: Int, y otherY: Int, size: Int, limit: Int
  ) -> Int {
    var (one, two) = unsafe (
      start + (y * stride + x), other.start + (otherY * other.stride + otherX)
    )
    var sum = 0
    for _ in 0..<size {
      var row: UInt32 = 0
      for column in 0..<size {
        let (left, right) = unsafe (UInt32(one[column]), UInt32(two[column]))
        row &+= left > right ? left &- right : right &- left
      }
      sum += Int(row)
      if sum >= limit { return sum }
      unsafe one += stride
      unsafe two += other.stride
    }
    return sum
  }

  func fill(with value: Sample) {
    for row in 0..<height {
      unsafe (start + row * stride).update(repeating: value, count: width)
    }
  }

  /// Copies a block from another plane of the same size; samples outside either plane are skipped.
  func copy(
    width blockWidth: Int, height blockHeight: Int, toX x: Int, y: Int, from source: SamplePlane,
    x sourceX: Int, y sourceY: Int
  ) {
    let columns = min(blockWidth, width - x)
    guard columns > 0 else { return }
    let fromX = min(max(sourceX, 0), source.width - columns)
    for row in 0..<min(blockHeight, height - y) {
      let fromY = min(max(sourceY + row, 0), source.height - 1)
      unsafe (start + ((y + row) * stride + x)).update(
        from: source.start + (fromY * source.stride + fromX), count: columns)
    }
  }
}
