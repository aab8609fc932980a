/// One challenge of a WWW-Authenticate field (RFC 7235 §4.1): how a server wants clients to log in.
struct AuthenticationChallenge: Sendable, Hashable {
  /// `Digest`, `Basic` …, as written.
  var scheme: String
  /// Names in lower case; values without quotation marks and escapes.
  var parameters: [String: String] = [:]

  /// Reads all challenges of all fields, in order.
  ///
  /// One field may hold several, separated by the same commas as their parameters (RFC 7235 §4.1):
  /// a word without an equals sign begins a challenge. A missing comma is tolerated. Whatever
  /// exceeds a limit is left out.
  static func parse(_ fields: [String]) -> [AuthenticationChallenge] {
    var challenges: [AuthenticationChallenge] = []
    for field in fields.prefix(maximumChallenges) {
      var reader = ChallengeReader(field)
      // Parameters before the first scheme of a field belong to no challenge.
      let first = challenges.count
      while let item = reader.next() {
        switch item {
        case .scheme(let scheme):
          guard challenges.count < maximumChallenges else { return challenges }
          challenges.append(AuthenticationChallenge(scheme: scheme))
        case .parameter(let name, let value):
          guard let last = challenges.indices.last, last >= first,
            challenges[last].parameters.count < maximumParameters
          else { continue }
          // When a parameter is repeated, the first one counts.
          if challenges[last].parameters[name] == nil { challenges[last].parameters[name] = value }
        }
      }
    }
    return challenges
  }

  /// The most challenges read; there are fewer kinds of authentication.
  static let maximumChallenges = 16
  /// The most parameters of one challenge; a digest challenge has ten at most.
  static let maximumParameters = 32
  /// How many bytes of a field are read; a challenge has a few hundred.
  static let maximumLength = 8 << 10
}

/// Splits a field into schemes, each of which begins a challenge, and parameters.
private struct ChallengeReader {
  enum Item {
    case scheme(String)
    case parameter(name: String, value: String)
  }

  private var rest: ArraySlice<UInt8>

  init(_ field: String) {
    rest = Array(field.utf8.prefix(AuthenticationChallenge.maximumLength))[...]
  }

  mutating func next() -> Item? {
    while true {
      skip { Self.isBlank($0) || $0 == UInt8(ascii: ",") }
      guard let first = rest.first else { return nil }
      let word = take { !Self.isBlank($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") }
      let afterWord = rest
      skip(Self.isBlank)
      guard rest.first == UInt8(ascii: "=") else {
        rest = afterWord
        return .scheme(String(decoding: word, as: UTF8.self))
      }
      rest.removeFirst()
      // An equals sign without a name, as at the end of base64, is skipped.
      guard first != UInt8(ascii: "=") else { continue }
      skip(Self.isBlank)
      let name = String(decoding: word, as: UTF8.self).lowercased()
      return .parameter(name: name, value: String(decoding: value(), as: UTF8.self))
    }
  }

  /// A token, or a quoted string (RFC 7230 §3.2.6); an unclosed string ends with the field.
  private mutating func value() -> [UInt8] {
    guard rest.first == UInt8(ascii: "\"") else {
      return Array(take { !Self.isBlank($0) && $0 != UInt8(ascii: ",") })
    }
    rest.removeFirst()
    var value: [UInt8] = []
    while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
      if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
        value.append(escaped)
      } else {
        value.append(byte)
      }
    }
    return value
  }

  private mutating func take(while isPart: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let part = rest.prefix(while: isPart)
    rest = rest[part.endIndex...]
    return part
  }

  private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
    rest = rest.drop(while: isSkipped)
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }
}

extension String {
  /// The text as a quoted string of a header field (RFC 7230 §3.2.6), without control characters.
  var quoted: String {
    var text = "\""
    for scalar in unicodeScalars where scalar.value >= 0x20 && scalar.value != 0x7F {
      if scalar == "\"" || scalar == "\\" { text += "\\" }
      text.unicodeScalars.append(scalar)
    }
    return text + "\""
  }
}
