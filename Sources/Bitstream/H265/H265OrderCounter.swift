extension H265 {
  /// Derives picture order counts (§8.3.1).
  public struct OrderCounter: Sendable {
    /// The order count of the last picture with `TemporalId` 0 that is a reference and not a
    /// leading picture.
    private var anchor = 0

    public init() {}

    /// The picture order count of a picture whose lowest `bits` bits are `low`.
    public func count(_ low: UInt32, bits: Int, type: NALUnitType) -> Int {
      switch type {
      case .idrWRADL, .idrNLP: return 0
      case .blaWLP, .blaWRADL, .blaNLP: return Int(low)
      default:
        let period = 1 << bits
        let anchorLow = anchor & (period - 1)
        let difference = Int(low) - anchorLow
        let wrap = difference <= -period / 2 ? period : difference > period / 2 ? -period : 0
        return anchor - anchorLow + wrap + Int(low)
      }
    }

    /// Notes that a picture was decoded.
    public mutating func advance(to count: Int, type: NALUnitType, temporalLevel: UInt8) {
      let isLeading = [.radlN, .radlR, .raslN, .raslR].contains(type)
      let isReference = type.rawValue >= 16 || type.rawValue & 1 == 1
      if temporalLevel == 0, !isLeading, isReference { anchor = count }
    }
  }
}
