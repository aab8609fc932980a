/// A digest challenge that can be answered (RFC 7616 §3.3).
struct DigestChallenge: Sendable, Hashable {
  let realm: String
  let nonce: String
  let algorithm: DigestAlgorithm
  /// Whether the server refuses only because the nonce is stale.
  let isStale: Bool

  private let opaque: String?
  /// As the server wrote it; `nil` when it named none.
  private let algorithmName: String?
  private let isSession: Bool
  private let hasQuality: Bool

  /// Reads a challenge; `nil` when it is no digest challenge, or demands something unsupported:
  /// another hash, or only the protection of bodies (`auth-int`).
  init?(_ challenge: AuthenticationChallenge) {
    guard challenge.scheme.lowercased() == "digest",
      let nonce = challenge.parameters["nonce"]
    else { return nil }
    algorithmName = challenge.parameters["algorithm"]
    let name = (algorithmName ?? "MD5").lowercased()
    isSession = name.hasSuffix("-sess")
    guard let algorithm = DigestAlgorithm(name: isSession ? String(name.dropLast(5)) : name) else {
      return nil
    }
    let qualities = (challenge.parameters["qop"] ?? "").lowercased().split {
      $0 == "," || $0 == " " || $0 == "\t"
    }
    guard qualities.isEmpty || qualities.contains("auth") else { return nil }
    // Without qop the answer is that of RFC 2069.
    hasQuality = !qualities.isEmpty
    self.algorithm = algorithm
    self.nonce = nonce
    realm = challenge.parameters["realm"] ?? ""
    opaque = challenge.parameters["opaque"]
    isStale = challenge.parameters["stale"]?.lowercased() == "true"
  }

  /// The Authorization field for one request (§3.4); `nil` when the hash cannot be computed.
  ///
  /// `uri` is the one in the request line. `clientNonce` stays the same for every request with this
  /// challenge, because `-sess` derives its key from it. `count` is the number of these requests,
  /// this one included.
  func authorization(
    for credentials: Credentials, method: String, uri: String, clientNonce: String, count: UInt32
  ) -> String? {
    guard
      let secret = hash("\(credentials.user):\(realm):\(credentials.password)"),
      let key = isSession ? hash("\(secret):\(nonce):\(clientNonce)") : secret,
      let request = hash("\(method):\(uri)")
    else { return nil }
    let digits = String(count, radix: 16)
    let paddedCount = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
    guard
      let response = hasQuality
        ? hash("\(key):\(nonce):\(paddedCount):\(clientNonce):auth:\(request)")
        : hash("\(key):\(nonce):\(request)")
    else { return nil }

    var field = "Digest username=\(credentials.user.quoted), realm=\(realm.quoted), "
    field += "nonce=\(nonce.quoted), uri=\(uri.quoted), response=\"\(response)\""
    // Older servers know only MD5, do not name it, and may not understand the parameter.
    if let algorithmName { field += ", algorithm=\(algorithmName)" }
    if let opaque { field += ", opaque=\(opaque.quoted)" }
    if hasQuality { field += ", qop=auth, nc=\(paddedCount)" }
    if hasQuality || isSession { field += ", cnonce=\(clientNonce.quoted)" }
    return field
  }

  private func hash(_ text: String) -> String? { algorithm.hexadecimal(of: text.headerBytes) }
}
