public import NIOCore

/// NAL units, each preceded by its length (the sample format of `avcC` and `hvcC`, ISO 14496-15).
public enum LengthPrefixed {
  /// Bytes of each length field.
  public enum LengthSize: Int, Sendable, CaseIterable {
    case one = 1
    case two = 2
    case four = 4

    /// The longest unit that fits.
    public var maximum: Int {
      switch self {
      case .one: Int(UInt8.max)
      case .two: Int(UInt16.max)
      case .four: Int(UInt32.max)
      }
    }
  }

  /// Why a conversion failed; lengths in bytes.
  public enum Failure: Error, Sendable, Hashable {
    case truncatedLength(available: Int)
    case truncatedUnit(needed: Int, available: Int)
    case unitTooLong(Int, maximum: Int)
  }

  /// The NAL units of `sample` as slices, without empty ones.
  ///
  /// - Throws: ``Failure`` when a length reaches beyond the end.
  public static func units(
    of sample: ByteBuffer, lengthSize: LengthSize
  ) throws(Failure) -> [ByteBuffer] {
    var rest = sample
    var units: [ByteBuffer] = []
    while rest.readableBytes > 0 {
      guard let length = rest.readLength(lengthSize) else {
        throw .truncatedLength(available: rest.readableBytes)
      }
      guard let unit = rest.readSlice(length: length) else {
        throw .truncatedUnit(needed: length, available: rest.readableBytes)
      }
      if length > 0 { units.append(unit) }
    }
    return units
  }

  /// `units`, each preceded by its length.
  ///
  /// - Throws: ``Failure/unitTooLong(_:maximum:)`` when a length does not fit its field.
  public static func sample(
    of units: [ByteBuffer], lengthSize: LengthSize
  ) throws(Failure) -> ByteBuffer {
    var sample = ByteBufferAllocator().buffer(
      capacity: units.reduce(0) { $0 + lengthSize.rawValue + $1.readableBytes })
    for unit in units {
      let length = unit.readableBytes
      guard length <= lengthSize.maximum else {
        throw .unitTooLong(length, maximum: lengthSize.maximum)
      }
      switch lengthSize {
      case .one: sample.writeInteger(UInt8(truncatingIfNeeded: length))
      case .two: sample.writeInteger(UInt16(truncatingIfNeeded: length))
      case .four: sample.writeInteger(UInt32(truncatingIfNeeded: length))
      }
      sample.writeImmutableBuffer(unit)
    }
    return sample
  }
}

extension ByteBuffer {
  fileprivate mutating func readLength(_ size: LengthPrefixed.LengthSize) -> Int? {
    switch size {
    case .one: readInteger(as: UInt8.self).map(Int.init)
    case .two: readInteger(as: UInt16.self).map(Int.init)
    case .four: readInteger(as: UInt32.self).map(Int.init)
    }
  }
}
