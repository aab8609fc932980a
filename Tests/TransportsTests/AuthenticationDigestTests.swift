import NIOCore
import Testing

@testable import Transports

struct AuthenticationDigestTests {
  /// What `Authorization` says in `response=`.
  private func response(
    to challenge: String, user: String, password: String, uri: String, clientNonce: String,
    count: UInt32 = 1
  ) throws -> String? {
    let challenge = try #require(AuthenticationChallenge.parse([challenge]).first)
    let field = try #require(DigestChallenge(challenge)).authorization(
      for: Credentials(user: user, password: password), method: "GET", uri: uri,
      clientNonce: clientNonce, count: count)
    return AuthenticationChallenge.parse([field ?? ""]).first?.parameters["response"]
  }

  @Test(
    arguments: [
      ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
      ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ]
  )
  func theExampleOfRFC7616(algorithm: String, expected: String) throws {
    let challenge = """
      Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=\(algorithm), \
      nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", \
      opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
      """
    #expect(
      try response(
        to: challenge, user: "Mufasa", password: "Circle of Life", uri: "/dir/index.html",
        clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ") == expected)
  }

  /// §3.9.2, with the response of its erratum: that of the RFC was made with a draft of the hash.
  @Test func theExampleOfRFC7616InUTF8() throws {
    let challenge = """
      Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, \
      nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", \
      opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8
      """
    #expect(
      try response(
        to: challenge, user: "J\u{E4}s\u{F8}n Doe", password: "Secret, or not?", uri: "/doe.json",
        clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v")
        == "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5")
  }

  @Test func theExampleOfRFC2617() throws {
    let challenge = """
      Digest realm="testrealm@host.com", qop="auth,auth-int", \
      nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"
      """
    #expect(
      try response(
        to: challenge, user: "Mufasa", password: "Circle Of Life", uri: "/dir/index.html",
        clientNonce: "0a4f113b") == "6629fae49393a05397450978507c4ef1")
  }

  /// With the response of its erratum.
  @Test func theExampleOfRFC2069WithoutQop() throws {
    let challenge = """
      Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \
      opaque="5ccc069c403ebaf9f0171e9517f40e41"
      """
    #expect(
      try response(
        to: challenge, user: "Mufasa", password: "CircleOfLife", uri: "/dir/index.html",
        clientNonce: "unused") == "1949323746fe6a43ef61f9606e7febea")
  }

  /// Computed with Python's hashlib.
  @Test(
    arguments: [
      (#"algorithm=MD5-sess, qop="auth""#, "222da70da83683faffbd479589c11f32"),
      ("algorithm=MD5-sess", "42c3bc35a84b82366b053165523bd1dd"),
      (
        #"algorithm="sha-256-SESS", qop=auth"#,
        "350ec237fe2a841d32617d67370260afd97b3c55b834474dbe9b83bee93a6c85"
      ),
    ]
  )
  func sessionKeysAreMadeFromTheNonces(parameters: String, expected: String) throws {
    #expect(
      try response(
        to: #"Digest realm="cam", nonce="n1", "# + parameters, user: "admin", password: "12345",
        uri: "rtsp://cam/1", clientNonce: "c1", count: 0x2A) == expected)
  }

  /// Cameras have a name for a realm, in UTF-8, Latin-1 or GBK.
  ///
  /// Computed with Python's hashlib.
  @Test(
    arguments: [
      (Array("Kamera T\u{FC}r".utf8), "222b481b1388afd1d4143b1098151969"),
      ([0x43, 0x61, 0x6D, 0xE9, 0x72, 0x61], "019f688fae2f16d98573e9728b92f574"),
      ([0xC9, 0xE3, 0xCF, 0xF1, 0xCD, 0xB7], "b5c56c04bf3566160b2722a6bf8504e3"),
    ] as [([UInt8], String)]
  )
  func aRealmIsAnsweredByteForByte(realm: [UInt8], expected: String) throws {
    let start = "RTSP/1.0 401 No\r\nWWW-Authenticate: Digest nonce=\"n\", realm=\""
    var bytes = ByteBuffer(bytes: Array(start.utf8) + realm + Array("\"\r\n\r\n".utf8))
    var reader = RTSPMessageReader()
    guard case .message(.response(let refusal)) = try reader.read(from: &bytes) else {
      Issue.record("no response")
      return
    }
    let challenges = AuthenticationChallenge.parse(refusal.headers.all("WWW-Authenticate"))
    let challenge = try #require(challenges.first.flatMap { DigestChallenge($0) })
    let field = try #require(
      challenge.authorization(
        for: Credentials(user: "user", password: "pass"), method: "GET", uri: "u",
        clientNonce: "c", count: 1))
    var request = RTSPRequest(method: "GET", uri: "u")
    request.headers.add("Authorization", field)
    let sent = Array(request.encoded().readableBytesView)
    #expect(sent.contains(Array("realm=\"".utf8) + realm + Array("\"".utf8)))
    #expect(sent.contains(Array("response=\"\(expected)\"".utf8)))
  }

  @Test func theFieldSaysWhatTheChallengeAskedAndNoMore() throws {
    let credentials = Credentials(user: #"a"b\c"#, password: "p")
    func field(_ challenge: String) throws -> [String: String] {
      let challenge = try #require(AuthenticationChallenge.parse([challenge]).first)
      let field = try #require(DigestChallenge(challenge)).authorization(
        for: credentials, method: "DESCRIBE", uri: "rtsp://cam/1", clientNonce: "c", count: 0xFACE)
      return try #require(AuthenticationChallenge.parse([field ?? ""]).first).parameters
    }
    let old = try field(#"Digest realm="r", nonce="n""#)
    #expect(Set(old.keys) == ["username", "realm", "nonce", "uri", "response"])
    #expect(old["username"] == #"a"b\c"#)
    let new = try field(
      #"Digest realm="r", nonce="n", opaque="", algorithm=md5, qop="auth-int,auth""#)
    #expect(
      Set(new.keys)
        == [
          "username", "realm", "nonce", "uri", "response", "opaque", "algorithm", "qop", "nc",
          "cnonce",
        ])
    #expect(new["nc"] == "0000face")
    #expect(new["qop"] == "auth")
    #expect(new["algorithm"] == "md5")
  }

  @Test(
    arguments: [
      #"Digest realm="r""#, #"Basic realm="r", nonce="n""#, #"Digest nonce="n", qop="auth-int""#,
      #"Digest nonce="n", algorithm=SHA-1"#, #"Digest nonce="n", algorithm="#,
      #"Digest nonce="n", algorithm=-sess"#,
    ]
  )
  func whatCannotBeMetIsNoChallenge(field: String) throws {
    let challenge = try #require(AuthenticationChallenge.parse([field]).first)
    #expect(DigestChallenge(challenge) == nil)
  }
}
