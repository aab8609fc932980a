/// How the brightness of one picture follows from that of another: a fade, or a lamp.
struct Brightness {
  static let unchanged = Brightness(gain: 1, offset: 0)

  let gain: Double
  /// In samples.
  let offset: Double

  private init(gain: Double, offset: Double) { (self.gain, self.offset) = (gain, offset) }

  /// Compares mean and spread of two pictures where `newer` is not lost.
  ///
  /// `nil` where hardly anything changes, or too little is known.
  init?<Sample>(
    from older: SamplePlane<Sample>, to newer: SamplePlane<Sample>, besides area: LostArea?,
    bitDepth: Int
  ) {
    var (one, other) = (Statistics(), Statistics())
    for y in stride(from: 0, to: newer.height, by: 4) {
      for x in stride(from: 0, to: newer.width, by: 4) {
        if let area, area[x / LostArea.cellSize, y / LostArea.cellSize] { continue }
        one.add(unsafe Int(older.start[y * older.stride + x]))
        other.add(unsafe Int(newer.start[y * newer.stride + x]))
      }
    }
    guard one.count >= 1000, one.spread > 1 else { return nil }
    gain = min(max(other.spread / one.spread, 0.25), 4)
    offset = other.mean - gain * one.mean
    let step = Double(1 << max(bitDepth - 8, 0))
    guard abs(other.mean - one.mean) > 0.5 * step || abs(gain - 1) > 0.02 else { return nil }
  }

  var isUnchanged: Bool { gain == 1 && offset == 0 }

  /// The same change over a longer or shorter time.
  func continued(for ratio: Double) -> Brightness {
    Brightness(gain: max(1 + ratio * (gain - 1), 0), offset: ratio * offset)
  }

  func callAsFunction<Sample: FixedWidthInteger>(_ sample: Sample, most: Double) -> Sample {
    Sample(min(max((gain * Double(sample) + offset).rounded(), 0), most))
  }

  private struct Statistics {
    var count = 0
    private var sum = 0
    private var squares = 0

    mutating func add(_ sample: Int) {
      count += 1
      sum += sample
      squares += sample * sample
    }

    var mean: Double { Double(sum) / Double(count) }
    var spread: Double {
      max(Double(squares) / Double(count) - mean * mean, 0).squareRoot()
    }
  }
}

extension SamplePlane {
  /// Calls `body` with a copy of the plane in another brightness.
  func withBrightness<Result>(
    _ brightness: Brightness, bitDepth: Int, _ body: (SamplePlane) -> Result
  ) -> Result {
    let most = Double((1 << bitDepth) - 1)
    let table = (0..<(1 << bitDepth)).map { brightness(Sample($0), most: most) }
    var samples = [Sample](repeating: 0, count: width * height)
    return unsafe samples.withUnsafeMutableBufferPointer { samples in
      guard let copy = samples.baseAddress else { return body(self) }
      for row in 0..<height {
        let from = unsafe start + row * stride
        let to = unsafe copy + row * width
        for column in 0..<width {
          unsafe to[column] = table[min(Int(from[column]), table.count - 1)]
        }
      }
      return unsafe body(SamplePlane(start: copy, stride: width, width: width, height: height))
    }
  }
}
