import Bitstream
import Defragment

/// The pictures that an H.265 decoder holds for reference (§8.3.1, §8.3.2).
struct ReferencePictures {
  /// The order counts of the pictures that it holds.
  private(set) var held: Set<Int> = []
  private var counter = H265.OrderCounter()

  /// The picture order count of a picture whose lowest `bits` are `count`.
  func orderCount(_ count: UInt32, bits: Int, type: H265.NALUnitType) -> Int {
    counter.count(count, bits: bits, type: type)
  }

  /// The lost pictures among `entries`, whose distances count from `count`.
  func missing(_ entries: [H265.ReferencePictureSet.Entry], from count: Int) -> [Int] {
    entries.map { count + $0.distance }.filter { !held.contains($0) }.sorted()
  }

  /// The held picture that is shown last before the one of `count`.
  func nearest(before count: Int) -> Int? { held.filter { $0 < count }.max() }

  /// Records that a stand-in was decoded.
  mutating func insert(_ count: Int) { held.insert(count) }

  /// Records that a picture was decoded, which keeps only the references in `entries`.
  mutating func decoded(
    _ count: Int, type: H265.NALUnitType, temporalLevel: UInt8,
    keeping entries: [H265.ReferencePictureSet.Entry]
  ) {
    held.formIntersection(entries.map { count + $0.distance })
    held.insert(count)
    counter.advance(to: count, type: type, temporalLevel: temporalLevel)
  }
}
