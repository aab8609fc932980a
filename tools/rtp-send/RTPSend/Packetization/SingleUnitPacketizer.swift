import NIOCore

/// A packet for each NAL unit: H.264 packetization-mode 0 (RFC 6184 §6.2), and H.265 alike.
///
/// Nothing is cut, so whoever sends the payloads has to look at their length.
public struct SingleUnitPacketizer: Packetizer {
  private let codec: Codec

  public init(_ codec: Codec) { self.codec = codec }

  public mutating func packetize(_ unit: SourceAccessUnit) -> [RTPPayload] {
    let units = unit.units.filter(codec.canSend)
    return units.enumerated().map { index, bytes in
      RTPPayload(
        bytes: RTPPayload.copy(of: bytes), ticks: unit.presentationTicks,
        marker: index == units.count - 1, key: unit.key)
    }
  }

  public mutating func finish() -> [RTPPayload] { [] }
}
