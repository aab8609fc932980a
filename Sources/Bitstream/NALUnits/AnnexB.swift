public import NIOCore

/// A byte stream of NAL units with start codes (H.264 and H.265, Annex B).
public enum AnnexB {
  /// The four-byte form, which every reader accepts.
  public static let startCode: [UInt8] = [0, 0, 0, 1]

  /// The NAL units of `stream` as slices, without start codes and surrounding zeros.
  ///
  /// Accepts start codes of three and four bytes. Bytes before the first one are a NAL unit too: GW
  /// Security cameras put a start code after a parameter set instead of before it.
  public static func units(of stream: ByteBuffer) -> [ByteBuffer] {
    var units: [ByteBuffer] = []
    var start = stream.readerIndex
    while true {
      let next = stream.indexOfStartCode(from: start, to: stream.writerIndex)
      let end = stream.endWithoutZeros(from: start, to: next ?? stream.writerIndex)
      if end > start, let unit = stream.getSlice(at: start, length: end - start) {
        units.append(unit)
      }
      guard let next else { return units }
      start = next + 3
    }
  }

  /// `units` with a four-byte start code before each.
  public static func stream(of units: [ByteBuffer]) -> ByteBuffer {
    let length = units.reduce(0) { $0 + startCode.count + $1.readableBytes }
    var stream = ByteBufferAllocator().buffer(capacity: length)
    for unit in units {
      stream.writeBytes(startCode)
      stream.writeImmutableBuffer(unit)
    }
    return stream
  }
}

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
  /// The end of the unit in `start` ..< `end` without trailing zeros, which are part of the next
  /// start code or padding (`trailing_zero_8bits`).
  public func endWithoutZeros(from start: Int, to end: Int) -> Int {
    var end = end
    while end > start, getInteger(at: end - 1, as: UInt8.self) == 0 { end -= 1 }
    return end
  }

  fileprivate mutating func readLength(_ size: LengthPrefixed.LengthSize) -> Int? {
    switch size {
    case .one: readInteger(as: UInt8.self).map(Int.init)
    case .two: readInteger(as: UInt16.self).map(Int.init)
    case .four: readInteger(as: UInt32.self).map(Int.init)
    }
  }
}
