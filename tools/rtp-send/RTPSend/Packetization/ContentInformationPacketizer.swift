import NIOCore

/// H.265 with payload content information (PACI, RFC 7798 §4.4.4) before each payload, which tells
/// about temporal layers (§4.5).
public struct ContentInformationPacketizer: Packetizer {
  static let contentInformation: UInt16 = 50
  /// The fields of a PACI packet beyond the payload header, and its one extension.
  static let fieldLength = 2
  static let extensionLength = 3

  /// The smallest limit with which fragments can still be sent.
  public static let minimumLimit = RTPPayload.minimumLimit + fieldLength + extensionLength

  private var packetizer: H265Packetizer
  /// `TL0PICIDX`: counts the pictures of the lowest temporal layer.
  private var lowestLayerPicture: UInt8 = 0xFF
  /// `IrapPicID`: counts the pictures at which decoding can begin.
  private var randomAccessPicture: UInt8 = 0xFF

  /// Makes payloads of at most `payloadLimit` bytes, of which PACI takes 5; smaller limits than
  /// ``minimumLimit`` are raised to that.
  public init(payloadLimit: Int = 1400, aggregates: Bool = true) {
    packetizer = H265Packetizer(
      payloadLimit: payloadLimit - Self.fieldLength - Self.extensionLength, aggregates: aggregates)
  }

  public mutating func packetize(_ unit: SourceAccessUnit) -> [RTPPayload] {
    let slices = unit.units.filter { (Codec.h265.type(of: $0) ?? 32) < 32 }
    if let header = slices.first?.leadingHeader {
      // TID is one above the temporal layer (§1.1.4).
      if header & 0x7 == 1 { lowestLayerPicture &+= 1 }
      if unit.isRandomAccess { randomAccessPicture &+= 1 }
    }
    let payloads = packetizer.packetize(unit)
    let hasSlice = payloads.map { Self.partOfSlice(in: $0.bytes) }
    let first = hasSlice.firstIndex { $0.begins }
    let last = hasSlice.lastIndex { $0.ends }
    return payloads.enumerated().map { index, payload in
      var payload = payload
      payload.bytes = wrap(payload.bytes, begins: index == first, ends: index == last)
      return payload
    }
  }

  public mutating func finish() -> [RTPPayload] { packetizer.finish() }

  private func wrap(_ payload: ByteBuffer, begins: Bool, ends: Bool) -> ByteBuffer {
    var rest = payload
    guard let header = rest.readInteger(as: UInt16.self) else { return payload }
    var bytes = RTPPayload.buffer(
      capacity: payload.readableBytes + Self.fieldLength + Self.extensionLength)
    // The F bit and the type of the payload move into the A bit and cType; F0 says that there is an
    // extension about temporal layers, and Y that nothing follows it.
    bytes.writeInteger(header & 0x01FF | Self.contentInformation << 9)
    let fields = header & 0xFE00 | UInt16(Self.extensionLength) << 4 | 0x8
    bytes.writeInteger(fields)
    bytes.writeMultipleIntegers(
      lowestLayerPicture, randomAccessPicture, (begins ? 0x80 : 0) | (ends ? UInt8(0x40) : 0))
    bytes.writeImmutableBuffer(rest)
    return bytes
  }

  /// Whether a slice begins or ends in a payload: in a single NAL unit, an aggregation packet or a
  /// fragment.
  private static func partOfSlice(in payload: ByteBuffer) -> (begins: Bool, ends: Bool) {
    guard let header = payload.leadingHeader else { return (false, false) }
    switch header >> 9 & 0x3F {
    case 0..<32: return (true, true)
    case H265Packetizer.aggregationPacket:
      var rest = payload
      rest.moveReaderIndex(forwardBy: 2)
      while let length = rest.readInteger(as: UInt16.self),
        let entry = rest.readSlice(length: Int(length))
      {
        if (Codec.h265.type(of: entry) ?? 32) < 32 { return (true, true) }
      }
      return (false, false)
    case H265Packetizer.fragmentationUnit:
      let flags = payload.getInteger(at: payload.readerIndex + 2, as: UInt8.self) ?? 0
      let isSlice = flags & 0x3F < 32
      return (isSlice && flags & 0x80 != 0, isSlice && flags & 0x40 != 0)
    default: return (false, false)
    }
  }
}

extension ByteBuffer {
  /// The first two bytes: the NAL unit header, or the payload header in its form.
  fileprivate var leadingHeader: UInt16? { getInteger(at: readerIndex) }
}
