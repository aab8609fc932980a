extension H265 {
  /// The pictures that a decoder holds for reference (§8.3.1, §8.3.2).
  public struct ReferencePictures: Sendable {
    /// The order counts of the pictures that it holds.
    public private(set) var held: Set<Int> = []
    private var counter = OrderCounter()

    public init() {}

    /// The picture order count of a picture whose lowest `bits` are `count`.
    public func orderCount(_ count: UInt32, bits: Int, type: NALUnitType) -> Int {
      counter.count(count, bits: bits, type: type)
    }

    /// The lost pictures among `entries`, whose distances count from `count`.
    public func missing(_ entries: [ReferencePictureSet.Entry], from count: Int) -> [Int] {
      entries.map { count + $0.distance }.filter { !held.contains($0) }.sorted()
    }

    /// The held picture that is shown last before the one of `count`.
    public func nearest(before count: Int) -> Int? { held.filter { $0 < count }.max() }

    /// Records that a decoder has a picture of its own making in place of a lost one.
    public mutating func insert(_ count: Int) { held.insert(count) }

    /// Records that a picture was decoded, which keeps only the references in `entries`.
    public mutating func decoded(
      _ count: Int, type: NALUnitType, temporalLevel: UInt8,
      keeping entries: [ReferencePictureSet.Entry]
    ) {
      held.formIntersection(entries.map { count + $0.distance })
      held.insert(count)
      counter.advance(to: count, type: type, temporalLevel: temporalLevel)
    }
  }
}
