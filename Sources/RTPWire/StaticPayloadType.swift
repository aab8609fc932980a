/// The payload types that need no description (RFC 3551 §6).
public struct StaticPayloadType: Sendable, Hashable {
  public let kind: MediaKind
  public let encodingName: String
  public let clockRate: UInt32
  /// 1, or 2 for the stereo of type 10.
  public let channels: Int
  /// What people call it.
  public let name: String

  private static let types: [UInt8: StaticPayloadType] = [
    0: .init(.audio, "PCMU", 8_000), 3: .init(.audio, "GSM", 8_000),
    4: .init(.audio, "G723", 8_000), 5: .init(.audio, "DVI4", 8_000),
    6: .init(.audio, "DVI4", 16_000), 7: .init(.audio, "LPC", 8_000),
    8: .init(.audio, "PCMA", 8_000), 9: .init(.audio, "G722", 8_000),
    10: .init(.audio, "L16", 44_100, channels: 2), 11: .init(.audio, "L16", 44_100),
    12: .init(.audio, "QCELP", 8_000), 13: .init(.audio, "CN", 8_000),
    14: .init(.audio, "MPA", 90_000, "MPEG"), 15: .init(.audio, "G728", 8_000),
    16: .init(.audio, "DVI4", 11_025), 17: .init(.audio, "DVI4", 22_050),
    18: .init(.audio, "G729", 8_000), 25: .init(.video, "CelB", 90_000),
    26: .init(.video, "JPEG", 90_000), 28: .init(.video, "nv", 90_000),
    31: .init(.video, "H261", 90_000, "H.261"), 32: .init(.video, "MPV", 90_000, "MPEG"),
    33: .init(.video, "MP2T", 90_000, "MPEG-TS"), 34: .init(.video, "H263", 90_000, "H.263"),
  ]

  private init(
    _ kind: MediaKind, _ encodingName: String, _ clockRate: UInt32, _ name: String? = nil,
    channels: Int = 1
  ) {
    self.kind = kind
    self.name = name ?? encodingName
    self.encodingName = encodingName
    self.clockRate = clockRate
    self.channels = channels
  }

  /// The meaning of `payloadType`; `nil` if it needs a description.
  public init?(_ payloadType: UInt8) {
    guard let type = Self.types[payloadType] else { return nil }
    self = type
  }

  /// The type with this encoding name, ignoring case; the one with the lowest number.
  public init?(encodingName: String) {
    let name = encodingName.uppercased()
    guard
      let type = Self.types.filter({ $0.value.encodingName.uppercased() == name }).min(by: {
        $0.key < $1.key
      })
    else { return nil }
    self = type.value
  }
}

extension MediaDescription {
  /// What is known of a stream from its payload type alone.
  public init(onlyPayloadType payloadType: UInt8) {
    let type = StaticPayloadType(payloadType)
    self.init(
      kind: type?.kind ?? .unknown, payloadType: payloadType, encodingName: type?.encodingName,
      clockRate: type?.clockRate,
      channels: type?.kind == .audio ? type?.channels : nil)
  }
}
