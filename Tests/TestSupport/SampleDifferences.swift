/// How far apart the samples of two pictures are.
public struct SampleDifferences: Sendable {
  public private(set) var sum = 0
  public private(set) var largest = 0
  public let count: Int

  /// Compares samples of 1 or 2 bytes, the low one first; `nil` where one picture has more of them.
  ///
  /// This module is compiled with optimisations even for tests.
  public init?(_ one: ArraySlice<UInt8>, _ other: ArraySlice<UInt8>, bytesPerSample: Int = 1) {
    guard one.count == other.count else { return nil }
    count = one.count / bytesPerSample
    for number in 0..<count {
      let (first, second) = (
        one.startIndex + number * bytesPerSample, other.startIndex + number * bytesPerSample
      )
      var difference = Int(one[first]) - Int(other[second])
      if bytesPerSample == 2 {
        difference += (Int(one[first + 1]) - Int(other[second + 1])) << 8
      }
      sum += abs(difference)
      largest = max(largest, abs(difference))
    }
  }

  public var mean: Double { Double(sum) / Double(count) }
}
