import CPixels
import Testing

/// RGB of any samples, compared with the formulas of H.273.
struct PackedRGBTests {
  struct Range: Sendable {
    var black: Double
    var luma: Double
    var chroma: Double
  }

  static let limited = Range(black: 16, luma: 255 / 219, chroma: 255 / 224)
  static let full = Range(black: 0, luma: 1, chroma: 1)
  /// Of red and blue in luma: BT.601, BT.709, BT.2020 and SMPTE 240.
  static let weights = [(0.299, 0.114), (0.2126, 0.0722), (0.2627, 0.0593), (0.212, 0.087)]

  @Test(
    "every level of RGB is the nearest one, and nothing beside the row is written",
    .enabled(if: pixels_can_make_rgb() != 0),
    arguments: [limited, full], weights)
  func levels(_ range: Range, weights: (red: Double, blue: Double)) {
    var matrix = pixels_matrix(range, weights)
    var random = SystemRandomNumberGenerator()
    var largest = 0.0
    for width in Array(1...100) + [1024] {
      for chromaRows in [1, 2] {
        // As many samples as belong to the rows, so that a tool for memory sees what reads beyond.
        let height = 4
        let chromaWidth = (width + 1) / 2
        func samples(_ count: Int) -> [UInt8] {
          (0..<count).map { _ in [0, 255, random.next(), random.next()].randomElement() ?? 0 }
        }
        let luma = samples(width * height)
        let cb = samples(chromaWidth * height / chromaRows)
        let cr = samples(chromaWidth * height / chromaRows)
        let stride = 3 * width + 5
        for beginsWithBlue in [false, true] {
          var target = [UInt8](repeating: 0xA5, count: stride * height + 64)
          luma.withUnsafeBufferPointer { y in
            cb.withUnsafeBufferPointer { u in
              cr.withUnsafeBufferPointer { v in
                var planes = pixels_planes(
                  luma: y.baseAddress, blue: u.baseAddress, red: v.baseAddress, luma_stride: width,
                  blue_stride: chromaWidth, red_stride: chromaWidth, width: width, height: height,
                  chroma_rows: chromaRows)
                pixels_make_rgb(&target, stride, &planes, &matrix, beginsWithBlue ? 1 : 0)
              }
            }
          }
          for row in 0..<height {
            for x in 0..<width {
              let place = row / chromaRows * chromaWidth + x / 2
              let light = (Double(luma[row * width + x]) - range.black) * range.luma
              let (u, v) = (Double(cb[place]) - 128, Double(cr[place]) - 128)
              let expected = [
                light + matrix.red_of_red * v,
                light - matrix.green_of_blue * u - matrix.green_of_red * v,
                light + matrix.blue_of_blue * u,
              ].map { min(max($0, 0), 255) }
              for component in 0..<3 {
                let found = target[
                  row * stride + 3 * x + (beginsWithBlue ? 2 - component : component)]
                largest = max(largest, abs(Double(found) - expected[component]))
              }
            }
            let gap = target[(row * stride + 3 * width)..<((row + 1) * stride)]
            #expect(gap.allSatisfy { $0 == 0xA5 })
          }
          #expect(target.suffix(64).allSatisfy { $0 == 0xA5 })
        }
      }
    }
    // Sums have 1/64 of a level.
    #expect(largest < 0.56)
  }
}

extension pixels_matrix {
  init(_ range: PackedRGBTests.Range, _ weights: (red: Double, blue: Double)) {
    let green = 1 - weights.red - weights.blue
    let (red, blue) = (2 * (1 - weights.red), 2 * (1 - weights.blue))
    self.init(
      black: range.black, luma: range.luma, red_of_red: red * range.chroma,
      green_of_blue: blue * weights.blue / green * range.chroma,
      green_of_red: red * weights.red / green * range.chroma, blue_of_blue: blue * range.chroma)
  }
}
