internal import RTPWire

/// `a=rtpmap:<payload type> <encoding name>/<clock rate>[/<parameters>]` (RFC 8866 §6.6).
struct RTPMap: Sendable, Hashable {
  /// 0 … 127; Bosch cameras use 35 for H.264, which RFC 3551 leaves unassigned.
  let payloadType: UInt8
  let name: String
  /// Ticks a second, or `nil` when what is written cannot be one.
  let clockRate: UInt32?

  /// Whether packets of this type only protect or repeat others.
  var isAuxiliary: Bool { Self.auxiliaryNames.contains(name.lowercased()) }

  init?(_ value: String) {
    let words = value.split(separator: " ", maxSplits: 1)
    guard words.count == 2, let number = UInt8(words[0]), number <= 127 else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    // Real and macro-video servers write spaces around the name.
    guard let name = parts.first?.trimmed, !name.isEmpty else { return nil }
    let rate = parts.dropFirst().first.flatMap { UInt32($0.trimmed) }
    self.init(number, name, rate.flatMap { (1...UInt32(Int32.max)).contains($0) ? $0 : nil })
  }

  private init(_ payloadType: UInt8, _ name: String, _ clockRate: UInt32?) {
    self.payloadType = payloadType
    self.name = name
    self.clockRate = clockRate
  }

  /// The types that need no `a=rtpmap` (RFC 3551 §6).
  static let assigned: [UInt8: RTPMap] = Dictionary(
    uniqueKeysWithValues: (sounds + pictures).map { ($0.payloadType, $0) })

  /// What is assigned to `payloadType`, described; `nil` for a type that means what its session says.
  static func description(ofAssigned payloadType: UInt8) -> MediaDescription? {
    guard let map = assigned[payloadType] else { return nil }
    return MediaDescription(
      kind: pictures.contains(map) ? "video" : "audio", payloadType: payloadType,
      encodingName: map.name, clockRate: map.clockRate ?? MediaDescription.videoClockRate)
  }

  private static let sounds = [
    RTPMap(0, "PCMU", 8000), RTPMap(3, "GSM", 8000), RTPMap(4, "G723", 8000),
    RTPMap(5, "DVI4", 8000), RTPMap(6, "DVI4", 16_000), RTPMap(7, "LPC", 8000),
    RTPMap(8, "PCMA", 8000), RTPMap(9, "G722", 8000), RTPMap(10, "L16", 44_100),
    RTPMap(11, "L16", 44_100), RTPMap(12, "QCELP", 8000), RTPMap(13, "CN", 8000),
    RTPMap(14, "MPA", 90_000), RTPMap(15, "G728", 8000), RTPMap(16, "DVI4", 11_025),
    RTPMap(17, "DVI4", 22_050), RTPMap(18, "G729", 8000),
  ]
  private static let pictures = [
    RTPMap(25, "CelB", 90_000), RTPMap(26, "JPEG", 90_000), RTPMap(28, "nv", 90_000),
    RTPMap(31, "H261", 90_000), RTPMap(32, "MPV", 90_000), RTPMap(33, "MP2T", 90_000),
    RTPMap(34, "H263", 90_000),
  ]

  /// RFC 4588, RFC 2198, RFC 5109, RFC 8627 and the draft of it that browsers speak, RFC 6015, RFC 3009.
  private static let auxiliaryNames: Set<String> = [
    "rtx", "red", "ulpfec", "flexfec", "flexfec-03", "1d-interleaved-parityfec", "parityfec",
  ]
}

extension StringProtocol {
  /// The text without spaces and tabs around it.
  var trimmed: String {
    var bytes = Substring(self).utf8
    while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
    while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
    return String(Substring(bytes))
  }
}
