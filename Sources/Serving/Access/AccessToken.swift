/// The secret that opens the page to other machines; random, and new in each run.
public struct AccessToken: Sendable {
  /// 32 hexadecimal digits, 128 random bits.
  public let text: String

  /// Makes a random one.
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
