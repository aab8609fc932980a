/// The number that holds a sample: of one byte, or of two for more than 8 bits.
protocol PictureSample: FixedWidthInteger, UnsignedInteger, SIMDScalar, Codable, Sendable {}

extension UInt8: PictureSample {}
extension UInt16: PictureSample {}

/// One plane of a picture in the decoder's memory; the owner must keep that memory alive.
@safe struct SamplePlane<Sample: PictureSample> {
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

  /// The sum of absolute differences of two blocks that lie inside their planes.
  func difference(
    x: Int, y: Int, to other: SamplePlane, x otherX: Int, y otherY: Int, width: Int, height: Int
  ) -> Int {
    var sum = 0
    for row in 0..<height {
      let one = unsafe start + ((y + row) * stride + x)
      let two = unsafe other.start + ((otherY + row) * other.stride + otherX)
      for column in 0..<width { unsafe sum += abs(Int(one[column]) - Int(two[column])) }
    }
    return sum
  }

  func fill(with value: Sample) {
    for row in 0..<height {
      unsafe (start + row * stride).update(repeating: value, count: width)
    }
  }
}
