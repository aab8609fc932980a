/// The secret that opens the page to other machines.
public struct AccessToken: Sendable {
  /// What is in the address.
  public let text: String

  /// Takes a chosen one; `nil` unless it is 16 to 128 letters, digits, hyphens and underscores.
  public init?(_ text: String) {
    let isFit = text.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || byte == 0x2D || byte == 0x5F
    }
    guard isFit, (16...128).contains(text.utf8.count) else { return nil }
    self.text = text
  }

  /// Makes a random one: 32 hexadecimal digits, 128 random bits.
  public init() {
    var generator = SystemRandomNumberGenerator()
    text = (0..<4).map { _ in Self.digits(generator.next() as UInt32) }.joined()
  }

  /// Whether `other` is the same; how long that takes does not tell where it differs.
  func matches(_ other: some StringProtocol) -> Bool {
    let (own, other) = (Array(text.utf8), Array(other.utf8))
    guard own.count == other.count else { return false }
    return zip(own, other).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
  }

  private static func digits(_ number: UInt32) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}

extension AccessToken: CustomStringConvertible {
  /// Not the secret.
  public var description: String { "token" }
}
