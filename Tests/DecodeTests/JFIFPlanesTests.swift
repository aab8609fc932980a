import CPixels
import Testing

/// The colours of JPEG files from any samples, compared with the formulas of H.273 and JFIF.
struct JFIFPlanesTests {
  @Test(
    "every level is the nearest one, and nothing beside the planes is written",
    arguments: [PackedRGBTests.limited, PackedRGBTests.full], PackedRGBTests.weights)
  func levels(_ range: PackedRGBTests.Range, weights: (red: Double, blue: Double)) {
    let matrix = pixels_matrix(range, weights)
    var largest = 0.0
    for width in Array(1...40) + [321] {
      for chromaRows in [1, 2] {
        let planes = Planes(width: width, height: 5, chromaRows: chromaRows)
        let (luma, blue, red) = planes.jfif(matrix)
        func note(_ found: UInt8, _ expected: Double) {
          largest = max(largest, abs(Double(found) - min(max(expected, 0), 255)))
        }
        for row in 0..<planes.height {
          for x in 0..<width {
            // Chroma is that of the left pixel, and lies between two rows.
            let y = chromaRows == 2 ? (Double(row) - 0.5) / 2 : Double(row)
            let (u, v) = planes.chroma(Double(x) / 2, y)
            let place = row * width + x
            let light = (Double(planes.luma[place]) - range.black) * range.luma
            note(luma[place], light + matrix.jfif(u, v).luma)
          }
        }
        for row in 0..<planes.rows {
          for x in 0..<planes.columns {
            let (u, v) = planes.chroma(Double(x) + 0.25, Double(row))
            let expected = matrix.jfif(u, v)
            note(blue[row * planes.columns + x], 128 + expected.blue)
            note(red[row * planes.columns + x], 128 + expected.red)
          }
        }
      }
    }
    // Sums have 1/64 of a level.
    #expect(largest < 0.56)
  }

  /// A picture of any samples, as many as belong to it, so that a tool for memory sees what reads
  /// beyond.
  private struct Planes {
    let (width, height, columns, rows): (Int, Int, Int, Int)
    let chromaRows: Int
    var (luma, blue, red): ([UInt8], [UInt8], [UInt8])

    init(width: Int, height: Int, chromaRows: Int) {
      (self.width, self.height, self.chromaRows) = (width, height, chromaRows)
      (columns, rows) = ((width + 1) / 2, (height + chromaRows - 1) / chromaRows)
      var random = SystemRandomNumberGenerator()
      func samples(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in [0, 255, random.next(), random.next()].randomElement() ?? 0 }
      }
      (luma, blue, red) = (
        samples(width * height), samples(columns * rows), samples(columns * rows)
      )
    }

    /// Cb and Cr at a place between samples; beyond the last one, it goes on.
    func chroma(_ x: Double, _ y: Double) -> (Double, Double) {
      func value(_ plane: [UInt8], _ x: Double, _ y: Double) -> Double {
        let (column, row) = (min(Int(x), columns - 1), min(max(Int(y), 0), rows - 1))
        return Double(plane[row * columns + column]) - 128
      }
      func mean(_ plane: [UInt8]) -> Double {
        let (left, top) = (x.rounded(.down), y.rounded(.down))
        let (across, down) = (x - left, y - top)
        return (value(plane, left, top) * (1 - across) + value(plane, left + 1, top) * across)
          * (1 - down)
          + (value(plane, left, top + 1) * (1 - across)
            + value(plane, left + 1, top + 1) * across) * down
      }
      return (mean(blue), mean(red))
    }

    func jfif(_ matrix: pixels_matrix) -> (luma: [UInt8], blue: [UInt8], red: [UInt8]) {
      let gap = 64
      let counts = [luma.count, blue.count, red.count]
      let memory = [luma, blue, red].map { plane in
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: plane.count)
        _ = memory.initialize(from: plane)
        return memory
      }
      let made = counts.map { count in
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: count + gap)
        memory.initialize(repeating: 0xA5)
        return memory
      }
      defer { (memory + made).forEach { $0.deallocate() } }
      var planes = pixels_planes(
        luma: memory[0].baseAddress, blue: memory[1].baseAddress, red: memory[2].baseAddress,
        luma_stride: width, blue_stride: columns, red_stride: columns, width: width,
        height: height, chroma_rows: chromaRows)
      var targets = pixels_targets(
        luma: made[0].baseAddress, blue: made[1].baseAddress, red: made[2].baseAddress,
        luma_stride: width, blue_stride: columns, red_stride: columns)
      var (matrix, room) = (matrix, [Int16](repeating: 0, count: 4 * columns + 1))
      pixels_make_jfif(&targets, &planes, &matrix, &room)
      for plane in made { #expect(plane.suffix(gap).allSatisfy { $0 == 0xA5 }) }
      let results = zip(made, counts).map { Array($0.prefix($1)) }
      return (results[0], results[1], results[2])
    }
  }
}

extension pixels_matrix {
  /// What BT.601 makes of chroma that has been red, green and blue.
  fileprivate func jfif(_ u: Double, _ v: Double) -> (luma: Double, blue: Double, red: Double) {
    let (red, green, blue) = (
      red_of_red * v, -green_of_blue * u - green_of_red * v, blue_of_blue * u
    )
    let luma = 0.299 * red + 0.587 * green + 0.114 * blue
    return (luma, (blue - luma) / 1.772, (red - luma) / 1.402)
  }
}
