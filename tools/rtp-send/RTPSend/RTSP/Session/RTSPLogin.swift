import CAVHash
import NIOCore
import RTPWire

/// Who may watch, and how they prove it.
public struct RTSPLogin: Sendable {
  public enum Method: String, Sendable, CaseIterable {
    /// RFC 7616 with MD5, which every client knows.
    case digest
    case sha256 = "sha-256"
    /// RFC 7617: the password itself, which TLS has to hide.
    case basic
  }

  public static let realm = "rtp-send"

  /// Passwords by names.
  public var accounts: [String: String]
  public var methods: Set<Method>

  public init(accounts: [String: String], methods: Set<Method> = [.digest]) {
    self.accounts = accounts
    self.methods = methods
  }

  /// Reads lines of `NAME:PASSWORD`; empty lines, and those that begin with `#`, are left out.
  ///
  /// - Throws: the number of the first line that is neither, or 0 if there is no account.
  public static func accounts(in text: String) throws(AccountFault) -> [String: String] {
    var accounts: [String: String] = [:]
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, line) in lines.enumerated() {
      if line.isEmpty || line.hasPrefix("#") { continue }
      guard let colon = line.firstIndex(of: ":"), colon != line.startIndex,
        line.utf8.allSatisfy({ $0 >= 32 && $0 != 127 && $0 != 34 })
      else { throw AccountFault(line: index + 1) }
      accounts[String(line[..<colon])] = String(line[line.index(after: colon)...])
    }
    guard !accounts.isEmpty else { throw AccountFault(line: 0) }
    return accounts
  }

  public struct AccountFault: Error, Sendable, Hashable {
    /// The first is 1; 0 means that there is no account at all.
    public let line: Int
  }
}

/// The logins of one connection: what it is asked, and whether its answers are right.
struct RTSPGate: Sendable {
  /// How long an answer to one challenge is good for.
  static let nonceLifetimeNanoseconds: Int64 = 600_000_000_000
  /// A connection that has failed so often is closed; players try twice.
  static let mostFailures = 10

  enum Verdict: Sendable, Equatable {
    case admitted
    case refused(isStale: Bool)
  }

  private let login: RTSPLogin
  private var nonce = ""
  private var issued = Int64.min
  private(set) var failures = 0

  init(_ login: RTSPLogin) { self.login = login }

  /// Judges the `Authorization:` of a request that came at `now`.
  mutating func judge(_ request: RTSPRequest, at now: Int64) -> Verdict {
    guard let value = request["authorization"] else { return .refused(isStale: false) }
    let words = value.split(separator: " ", maxSplits: 1)
    let scheme = words.first?.lowercased() ?? ""
    let rest = words.count > 1 ? String(words[1]) : ""
    let isRight: Bool
    switch scheme {
    case "basic":
      isRight = login.methods.contains(.basic) && isRightBasic(rest.trimmed)
    case "digest":
      let fields = Self.fields(rest)
      isRight = isRightDigest(fields, request)
      if isRight, fields["nonce"] != nonce || !isFresh(at: now) {
        return .refused(isStale: true)
      }
    default: isRight = false
    }
    if !isRight { failures += 1 }
    return isRight ? .admitted : .refused(isStale: false)
  }

  /// The headers that ask for a login.
  ///
  /// live555 reads realm and nonce first and in this order, and FFmpeg keeps the last Digest header
  /// that it sees, so that MD5 comes after SHA-256.
  mutating func challenge(isStale: Bool, at now: Int64, entropy: () -> UInt64) -> [String] {
    if nonce.isEmpty || !isFresh(at: now) {
      nonce = Self.hexadecimal(entropy()) + Self.hexadecimal(entropy())
      issued = now
    }
    let realm = RTSPLogin.realm
    let digest =
      #"Digest realm="\#(realm)", nonce="\#(nonce)""# + (isStale ? ", stale=true" : "")
    var headers: [String] = []
    if login.methods.contains(.sha256) { headers.append(digest + ", algorithm=SHA-256") }
    if login.methods.contains(.digest) { headers.append(digest + ", algorithm=MD5") }
    if login.methods.contains(.basic) { headers.append(#"Basic realm="\#(realm)""#) }
    return headers
  }

  private func isFresh(at now: Int64) -> Bool {
    now.subtractingSaturating(issued) < Self.nonceLifetimeNanoseconds
  }

  private func isRightBasic(_ text: String) -> Bool {
    // Every account is compared, so that time does not tell which names there are.
    var isRight = false
    for (name, password) in login.accounts {
      let expected = SessionDescription.base64(ByteBuffer(string: "\(name):\(password)"))
      if Self.isEqual(expected, text) { isRight = true }
    }
    return isRight
  }

  private func isRightDigest(_ fields: [String: String], _ request: RTSPRequest) -> Bool {
    let name = fields["username"] ?? ""
    let algorithm = (fields["algorithm"] ?? "MD5").uppercased()
    let hash: (String) -> String
    switch algorithm {
    case "MD5" where login.methods.contains(.digest): hash = { Self.hash($0, "MD5") }
    case "SHA-256" where login.methods.contains(.sha256): hash = { Self.hash($0, "SHA256") }
    default: return false
    }
    guard fields["realm"] == RTSPLogin.realm, let uri = fields["uri"],
      Self.isSame(uri, request.target), let response = fields["response"]
    else { return false }
    // An unknown name takes as long as a wrong password.
    let password = login.accounts[name]
    let first = hash("\(name):\(RTSPLogin.realm):\(password ?? "")")
    let second = hash("\(request.method):\(uri)")
    let middle =
      if let quality = fields["qop"] {
        ":\(fields["nc"] ?? ""):\(fields["cnonce"] ?? ""):\(quality):"
      } else {
        ":"
      }
    let expected = hash(first + ":\(fields["nonce"] ?? "")" + middle + second)
    // A hash that libavutil does not have proves nothing.
    guard !expected.isEmpty, password != nil else { return false }
    return Self.isEqual(expected, response.lowercased())
  }

  /// Whether the URL of a login is that of the request.
  ///
  /// Bosch's client names the path alone, VLC the base URL with its slash where it asks for a
  /// track, HappyTime the same without the slash.
  private static func isSame(_ uri: String, _ target: String) -> Bool {
    let (own, asked) = (RTSPTarget(uri), RTSPTarget(target))
    return own.path == asked.path && (own.track == nil || own.track == asked.track)
  }

  /// `name="value", name=value`, names in lower case.
  private static func fields(_ text: String) -> [String: String] {
    var fields: [String: String] = [:]
    var rest = text[...]
    while let equals = rest.firstIndex(of: "=") {
      let name = rest[..<equals].trimmed.lowercased()
      rest = rest[rest.index(after: equals)...]
      let value: Substring
      if rest.hasPrefix("\"") {
        rest = rest.dropFirst()
        value = rest.prefix { $0 != "\"" }
        rest = rest[value.endIndex...].dropFirst()
        rest = rest.drop { $0 != "," }.dropFirst()
      } else {
        value = rest.prefix { $0 != "," }
        rest = rest[value.endIndex...].dropFirst()
      }
      fields[name] = value.trimmed
    }
    return fields
  }

  /// In a time that does not depend on where they differ.
  private static func isEqual(_ left: String, _ right: String) -> Bool {
    let (left, right) = (Array(left.utf8), Array(right.utf8))
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | $1.0 ^ $1.1 } == 0
  }

  private static func hexadecimal(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// The hash that libavutil calls `name`, in hexadecimal; empty where it does not have it.
  static func hash(_ text: String, _ name: String) -> String {
    var context: OpaquePointer?
    guard unsafe av_hash_alloc(&context, name) >= 0, let context = unsafe context else { return "" }
    var freed: OpaquePointer? = unsafe context
    defer { unsafe av_hash_freep(&freed) }
    unsafe av_hash_init(context)
    let bytes = Array(text.utf8)
    unsafe av_hash_update(context, bytes, bytes.count)
    var digest = [UInt8](repeating: 0, count: Int(AV_HASH_MAX_SIZE))
    unsafe av_hash_final(context, &digest)
    return digest.prefix(Int(unsafe av_hash_get_size(context)))
      .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
