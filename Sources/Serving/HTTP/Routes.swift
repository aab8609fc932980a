/// What is answered at which path.
///
/// ```swift
/// var routes = Routes()
/// routes.add("/metrics") { request in
///   Answer(contentType: "text/plain; version=0.0.4", body: ByteBuffer(string: text))
/// }
/// ```
public struct Routes: Sendable {
  /// Answers a request, on a queue of the server; may take a few seconds.
  public typealias Answering = @Sendable (Request) async -> Answer

  private var exact: [String: Answering] = [:]
  /// Those in whose path one part is a name.
  private var named: [Named] = []

  private struct Named: Sendable {
    let prefix: String
    let suffix: String
    let answer: @Sendable (String, Request) async -> Answer
  }

  public init() {}

  /// Has `answer` answer requests for `path`.
  public mutating func add(_ path: String, answer: @escaping Answering) { exact[path] = answer }

  /// Has `answer` answer requests for paths that are a name between `prefix` and `suffix`; it gets
  /// the name, which has small letters, digits, `-` and `_`.
  public mutating func add(
    from prefix: String, to suffix: String,
    answer: @escaping @Sendable (String, Request) async -> Answer
  ) {
    named.append(Named(prefix: prefix, suffix: suffix, answer: answer))
  }

  /// What answers `request`; `nil` if there is no such path.
  ///
  /// Paths are compared as they are sent, so that no way of writing `..` leads anywhere.
  func answering(_ request: Request) -> (@Sendable () async -> Answer)? {
    if let answer = exact[request.path] { return { await answer(request) } }
    for route in named {
      let path = request.path
      guard path.count > route.prefix.count + route.suffix.count,
        path.hasPrefix(route.prefix), path.hasSuffix(route.suffix)
      else { continue }
      let name = String(path.dropFirst(route.prefix.count).dropLast(route.suffix.count))
      guard name.utf8.allSatisfy(Self.isAllowedInName) else { continue }
      return { await route.answer(name, request) }
    }
    return nil
  }

  private static func isAllowedInName(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x2D || byte == 0x5F
  }
}
