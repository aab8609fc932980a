/// Payload types with a fixed meaning (RFC 3551 §6).
enum StaticPayloadType {
  static let names: [UInt8: String] = [
    0: "PCMU sound", 3: "GSM sound", 8: "PCMA sound", 9: "G722 sound", 10: "L16 sound",
    11: "L16 sound", 14: "MPEG audio", 26: "JPEG video", 28: "nv video", 31: "H.261 video",
    32: "MPEG video", 33: "an MPEG transport stream", 34: "H.263 video",
  ]

  /// The number of `type`, and its meaning if that is fixed.
  static func words(for type: UInt8) -> String {
    names[type].map { "\(type) (\($0))" } ?? "\(type)"
  }
}
