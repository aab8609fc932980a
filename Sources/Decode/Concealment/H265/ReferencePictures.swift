import Bitstream
import Defragment

/// The pictures that an H.265 decoder holds for reference, by their order counts (§8.3.1, §8.3.2).
struct ReferencePictures {
  /// Those that it holds.
  private(set) var held: Set<Int> = []
  /// The order count of the last picture of `TemporalId` 0 that is not a leading one.
  private var anchor = 0

  /// The picture order count of a picture whose lowest `bits` are `count`.
  func orderCount(_ count: UInt32, bits: Int, type: H265.NALUnitType) -> Int {
    switch type {
    case .idrWRADL, .idrNLP: return 0
    case .blaWLP, .blaWRADL, .blaNLP: return Int(count)
    default:
      let period = 1 << bits
      let low = anchor & (period - 1)
      let difference = Int(count) - low
      let wrap = difference <= -period / 2 ? period : difference > period / 2 ? -period : 0
      return anchor - low + wrap + Int(count)
    }
  }

  /// Those of `entries`, seen from `count`, that are not there: lost.
  func missing(_ entries: [H265.ReferencePictureSet.Entry], from count: Int) -> [Int] {
    entries.map { count + $0.distance }.filter { !held.contains($0) }.sorted()
  }

  /// The last picture shown before the one of `count`.
  func nearest(before count: Int) -> Int? { held.filter { $0 < count }.max() }

  /// A picture was made up.
  mutating func insert(_ count: Int) { held.insert(count) }

  /// A picture has been decoded that keeps those of `entries`.
  mutating func decoded(
    _ count: Int, type: H265.NALUnitType, temporalLevel: UInt8,
    keeping entries: [H265.ReferencePictureSet.Entry]
  ) {
    held.formIntersection(entries.map { count + $0.distance })
    held.insert(count)
    let isLeading = [.radlN, .radlR, .raslN, .raslR].contains(type)
    let isReference = type.rawValue >= 16 || type.rawValue & 1 == 1
    if temporalLevel == 0, !isLeading, isReference { anchor = count }
  }
}
