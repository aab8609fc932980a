/// A 16-bit RTP sequence number with the wrapping arithmetic of RFC 3550 §5.1 and RFC 1982.
///
/// The numbers have no total order, so there is no `<`; use ``distance(to:)``.
public struct SequenceNumber: Sendable, Hashable, RawRepresentable {
  public var rawValue: UInt16

  public init(rawValue: UInt16) { self.rawValue = rawValue }

  public init(_ rawValue: UInt16) { self.rawValue = rawValue }

  /// The number that follows this one; 0 follows 65535.
  public var next: SequenceNumber { advanced(by: 1) }

  /// The number `count` places after this one, modulo 2^16; negative counts go back.
  public func advanced(by count: Int) -> SequenceNumber {
    SequenceNumber(rawValue &+ UInt16(truncatingIfNeeded: count))
  }

  /// How far `other` lies after this number, the short way round: −32768 … 32767.
  public func distance(to other: SequenceNumber) -> Int {
    Int(Int16(truncatingIfNeeded: Int(other.rawValue) - Int(rawValue)))
  }

  /// How many packets an outage took, from this number up to `first`, which came after it; `nil`
  /// where they are not about as many as `expected` by the source's pace.
  ///
  /// The numbers may have wrapped meanwhile, more than once.
  public func missing(before first: SequenceNumber, expected: Double) -> Int? {
    let period = 65_536.0
    let step = Double(first.rawValue &- rawValue)
    let missing = step + period * max(0, ((expected - step) / period).rounded())
    return expected * 0.7 <= missing && missing <= expected * 1.4 ? Int(exactly: missing) : nil
  }
}

/// Turns 16-bit sequence numbers into 64-bit ones that never wrap (RFC 3550 A.1, `cycles`).
///
/// Each number is unwrapped to the value nearest to the reference.
public struct SequenceUnwrapper: Sendable {
  private var last: Int64

  /// Starts so that `first` becomes an extended number in 65536 … 131071.
  ///
  /// One cycle of headroom keeps the numbers of earlier packets non-negative.
  public init(first: SequenceNumber) { last = Int64(first.rawValue) + 0x1_0000 }

  /// The extended number of `number`; the reference moves only by ``advance(to:)``.
  public func extend(_ number: SequenceNumber) -> Int64 {
    let reference = SequenceNumber(UInt16(truncatingIfNeeded: last))
    return last &+ Int64(reference.distance(to: number))
  }

  /// Makes `extended` the reference for later numbers.
  public mutating func advance(to extended: Int64) { last = extended }
}
