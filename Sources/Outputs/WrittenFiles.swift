/// The last files that an output wrote, in order, and how many there were.
public struct WrittenFiles: Sendable, Hashable, ExpressibleByArrayLiteral {
  /// A recording may go on for years.
  public static let limit = 100

  /// The paths of the last ones, at most ``limit``.
  public private(set) var last: [String] = []
  public private(set) var count = 0

  public init() {}

  public init(arrayLiteral paths: String...) { for path in paths { append(path) } }

  public mutating func append(_ path: String) {
    if last.count >= Self.limit { last.removeFirst() }
    last.append(path)
    count += 1
  }

  /// Forgets the last one, to which nothing was written.
  mutating func removeLast() {
    guard last.popLast() != nil else { return }
    count -= 1
  }
}
