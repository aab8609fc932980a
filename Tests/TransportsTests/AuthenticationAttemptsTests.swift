import TestSupport
import Testing

@testable import Transports

struct AuthenticationAttemptsTests {
  private static let credentials = Credentials(user: "admin", password: "hunter2")

  /// Makes a server answer consecutive requests with `answers`; an empty one accepts.
  ///
  /// Returns the algorithms and nonces of the requests, and the error.
  private func run(
    _ answers: [[String]], credentials: Credentials? = credentials, allowsBasic: Bool = true
  ) -> (sent: [String], error: RTSPError?) {
    var authenticator = Authenticator(
      credentials: credentials, allowsBasic: allowsBasic, randomness: KnownNumbers.counting(from: 1)
    )
    var sent: [String] = []
    var attempts = Authenticator.Attempts()
    for answer in answers {
      let field = authenticator.authorization(method: "M", uri: "u", attempts: &attempts)
      let parsed = AuthenticationChallenge.parse([field ?? ""]).first
      sent.append(
        [
          parsed?.scheme, parsed?.parameters["algorithm"], parsed?.parameters["nonce"],
          parsed?.parameters["nc"],
        ].compactMap(\.self).joined(separator: " "))
      if answer.isEmpty {
        attempts = Authenticator.Attempts()
        continue
      }
      let challenges = AuthenticationChallenge.parse(answer)
      if case .refused(let error) = authenticator.consider(challenges, attempts: &attempts) {
        return (sent, error)
      }
    }
    return (sent, nil)
  }

  /// An attacker waits for the connection to break, and asks for weaker authentication in the next.
  @Test func aPasswordOnceDigestedIsNotSentInClearInALaterConnection() {
    let result = run([[Self.basic]], allowsBasic: false)
    #expect(result.error == .authenticationUnsupported(schemes: ["Basic"]))
    #expect(run([[Self.md5], []], allowsBasic: false).error == nil)
  }

  private static let sha512 = #"Digest realm="r", nonce="x", qop="auth", algorithm=SHA-512-256"#
  private static let sha256 = #"Digest realm="r", nonce="y", qop="auth", algorithm=SHA-256"#
  private static let md5 = #"Digest realm="r", nonce="z", qop="auth", algorithm=MD5"#
  private static let basic = #"Basic realm="r""#

  @Test(
    arguments: [
      ([basic, md5, sha512, sha256], "Digest SHA-512-256 x 00000001"),
      ([sha256 + ", " + basic + ", " + md5], "Digest SHA-256 y 00000001"),
      ([basic, md5], "Digest MD5 z 00000001"),
      (["Negotiate", #"Digest nonce="q", algorithm=FUTURE"#, basic], "Basic"),
    ]
  )
  func theStrongestChallengeIsAnswered(challenges: [String], expected: String) {
    #expect(run([challenges, []]).sent == ["", expected])
  }

  @Test func requestsWithOneNonceAreCounted() {
    let sent = run([[Self.md5], [], [], []]).sent
    #expect(
      sent == ["", "Digest MD5 z 00000001", "Digest MD5 z 00000002", "Digest MD5 z 00000003"])
  }

  @Test func aStaleNonceIsReplacedOnce() {
    let stale = #"Digest realm="r", nonce="n2", qop="auth", algorithm=MD5, stale=true"#
    #expect(
      run([[Self.md5], [], [stale], []]).sent
        == ["", "Digest MD5 z 00000001", "Digest MD5 z 00000002", "Digest MD5 n2 00000001"])
    #expect(run([[Self.md5], [], [stale], []]).error == nil)
  }

  @Test func aServerThatCallsEveryNonceStaleIsGivenUp() {
    let stale = #"Digest realm="r", nonce="n2", qop="auth", algorithm=MD5, stale=true"#
    let result = run([[Self.md5]] + Array(repeating: [stale], count: 100))
    #expect(result.error == .credentialsRefused(realm: "r"))
    #expect(result.sent.count <= 1 + 3)
  }

  @Test func aServerThatReplacesItsNonceWithoutSayingSoIsAnsweredAgain() {
    let other = #"Digest realm="r", nonce="n2", qop="auth", algorithm=MD5"#
    let result = run([[Self.md5], [], [other], []])
    #expect(result.sent.last == "Digest MD5 n2 00000001")
    #expect(result.error == nil)
  }

  @Test func aWrongPasswordIsTriedOnceWhereThereIsOneAlgorithm() {
    let result = run([[Self.md5], [Self.md5], [Self.md5]])
    #expect(result.error == .credentialsRefused(realm: "r"))
    #expect(result.sent.count == 2)
  }

  @Test func aNewNonceInEachRefusalMeansAWrongPassword() {
    let answers = (0..<100).map { [#"Digest realm="r", nonce="n\#($0)", qop="auth""#] }
    let result = run(answers)
    #expect(result.error == .credentialsRefused(realm: "r"))
    #expect(result.sent.filter { !$0.isEmpty }.count <= 2)
  }

  @Test func firmwareThatOffersSHA256AndAcceptsOnlyMD5IsTriedWithBoth() {
    let both = [Self.sha256, Self.md5]
    let result = run([both, both, [], []])
    #expect(
      result.sent
        == ["", "Digest SHA-256 y 00000001", "Digest MD5 z 00000001", "Digest MD5 z 00000002"])
    #expect(run([both, both, both]).error == .credentialsRefused(realm: "r"))
  }

  @Test func basicAfterDigestIsADowngradeAndRefused() {
    let result = run([[Self.md5], [Self.basic]])
    #expect(result.error == .authenticationUnsupported(schemes: ["Basic"]))
    #expect(!result.sent.contains("Basic"))
  }

  @Test func digestAfterBasicIsTaken() {
    let result = run([[Self.basic], [], [Self.md5], []])
    #expect(result.sent == ["", "Basic", "Basic", "Digest MD5 z 00000001"])
  }

  @Test func basicGoesToTheRealmThatAskedFirst() {
    #expect(
      run([[Self.basic], [], [#"Basic realm="other""#]]).error
        == .credentialsRefused(realm: "other"))
    #expect(run([[Self.basic], [Self.basic]]).error == .credentialsRefused(realm: "r"))
  }

  @Test(
    arguments: [
      ([md5], RTSPError.credentialsMissing(realm: "r")), ([basic], .credentialsMissing(realm: "r")),
      (["Negotiate"], .authenticationUnsupported(schemes: ["Negotiate"])),
      ([#"Digest nonce="a", algorithm=X"#], .authenticationUnsupported(schemes: ["Digest"])),
    ]
  )
  func withoutCredentialsItSaysWhatIsMissing(challenges: [String], expected: RTSPError) {
    #expect(run([challenges], credentials: nil).error == expected)
  }

  @Test func theServerAfterARedirectGetsNothing() {
    var authenticator = Authenticator(
      credentials: Self.credentials, randomness: KnownNumbers.counting(from: 1))
    var attempts = Authenticator.Attempts()
    let digest = AuthenticationChallenge.parse([Self.md5])
    #expect(authenticator.consider(digest, attempts: &attempts) == .retry)
    authenticator.move(with: nil)
    #expect(authenticator.authorization(method: "M", uri: "u", attempts: &attempts) == nil)
    #expect(
      authenticator.consider(digest, attempts: &attempts)
        == .refused(.credentialsMissing(realm: "r")))
    // Back again, the first server cannot ask for less than before.
    authenticator.move(with: Self.credentials)
    #expect(
      authenticator.consider(AuthenticationChallenge.parse([Self.basic]), attempts: &attempts)
        == .refused(.authenticationUnsupported(schemes: ["Basic"])))
  }

  @Test(
    arguments: [
      ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("a", "", "Basic YTo="),
      ("a", "b", "Basic YTpi"), ("", "", "Basic Og=="), ("ä", "ö", "Basic w6Q6w7Y="),
    ]
  )
  func basicIsBase64(user: String, password: String, expected: String) {
    var authenticator = Authenticator(
      credentials: Credentials(user: user, password: password),
      randomness: KnownNumbers.counting(from: 1))
    var attempts = Authenticator.Attempts()
    _ = authenticator.consider(AuthenticationChallenge.parse([Self.basic]), attempts: &attempts)
    #expect(authenticator.authorization(method: "M", uri: "u", attempts: &attempts) == expected)
  }
}
