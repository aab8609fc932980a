import Testing

@testable import Transports

struct AuthenticationChallengeTests {
  private typealias Challenge = AuthenticationChallenge

  @Test(
    arguments: [
      // RFC 7235 §4.1: several challenges in one field, divided by the commas of their parameters.
      (
        #"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#,
        [
          Challenge(
            scheme: "Newauth",
            parameters: ["realm": "apps", "type": "1", "title": #"Login to "apps""#]),
          Challenge(scheme: "Basic", parameters: ["realm": "simple"]),
        ]
      ),
      (
        #"Digest realm="a,b = c", qop="auth,auth-int", nonce="x==", Basic realm=plain"#,
        [
          Challenge(
            scheme: "Digest",
            parameters: ["realm": "a,b = c", "qop": "auth,auth-int", "nonce": "x=="]),
          Challenge(scheme: "Basic", parameters: ["realm": "plain"]),
        ]
      ),
      ("Basic", [Challenge(scheme: "Basic")]),
      ("Negotiate, Basic", [Challenge(scheme: "Negotiate"), Challenge(scheme: "Basic")]),
      // Spaces around the equals sign, no comma, names in capitals, empty items.
      (
        #"  ,, Digest REALM = "r"  Nonce= n ,, stale=TRUE"#,
        [Challenge(scheme: "Digest", parameters: ["realm": "r", "nonce": "n", "stale": "TRUE"])]
      ),
      // A quotation mark that is never closed, an escape at the very end.
      (#"Digest nonce="abc\"#, [Challenge(scheme: "Digest", parameters: ["nonce": #"abc\"#])]),
      (#"Digest nonce="#, [Challenge(scheme: "Digest", parameters: ["nonce": ""])]),
      ("NTLM TlRMTVNTUAAC==", [Challenge(scheme: "NTLM", parameters: ["tlrmtvntuaac": "="])]),
      (#"realm="nobody's""#, []), ("", []), (" , ", []), ("=", []),
      ("\"", [Challenge(scheme: "\"")]),
    ]
  )
  func fieldsAreDividedIntoChallenges(field: String, expected: [AuthenticationChallenge]) {
    #expect(AuthenticationChallenge.parse([field]) == expected)
  }

  @Test func severalFieldsAreReadInOrder() {
    let challenges = AuthenticationChallenge.parse([
      #"Digest realm="a", nonce="1", algorithm=SHA-256"#, #"nonce="stray""#, #"Basic realm="a""#,
    ])
    #expect(challenges.map(\.scheme) == ["Digest", "Basic"])
    #expect(challenges.first?.parameters["nonce"] == "1")
  }

  @Test func aFloodOfChallengesIsBounded() {
    let flood = String(repeating: "Digest a=1,b=2,", count: 100_000)
    #expect(AuthenticationChallenge.parse([flood]).count == 16)
    #expect(AuthenticationChallenge.parse(Array(repeating: flood, count: 1000)).count == 16)
    let parameters = (0..<1000).map { "p\($0)=1" }.joined(separator: ",")
    #expect(AuthenticationChallenge.parse(["Digest " + parameters]).first?.parameters.count == 32)
  }

  @Test func aRepeatedParameterDoesNotReplaceTheFirst() {
    let challenges = AuthenticationChallenge.parse(["Digest nonce=a, nonce=b"])
    #expect(challenges.first?.parameters == ["nonce": "a"])
  }

  @Test(arguments: [("plain", "\"plain\""), ("a\"b\\c", #""a\"b\\c""#), ("x\r\ny\u{7F}", "\"xy\"")])
  func quotedStringsHoldNoControlCharacters(text: String, expected: String) {
    #expect(text.quoted == expected)
  }
}
