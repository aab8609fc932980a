internal import RTPWire

/// `a=rtpmap:<payload type> <encoding name>/<clock rate>[/<parameters>]` (RFC 8866 §6.6).
struct RTPMap: Sendable, Hashable {
  /// 0 … 127; Bosch cameras use 35 for H.264, which RFC 3551 leaves unassigned.
  let payloadType: UInt8
  let name: String
  /// Ticks per second, or `nil` if the text is not a valid rate.
  let clockRate: UInt32?
  /// Channels of sound, where the text says them.
  let channels: Int?

  /// Whether packets of this type only protect or repeat others.
  var isAuxiliary: Bool { Self.auxiliaryNames.contains(name.lowercased()) }

  init?(_ value: String) {
    let words = value.split(separator: " ", maxSplits: 1)
    guard words.count == 2, let number = UInt8(words[0]), number <= 127 else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    // Real and macro-video servers write spaces around the name.
    guard let name = parts.first?.trimmed, !name.isEmpty else { return nil }
    let rate = parts.dropFirst().first.flatMap { UInt32($0.trimmed) }
    let channels = parts.dropFirst(2).first.flatMap { Int($0.trimmed) }
    self.init(
      number, name, rate.flatMap { (1...UInt32(Int32.max)).contains($0) ? $0 : nil },
      channels.flatMap { (1...255).contains($0) ? $0 : nil })
  }

  private init(_ payloadType: UInt8, _ name: String, _ clockRate: UInt32?, _ channels: Int?) {
    self.payloadType = payloadType
    self.name = name
    self.clockRate = clockRate
    self.channels = channels
  }

  /// The static assignment (RFC 3551 §6); `nil` for types that a session defines.
  init?(assignedTo payloadType: UInt8) {
    guard let type = StaticPayloadType(payloadType) else { return nil }
    self.init(
      payloadType, type.encodingName, type.clockRate, type.kind == .audio ? type.channels : nil)
  }

  /// RFC 4588, RFC 2198, RFC 5109, RFC 8627 and its draft that browsers use, RFC 6015, RFC 3009.
  private static let auxiliaryNames: Set<String> = [
    "rtx", "red", "ulpfec", "flexfec", "flexfec-03", "1d-interleaved-parityfec", "parityfec",
  ]
}

extension StringProtocol {
  /// The text without surrounding spaces and tabs.
  var trimmed: String {
    var bytes = Substring(self).utf8
    while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
    while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
    return String(Substring(bytes))
  }
}
