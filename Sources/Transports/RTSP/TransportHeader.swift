/// The Transport field of a server's answer to SETUP (RFC 2326 §12.39).
///
/// Parameters come in any order: Luckfox boards write `ssrc` first. Three parts are ignored. The
/// protocol: the Escam Q6 answers `RTP/AVP` for TCP, and only `interleaved` shows what it means.
/// `ssrc`: Hikvision writes a space before it, Uniden omits zeros, and Uniview's changes with each
/// group of pictures. `source`: packets are accepted only from the host that the session is with.
struct TransportHeader: Sendable, Hashable {
  /// A channel or port for RTP, and the one for RTCP if it is valid.
  struct Pair<Number: Sendable & Hashable>: Sendable, Hashable {
    var media: Number
    var control: Number?
  }

  /// The `interleaved` channels, 0 … 255.
  private(set) var interleaved: Pair<UInt8>?
  /// The `server_port` numbers, 1 … 65535.
  private(set) var serverPort: Pair<Int>?
  /// The `client_port` numbers, 1 … 65535, which the server repeats.
  private(set) var clientPort: Pair<Int>?
  /// The `port` numbers of a multicast group, 1 … 65535.
  private(set) var port: Pair<Int>?
  /// The address of a multicast group, without brackets.
  private(set) var destination: String?

  /// Reads the first transport of a field, which is the one the server chose.
  ///
  /// Parameters that cannot be understood are left out; when one is repeated, the first counts.
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
      case "client_port": clientPort = clientPort ?? Self.pair(value, Self.port)
      case "port": port = port ?? Self.pair(value, Self.port)
      case "destination": destination = destination ?? Self.address(value)
      default: break
      }
    }
  }

  /// Reads `first[-second]`; an invalid second number is left out, an invalid first one gives
  /// `nil`.
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

  /// How many bytes of a field are read; a transport has about a hundred.
  private static let maximumLength = 4 << 10
}
