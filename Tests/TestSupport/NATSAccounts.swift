import Foundation

/// An operator of NATS, an account with a stream store, and a user of it, signed with OpenSSL.
///
/// Their form is that of https://github.com/nats-io/nkeys and https://github.com/nats-io/jwt.
public struct NATSAccounts {
  /// What a server with these accounts has in its settings.
  public let settings: String
  /// A file with which the user logs in.
  public let credentials: String

  public init() throws {
    let folder = try TemporaryFolder()
    let system = try Key(.account, in: folder)
    let (owner, account, user) = (
      try Key(.operator, in: folder), try Key(.account, in: folder), try Key(.user, in: folder)
    )
    let limits = [
      "subs", "data", "payload", "imports", "exports", "conn", "leaf", "mem_storage",
      "disk_storage", "streams", "consumer",
    ]
    let unlimited =
      "{" + limits.map { "\"\($0)\":-1" }.joined(separator: ",") + ",\"wildcards\":true}"
    func token(_ subject: Key, by issuer: Key, _ claims: String) throws -> String {
      try subject.token(
        signedBy: issuer, claims: "{\(claims)\"type\":\"\(subject.kind)\",\"version\":2}")
    }
    let operatorToken = try token(owner, by: owner, "\"system_account\":\"\(system.name)\",")
    let accountToken = try token(account, by: owner, "\"limits\":\(unlimited),")
    let systemToken = try token(system, by: owner, "")
    let userToken = try token(user, by: account, "\"subs\":-1,\"data\":-1,\"payload\":-1,")
    settings = """
      operator: \(operatorToken)
      system_account: \(system.name)
      resolver: MEMORY
      resolver_preload: { \(account.name): \(accountToken), \(system.name): \(systemToken) }
      """
    credentials = """
      -----BEGIN NATS USER JWT-----
      \(userToken)
      ------END NATS USER JWT------

      -----BEGIN USER NKEY SEED-----
      \(user.seed)
      ------END USER NKEY SEED------

      """
  }

  /// A pair of keys of Ed25519.
  private struct Key {
    enum Kind: UInt8 {
      case account = 0
      case `operator` = 14
      case user = 20
    }

    let kind: Kind
    private let folder: TemporaryFolder
    private let file: String
    /// The public key as text.
    let name: String
    /// The private key as text.
    let seed: String

    init(_ kind: Kind, in folder: TemporaryFolder) throws {
      (self.kind, self.folder) = (kind, folder)
      let file = folder("\(UUID().uuidString).pem")
      self.file = file
      _ = try RunningProcess.output(
        of: "openssl", ["genpkey", "-algorithm", "ed25519", "-out", file])
      // Both forms end with the 32 bytes of the key itself (RFC 8410).
      func key(_ more: [String]) throws -> [UInt8] {
        try RunningProcess.output(
          of: "openssl", ["pkey", "-in", file, "-outform", "DER"] + more
        ).suffix(32)
      }
      name = Self.text([kind.rawValue << 3] + (try key(["-pubout"])))
      let seedKind: UInt8 = 18 << 3
      seed = Self.text(
        [seedKind | kind.rawValue >> 2, (kind.rawValue & 3) << 6] + (try key([])))
    }

    /// What `issuer` says of this key.
    func token(signedBy issuer: Key, claims: String) throws -> String {
      let header = #"{"typ":"JWT","alg":"ed25519-nkey"}"#
      let body =
        "{\"jti\":\"\(name)\",\"iat\":1700000000,\"iss\":\"\(issuer.name)\",\"name\":\"test\","
        + "\"sub\":\"\(name)\",\"nats\":\(claims)}"
      let signed = Self.base64(Array(header.utf8)) + "." + Self.base64(Array(body.utf8))
      let input = folder("\(UUID().uuidString).txt")
      try signed.write(toFile: input, atomically: true, encoding: .utf8)
      let signature = try RunningProcess.output(
        of: "openssl", ["pkeyutl", "-sign", "-rawin", "-inkey", issuer.file, "-in", input])
      return signed + "." + Self.base64(Array(signature))
    }

    private static func base64(_ bytes: [UInt8]) -> String {
      Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        .replacing("=", with: "")
    }

    /// In base 32, with a check of CRC-16/XMODEM behind it.
    private static func text(_ bytes: [UInt8]) -> String {
      var check: UInt16 = 0
      for byte in bytes {
        check ^= UInt16(byte) << 8
        for _ in 0..<8 { check = check & 0x8000 != 0 ? check << 1 ^ 0x1021 : check << 1 }
      }
      let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
      var (text, bits, count) = ("", 0, 0)
      for byte in bytes + [UInt8(check & 0xFF), UInt8(check >> 8)] {
        (bits, count) = (bits << 8 | Int(byte), count + 8)
        while count >= 5 {
          count -= 5
          text.append(letters[bits >> count & 31])
        }
        bits &= (1 << count) - 1
      }
      if count > 0 { text.append(letters[bits << (5 - count) & 31]) }
      return text
    }
  }
}
