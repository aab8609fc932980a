import Foundation

/// The luma of the frames that a receiver delivered, each with its display time.
struct DisplayedPictures {
  /// In order of arrival; the time is in frames since the first of the clip.
  var frames: [(time: Int, luma: Data)] = []

  struct Score {
    /// The PSNR in dB, the mean over all display times of the clip.
    var quality = 0.0
    /// The structural similarity, the mean over all display times.
    var similarity = 0.0
    /// The number of display times that show exactly the right picture.
    var intact = 0
    /// How many display times have their own frame.
    var came = 0
  }

  /// The score of a frame without any difference, and the highest possible, in dB.
  static let bestQuality = 60.0

  /// Compares the picture on display at each time of the clip with the right one.
  ///
  /// A frame stays until the next one; before the first one the display is black.
  func score(beside scene: Scene) -> Score {
    let size = scene.lumaSize
    var shown = Data(repeating: 16, count: size)
    var score = Score()
    let byTime = Dictionary(frames.map { ($0.time, $0.luma) }) { _, later in later }
    for time in 0..<scene.frames {
      if let luma = byTime[time] { shown = luma }
      let wanted = scene.clean[time * size..<(time + 1) * size]
      let error = Self.squaredError(shown, wanted, width: scene.content.size.width)
      if error == 0 { score.intact += 1 }
      let mean = Double(error) / Double(size)
      score.quality += min(10 * log10(255 * 255 / mean), Self.bestQuality)
      score.similarity +=
        error == 0 ? 1 : Self.similarity(shown, wanted, width: scene.content.size.width)
    }
    score.quality /= Double(scene.frames)
    score.similarity /= Double(scene.frames)
    score.came = byTime.keys.count { (0..<scene.frames).contains($0) }
    return score
  }

  private static func squaredError(_ one: Data, _ two: Data, width: Int) -> Int {
    one.withUnsafeBytes { one in
      two.withUnsafeBytes { two in
        var sum = 0
        for row in stride(from: 0, to: min(one.count, two.count), by: width) {
          var rowSum: UInt32 = 0
          for index in row..<row + width {
            let difference = Int32(one[index]) &- Int32(two[index])
            rowSum &+= UInt32(bitPattern: difference &* difference)
          }
          sum += Int(rowSum)
        }
        return sum
      }
    }
  }

  /// SSIM (Wang, Bovik, Sheikh, Simoncelli 2004) in blocks of 8 × 8 that do not overlap.
  private static func similarity(_ one: Data, _ two: Data, width: Int) -> Double {
    let height = min(one.count, two.count) / width
    return one.withUnsafeBytes { one in
      two.withUnsafeBytes { two in
        var sum = 0.0
        for y in stride(from: 0, to: height - 7, by: 8) {
          for x in stride(from: 0, to: width - 7, by: 8) {
            var (sumOne, sumTwo, squares, products): (Int32, Int32, Int32, Int32) = (0, 0, 0, 0)
            for row in y..<y + 8 {
              for index in row * width + x..<row * width + x + 8 {
                let (a, b) = (Int32(one[index]), Int32(two[index]))
                sumOne &+= a
                sumTwo &+= b
                squares &+= a &* a &+ b &* b
                products &+= a &* b
              }
            }
            let (meanOne, meanTwo) = (Double(sumOne) / 64, Double(sumTwo) / 64)
            let both = meanOne * meanOne + meanTwo * meanTwo
            let (spread, common) = (
              Double(squares) / 64 - both, Double(products) / 64 - meanOne * meanTwo
            )
            sum +=
              (2 * meanOne * meanTwo + 6.5) * (2 * common + 58.5) / ((both + 6.5) * (spread + 58.5))
          }
        }
        return sum / Double((width / 8) * (height / 8))
      }
    }
  }
}
