/// The search for one block of a picture in an earlier one.
struct BlockSearch<Sample: PictureSample> {
  /// How far a block may move, in samples: an object that crosses a 1080p picture in a second moves
  /// this far in one frame.
  private static var reach: Int { 64 }
  private static var size: Int { MotionField.blockSize }

  private let newer: SamplePlane<Sample>
  private let older: SamplePlane<Sample>
  private let x: Int
  private let y: Int
  /// One step of a sample of 8 bits.
  private let scale: Int
  /// The motion of what is around.
  private var expected = MotionVector.zero
  /// The best place, in samples.
  private var best = (x: 0, y: 0)
  /// The sum of absolute differences there, and with what the distance from the expected motion
  /// costs.
  private(set) var difference = Int.max
  private var cost = Int.max

  /// `x` and `y` are the place of the block, of which some may lie outside of neither picture.
  init(
    of newer: SamplePlane<Sample>, in older: SamplePlane<Sample>, x: Int, y: Int, bitDepth: Int
  ) {
    (self.newer, self.older, self.x, self.y) = (newer, older, x, y)
    scale = 1 << max(bitDepth - 8, 0)
  }

  /// Starts with the best of `candidates`, and refines it in ever smaller steps.
  mutating func find(near candidates: [MotionVector]) -> MotionVector {
    let unit = MotionVector.unit
    expected =
      candidates.count >= 3
      ? .median(candidates[0], candidates[1], candidates[2]) : candidates.first ?? .zero
    consider(x: 0, y: 0)
    for candidate in candidates where candidate != .zero {
      consider(x: (candidate.x + unit / 2) >> 3, y: (candidate.y + unit / 2) >> 3)
    }
    // Where a block is found almost as it is, nothing better is far away.
    let mean = difference / (scale * Self.size * Self.size)
    for step in mean < 1 ? [1] : mean < 4 ? [2, 1] : [16, 8, 4, 2, 1] {
      for _ in 0..<(step == 1 ? 8 : 4) {
        let (centre, before) = (best, cost)
        consider(x: centre.x - step, y: centre.y)
        consider(x: centre.x + step, y: centre.y)
        consider(x: centre.x, y: centre.y - step)
        consider(x: centre.x, y: centre.y + step)
        if cost == before { break }
      }
    }
    return refined()
  }

  /// Part of the block may come from outside of the older picture, if most of it does not.
  private mutating func consider(x dx: Int, y dy: Int) {
    let size = Self.size
    let left = max(-(x + dx), 0)
    let top = max(-(y + dy), 0)
    let width = size - left - max(x + dx + size - older.width, 0)
    let height = size - top - max(y + dy + size - older.height, 0)
    guard abs(dx) <= Self.reach, abs(dy) <= Self.reach, width > 0, height > 0,
      width * height * 4 >= size * size
    else { return }
    let candidate = MotionVector(x: dx * MotionVector.unit, y: dy * MotionVector.unit)
    // Noise alone can make a vector look slightly better.
    let extra = 2 * scale * min(candidate.distance(to: expected), 128)
    guard extra < cost else { return }
    let found: Int
    if width == size, height == size {
      found = newer.difference(
        x: x, y: y, to: older, x: x + dx, y: y + dy, size: size, limit: cost - extra)
    } else {
      let part = newer.difference(
        x: x + left, y: y + top, to: older, x: x + dx + left, y: y + dy + top, width: width,
        height: height)
      found = part * size * size / (width * height)
    }
    if found < cost - extra { (best, difference, cost) = ((dx, dy), found, found + extra) }
  }

  /// The place between the samples: on both sides of it the difference rises with the distance.
  private func refined() -> MotionVector {
    let unit = MotionVector.unit
    var vector = MotionVector(x: best.x * unit, y: best.y * unit)
    let (x, y) = (x + best.x, y + best.y)
    guard difference > 0, x > 0, y > 0, x + Self.size < older.width, y + Self.size < older.height
    else { return vector }
    func beside(_ dx: Int, _ dy: Int) -> Int {
      newer.difference(
        x: self.x, y: self.y, to: older, x: x + dx, y: y + dy, size: Self.size, limit: .max)
    }
    func shift(_ before: Int, _ behind: Int) -> Int {
      let rise = max(before, behind) - difference
      guard rise > 0 else { return 0 }
      let shift = (Double(unit / 2 * (before - behind)) / Double(rise)).rounded()
      return min(max(Int(shift), -unit / 2), unit / 2)
    }
    vector.x += shift(beside(-1, 0), beside(1, 0))
    vector.y += shift(beside(0, -1), beside(0, 1))
    return vector
  }
}
