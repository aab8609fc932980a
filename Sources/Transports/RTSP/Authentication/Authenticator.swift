/// Logs in to one server: answers its challenges, and decides when to give up.
///
/// Credentials belong to a scheme, host and port; ``move(with:)`` replaces them after a redirect to
/// another. The strongest supported challenge is answered; Basic only where the server never
/// offered anything stronger. A request is sent at most twice with a password, because cameras lock
/// accounts, and once more when the server says that only its nonce was stale.
struct Authenticator: Sendable {
  /// What to do about a 401 response.
  enum Verdict: Sendable, Hashable {
    /// Send the request again, with a new ``authorization(method:uri:attempts:)``.
    case retry
    case refused(RTSPError)
  }

  /// What was tried for one request.
  struct Attempts: Sendable, Hashable {
    /// How often the request was sent with an answer to a challenge.
    fileprivate(set) var count = 0
    /// Whether the challenge being answered came in response to this request, not to an earlier
    /// one.
    fileprivate var isChallenged = false
    fileprivate var hasRetriedStale = false

    /// Whether the password was sent as often as it may be.
    var areExhausted: Bool { count >= Authenticator.maximumAttempts + (hasRetriedStale ? 1 : 0) }
  }

  /// Whether the password is sent in clear, so that anybody on an unencrypted path can read it.
  var revealsPassword: Bool {
    if case .basic = method { return true }
    return false
  }

  private var credentials: Credentials?
  private var randomness: any RandomNumberGenerator & Sendable
  private var method = Method.none
  /// Whether the server has ever asked for a digest; from then on it never gets the password in
  /// clear.
  private(set) var hasSeenDigest: Bool

  private enum Method {
    case none
    case basic(realm: String)
    case digest(DigestChallenge, clientNonce: String, count: UInt32)
  }

  /// Starts with one server; the client's nonces come from `randomness`.
  init(
    credentials: Credentials?, allowsBasic: Bool = true,
    randomness: any RandomNumberGenerator & Sendable
  ) {
    self.credentials = credentials
    hasSeenDigest = !allowsBasic
    self.randomness = randomness
  }

  /// Starts again with another server, which must not get away with weaker authentication.
  mutating func move(with credentials: Credentials?) {
    self.credentials = credentials
    method = .none
  }

  /// The Authorization field for a request that is about to be sent; `nil` before any challenge.
  mutating func authorization(
    method requestMethod: String, uri: String, attempts: inout Attempts
  ) -> String? {
    guard let credentials else { return nil }
    switch method {
    case .none: return nil
    case .basic:
      attempts.count += 1
      return "Basic " + credentials.basic
    case .digest(let challenge, let clientNonce, let previous):
      attempts.count += 1
      // After a wrap-around the server takes the count for a repeated one and sends a new nonce.
      let count = previous &+ 1
      method = .digest(challenge, clientNonce: clientNonce, count: count)
      return challenge.authorization(
        for: credentials, method: requestMethod, uri: uri, clientNonce: clientNonce, count: count)
    }
  }

  /// Decides how to go on after a request was answered with 401 and `challenges`.
  mutating func consider(
    _ challenges: [AuthenticationChallenge], attempts: inout Attempts
  ) -> Verdict {
    let digests = challenges.compactMap { DigestChallenge($0) }
    let basic = challenges.first { $0.scheme.lowercased() == "basic" }
    let realm = digests.first?.realm ?? basic?.parameters["realm"] ?? ""
    if !digests.isEmpty {
      guard credentials != nil else { return .refused(.credentialsMissing(realm: realm)) }
      hasSeenDigest = true
      return choose(among: digests, realm: realm, attempts: &attempts)
    }
    guard basic != nil, !hasSeenDigest else {
      return .refused(.authenticationUnsupported(schemes: challenges.map(\.scheme)))
    }
    guard credentials != nil else { return .refused(.credentialsMissing(realm: realm)) }
    // A password in clear goes only to the realm that first asked for it.
    if case .basic(let known) = method, known != realm || attempts.count > 0 {
      return .refused(.credentialsRefused(realm: realm))
    }
    method = .basic(realm: realm)
    attempts.isChallenged = true
    return .retry
  }

  private mutating func choose(
    among challenges: [DigestChallenge], realm: String, attempts: inout Attempts
  ) -> Verdict {
    let ranked = challenges.sorted { $0.algorithm > $1.algorithm }
    guard attempts.count > 0, case .digest(let answered, _, _) = method else {
      return answer(ranked.first, realm: realm, attempts: &attempts)
    }
    let renewed = ranked.first { $0.algorithm == answered.algorithm }
    if let renewed, renewed.isStale, !attempts.hasRetriedStale {
      attempts.hasRetriedStale = true
      return answer(renewed, realm: realm, attempts: &attempts)
    }
    guard !attempts.areExhausted else {
      return .refused(.credentialsRefused(realm: realm))
    }
    // Many servers replace a nonce without calling the old one stale.
    if !attempts.isChallenged {
      return answer(renewed ?? ranked.first, realm: realm, attempts: &attempts)
    }
    // Some firmware offers SHA-256 but accepts only MD5.
    let weakest = ranked.last.flatMap { $0.algorithm < answered.algorithm ? $0 : nil }
    return answer(weakest, realm: realm, attempts: &attempts)
  }

  private mutating func answer(
    _ challenge: DigestChallenge?, realm: String, attempts: inout Attempts
  ) -> Verdict {
    guard let challenge else { return .refused(.credentialsRefused(realm: realm)) }
    attempts.isChallenged = true
    let clientNonce = String(randomness.next(), radix: 16) + String(randomness.next(), radix: 16)
    method = .digest(challenge, clientNonce: clientNonce, count: 0)
    return .retry
  }

  /// The most attempts with one password, not counting the one for a stale nonce.
  private static let maximumAttempts = 2
}

extension Credentials {
  /// Both as Basic authentication sends them (RFC 7617 §2).
  var basic: String { String(decoding: "\(user):\(password)".utf8.base64, as: UTF8.self) }
}
