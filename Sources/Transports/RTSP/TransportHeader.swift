/// What a server answers to the Transport of a SETUP (RFC 2326 §12.39).
///
/// Parameters come in any order: Luckfox boards write `ssrc` first. The protocol is not looked at,
/// because the Escam Q6 answers `RTP/AVP` for TCP and means it when it writes `interleaved`. Nor is
/// `ssrc`: Hikvision writes a space before it, Uniden leaves zeros out, and Uniview's changes with
/// each group of pictures. And nor is `source`: packets from elsewhere than the host that is talked
/// to are never asked for.
struct TransportHeader: Sendable, Hashable {
  /// A channel or port for RTP, and that for RTCP if there is one in range.
  struct Pair<Number: Sendable & Hashable>: Sendable, Hashable {
    var media: Number
    var control: Number?
  }

  /// 0 … 255, as `interleaved`.
  private(set) var interleaved: Pair<UInt8>?
  /// 1 … 65535, as `server_port`.
  private(set) var serverPort: Pair<Int>?
  /// 1 … 65535, the ports of a group, as `port`.
  private(set) var port: Pair<Int>?
  /// The address of a group, without brackets.
  private(set) var destination: String?
  /// As `ttl`.
  private(set) var timeToLive: UInt8?

  /// Reads the first transport of a field, which is the one that the server chose; what can not be
  /// understood is left out, and of a repeated parameter the first counts.
  init(_ text: String) {
    let bounded = String(decoding: text.utf8.prefix(Self.maximumLength), as: UTF8.self)
    guard let transport = bounded.partsOutsideQuotes(separator: UInt8(ascii: ",")).first else {
      return
    }
    for part in transport.partsOutsideQuotes(separator: UInt8(ascii: ";")) {
      guard let (name, value) = part.parameter else { continue }
      switch name {
      case "interleaved": interleaved = interleaved ?? Self.pair(value) { UInt8(exactly: $0) }
      case "server_port": serverPort = serverPort ?? Self.pair(value, Self.port)
      case "port": port = port ?? Self.pair(value, Self.port)
      case "destination": destination = destination ?? Self.address(value)
      case "ttl": timeToLive = timeToLive ?? value.decimal.flatMap { UInt8(exactly: $0) }
      default: break
      }
    }
  }

  /// `first[-second]`; a second number out of range is left out, and without the first there is none.
  private static func pair<Number>(
    _ text: String, _ number: (Int) -> Number?
  ) -> Pair<Number>? {
    let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    let numbers = parts.map { $0.decimal.flatMap(number) }
    guard case .some(.some(let media)) = numbers.first else { return nil }
    return Pair(media: media, control: numbers.count == 2 ? numbers[1] : nil)
  }

  private static func port(_ number: Int) -> Int? { (1...65_535).contains(number) ? number : nil }

  private static func address(_ text: String) -> String? {
    let bare =
      text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
    return bare.isEmpty || bare.utf8.count > SourceAddress.maximumHost ? nil : bare
  }

  /// Bytes of a field that are looked at; a transport has some hundred.
  private static let maximumLength = 4 << 10
}
