import Foundation

/// The luma of the frames that a receiver delivered, each with its display time.
struct DisplayedPictures {
  /// In order of arrival; the time is in frames since the first of the clip.
  var frames: [(time: Int, luma: Data)] = []

  struct Score {
    /// dB, the mean over all display times of the clip.
    let quality: Double
    /// The number of display times that show exactly the right picture.
    let intact: Int
    /// How many display times have their own frame.
    let came: Int
  }

  /// The score of a frame without any difference, and the highest possible, in dB.
  static let bestQuality = 60.0

  /// Compares the picture on display at each time of the clip with the right one.
  ///
  /// A frame stays until the next one; before the first one the display is black.
  func score(beside clean: Data) -> Score {
    var shown = Data(repeating: 16, count: Scene.lumaSize)
    var qualities: [Double] = []
    var intact = 0
    let byTime = Dictionary(frames.map { ($0.time, $0.luma) }) { _, later in later }
    for time in 0..<Scene.frames {
      if let luma = byTime[time] { shown = luma }
      let wanted = clean[time * Scene.lumaSize..<(time + 1) * Scene.lumaSize]
      let error = Self.squaredError(shown, wanted)
      if error == 0 { intact += 1 }
      let mean = Double(error) / Double(Scene.lumaSize)
      qualities.append(min(10 * log10(255 * 255 / mean), Self.bestQuality))
    }
    return Score(
      quality: qualities.reduce(0, +) / Double(qualities.count), intact: intact,
      came: byTime.keys.count { (0..<Scene.frames).contains($0) })
  }

  private static func squaredError(_ one: Data, _ two: Data) -> Int {
    one.withUnsafeBytes { one in
      two.withUnsafeBytes { two in
        var sum = 0
        for row in stride(from: 0, to: min(one.count, two.count), by: Scene.width) {
          var rowSum: UInt32 = 0
          for index in row..<row + Scene.width {
            let difference = Int32(one[index]) &- Int32(two[index])
            rowSum &+= UInt32(bitPattern: difference &* difference)
          }
          sum += Int(rowSum)
        }
        return sum
      }
    }
  }
}
