import Foundation
import Glibc
import TestSupport
import Testing

@testable import Transports

@Suite("Keys of protected streams")
struct SRTPKeyTests {
  private static let key = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmn"

  private func read(_ text: String) throws -> [SRTPKeyMaterial] {
    let bytes = Array(text.utf8)
    return try bytes.withUnsafeBytes { bytes in
      try SRTPKeyText.keys(in: bytes, named: "FILE")
    }
  }

  private func raw(_ key: SRTPKeyMaterial) -> [UInt8] { key.withKeyAndSalt { Array($0) } }

  @Test("a line, with whatever ends it", arguments: ["", "\n", "\r\n", "\n\n \n", " \t\n"])
  func line(_ ending: String) throws {
    let keys = try read("AES_CM_128_HMAC_SHA1_80 \(Self.key)\(ending)")
    #expect(keys.map(\.suite) == [.aesCM128SHA1Tag80])
    #expect(keys[0].identifier.isEmpty)
    #expect(raw(keys[0]) == unhex("00108310518720928b30d38f41149351559761969b71d79f8218a39259a7"))
  }

  @Test func severalKeysWithIdentifiers() throws {
    let keys = try read(
      "AES_CM_128_HMAC_SHA1_32 \(Self.key) 0a0B\naes-128-icm-hmac-sha1-32\t\(Self.key)  0001")
    #expect(keys.map(\.identifier) == [[0x0A, 0x0B], [0, 1]])
    _ = try SRTPConfiguration(keys: .fixed(keys)).makeSession()
  }

  @Test(
    "names in use",
    arguments: [
      ("AES_CM_128_HMAC_SHA1_80", .aesCM128SHA1Tag80),
      ("SRTP_AES128_CM_HMAC_SHA1_80", .aesCM128SHA1Tag80),
      ("SRTP_AES128_CM_HMAC_SHA1_32", .aesCM128SHA1Tag32),
      ("aes_cm_128_hmac_sha1_32", .aesCM128SHA1Tag32),
      ("AES_256_CM_HMAC_SHA1_80", .aesCM256SHA1Tag80),
      ("AES_CM_256_HMAC_SHA1_80", .aesCM256SHA1Tag80),
      ("AES_256_CM_HMAC_SHA1_32", .aesCM256SHA1Tag32),
      ("AEAD_AES_128_GCM", .aesGCM128), ("SRTP_AEAD_AES_256_GCM", .aesGCM256),
      ("aes-256-gcm", .aesGCM256), ("NULL_HMAC_SHA1_80", .nullSHA1Tag80),
      ("NULL_NULL", nil), ("AES_CM_128_NULL_AUTH", nil), ("F8_128_HMAC_SHA1_80", nil), ("", nil),
    ] as [(String, SRTPSuite?)])
  func names(_ name: String, _ suite: SRTPSuite?) {
    #expect(SRTPSuite(name) == suite)
  }

  @Test(
    "what is no key",
    arguments: [
      ("", SRTPError.keySource("FILE", .empty)), ("\n\n", .keySource("FILE", .empty)),
      ("SECRET", .keySource("FILE", .line(1, .unknownSuite))),
      ("AEAD_AES_128_GCM", .keySource("FILE", .line(1, .keyMissing))),
      ("\nAEAD_AES_128_GCM a?b", .keySource("FILE", .line(2, .notBase64))),
      ("AEAD_AES_128_GCM AAAAA", .keySource("FILE", .line(1, .notBase64))),
      ("AEAD_AES_128_GCM AAAA", .keyLength(suite: .aesGCM128, expected: 28, found: 3)),
      ("AES_CM_128_HMAC_SHA1_80 \(key) 0", .keySource("FILE", .line(1, .notHexadecimal))),
      ("AES_CM_128_HMAC_SHA1_80 \(key) +1", .keySource("FILE", .line(1, .notHexadecimal))),
      ("AES_CM_128_HMAC_SHA1_80 \(key) 00 x", .keySource("FILE", .line(1, .excessWords))),
    ] as [(String, SRTPError)])
  func refused(_ text: String, _ error: SRTPError) {
    #expect(throws: error) { try read(text) }
    #expect(!"\(error)".contains("AAAA"))
    #expect(!"\(error)".contains(Self.key))
  }

  @Test(
    "a file that others can read is refused",
    arguments: [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false)]
      as [(mode_t, Bool)])
  func modes(_ mode: mode_t, _ isTaken: Bool) throws {
    let path = "/tmp/srtp-key-\(getpid())-\(mode)"
    let descriptor = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0o600)
    try #require(descriptor >= 0)
    defer { unlink(path) }
    let text = Array("AES_CM_128_HMAC_SHA1_80 \(Self.key)\n".utf8)
    #expect(write(descriptor, text, text.count) == text.count)
    #expect(fchmod(descriptor, mode) == 0)
    close(descriptor)
    if isTaken {
      #expect(try SRTPKeySource.file(path).keys().count == 1)
    } else {
      #expect(throws: SRTPError.keySource(path, .readableByOthers)) {
        try SRTPKeySource.file(path).keys()
      }
    }
  }

  /// systemd lets the group read what `LoadCredential=` gives a service.
  @Test func aCredentialOfTheServiceMayBeReadByItsGroup() throws {
    let folder = try TemporaryFolder()
    let path = folder("srtp")
    try Data("AES_CM_128_HMAC_SHA1_80 \(Self.key)\n".utf8).write(to: folder.url("srtp"))
    try #require(chmod(path, 0o440) == 0)
    #expect(throws: SRTPError.keySource(path, .readableByOthers)) {
      try SRTPKeySource.file(path).keys()
    }
    let former = getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) }
    setenv("CREDENTIALS_DIRECTORY", folder.path, 1)
    defer {
      if let former {
        setenv("CREDENTIALS_DIRECTORY", former, 1)
      } else {
        unsetenv("CREDENTIALS_DIRECTORY")
      }
    }
    #expect(try SRTPKeySource.file(path).keys().count == 1)
  }

  @Test func aPipeIsReadToItsEndAndClosed() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let text = Array("AES_CM_128_HMAC_SHA1_80 \(Self.key)".utf8)
    #expect(write(ends[1], text, text.count) == text.count)
    close(ends[1])
    #expect(try SRTPKeySource.descriptor(ends[0]).keys().count == 1)
    #expect(fcntl(ends[0], F_GETFD) < 0)
  }

  @Test func aPipeThatNobodyWritesIsGivenUp() throws {
    let path = NSTemporaryDirectory() + "\(UUID().uuidString).pipe"
    try #require(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    let error = #expect(throws: SRTPError.self) {
      try SRTPKeySource.file(path).keys(within: .milliseconds(200))
    }
    #expect("\(try #require(error))".contains("did not finish"))
  }

  @Test func whatIsLongerThanAnyKeyIsNotReadToItsEnd() {
    #expect(throws: SRTPError.keySource("/dev/zero", .tooLong(limit: 8192))) {
      try SRTPKeySource.file("/dev/zero").keys()
    }
    #expect(throws: SRTPError.keySource("/tmp", .notAFile)) {
      try SRTPKeySource.file("/tmp").keys()
    }
  }

  @Test func theEnvironmentIsWiped() throws {
    let name = "SRTP_KEY_TESTS"
    setenv(name, "AES_CM_128_HMAC_SHA1_80 \(Self.key)", 1)
    let value = try #require(getenv(name))
    #expect(try SRTPKeySource.environment(name).keys().count == 1)
    #expect(getenv(name) == nil)
    #expect(value[0] == 0)
    #expect(value[30] == 0)
  }

  @Test func aKeyShowsNothingOfItself() throws {
    let key = try #require(try read("AES_CM_128_HMAC_SHA1_80 \(Self.key)").first)
    var shown = "\(key)" + String(reflecting: key)
    dump(key, to: &shown)
    dump(SRTPConfiguration(keys: .fixed([key])), to: &shown)
    #expect(!shown.contains("131"))
    #expect(shown.contains("(key for AES_CM_128_HMAC_SHA1_80)"))
  }

  @Test("suites that are taken unasked", arguments: SRTPSuite.allCases)
  func weak(_ suite: SRTPSuite) throws {
    var configuration = SRTPConfiguration(keys: .fixed([try srtpKey(suite)]))
    if suite.isReadable {
      #expect(throws: SRTPError.weakSuite(suite)) { try configuration.makeSession() }
      configuration.allowsWeak = true
    }
    _ = try configuration.makeSession()
  }

  @Test func keysThatDoNotFitEachOtherAreRefused() throws {
    let plain = try srtpKey(seed: 1)
    let other = try srtpKey(.aesGCM128, seed: 2)
    #expect(throws: SRTPError.keysDiffer) {
      try SRTPConfiguration(keys: .fixed([plain, other])).makeSession()
    }
    #expect(throws: SRTPError.ambiguousIdentifier) {
      try SRTPConfiguration(keys: .fixed([plain, srtpKey(seed: 3)])).makeSession()
    }
  }
}

@Suite("Keys in session descriptions")
struct SDESTests {
  private static let key = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmn"
  private static let weak = "a=crypto:1 AES_CM_128_HMAC_SHA1_32 inline:\(key)"
  private static let strong = "a=crypto:2 AES_CM_128_HMAC_SHA1_80 inline:\(key)"

  private func media(
    _ lines: [String], profile: String = "RTP/SAVP"
  ) throws -> SessionDescription.Media {
    var bytes = Array(
      (["v=0", "m=video 5004 \(profile) 96", "a=rtpmap:96 H264/90000"] + lines)
        .joined(separator: "\r\n").utf8)
    let description = try SessionDescription(wiping: &bytes)
    #expect(bytes.allSatisfy { $0 == 0 })
    return try #require(description.media.first)
  }

  @Test func theLifetimeAndTheIdentifier() throws {
    let media = try media([Self.strong + "|2^20|1:4 WSH=128"])
    #expect(media.cryptos.map(\.suite) == [.aesCM128SHA1Tag80])
    #expect(media.cryptos[0].keys[0].identifier == [0, 0, 0, 1])
    #expect(media.isProtected)
  }

  @Test func severalKeysOfOneLine() throws {
    let media = try media([
      "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:\(Self.key)|2^20|1:4;inline:\(Self.key)|2^20|2:4"
    ])
    let configuration = try media.protection(SRTPOptions(), exposure: nil)
    _ = try configuration.makeSession()
    #expect(media.cryptos[0].keys.map(\.identifier) == [[0, 0, 0, 1], [0, 0, 0, 2]])
  }

  @Test func theFirstLineThatIsNotWeakIsTaken() throws {
    let media = try media([
      "a=crypto:9 F8_128_HMAC_SHA1_80 inline:\(Self.key)", Self.weak, Self.strong,
    ])
    #expect(media.cryptoFault == .unknownSuite)
    #expect(media.cryptos.count == 2)
    guard case .fixed(let keys) = try media.protection(SRTPOptions(), exposure: nil).keys else {
      Issue.record("no key")
      return
    }
    #expect(keys.map(\.suite) == [.aesCM128SHA1Tag80])
  }

  @Test(
    "lines that are not used",
    arguments: [
      (weak, SDESFault.weak), (strong + " UNENCRYPTED_SRTCP", .weak),
      (strong + " UNENCRYPTED_SRTP", .unprotected),
      (strong + " UNAUTHENTICATED_SRTP", .unprotected), (strong + " KDR=5", .unknownParameter),
      (strong + " FEC_ORDER=FEC_SRTP", .unknownParameter), (strong + "|2^20|9:0", .malformed),
      (strong + "|2^20|256:1", .malformed), (strong + "x", .malformed),
      ("a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:AAAA", .keyLength),
      ("a=crypto:1 AES_CM_128_HMAC_SHA1_80", .malformed), ("a=crypto:", .malformed),
      ("a=crypto:x AES_CM_128_HMAC_SHA1_80 inline:\(key)", .malformed),
    ])
  func unusable(_ line: String, _ fault: SDESFault) throws {
    let media = try media([line])
    let error = #expect(throws: SRTPError.description(fault)) {
      try media.protection(SRTPOptions(), exposure: nil)
    }
    #expect(!"\(String(describing: error))".contains(Self.key))
  }

  @Test func whatIsAllowedToBeWeakIsTaken() throws {
    var options = SRTPOptions()
    options.allowsWeak = true
    let configuration = try media([Self.strong + " UNENCRYPTED_SRTCP"]).protection(
      options, exposure: nil)
    #expect(configuration.acceptsReadableControl)
  }

  @Test func aDescriptionThatOthersCanReadIsRefused() throws {
    let media = try media([Self.strong])
    #expect(throws: SRTPError.exposedKey("why")) {
      try media.protection(SRTPOptions(), exposure: "why")
    }
    var options = SRTPOptions()
    options.allowsInsecureSDES = true
    _ = try media.protection(options, exposure: "why")
  }

  /// In the session, and in the media.
  @Test(arguments: [
    "a=key-mgmt:mikey AQAF\nm=video 0 RTP/SAVP 96\n",
    "m=video 0 RTP/SAVP 96\na=key-mgmt:mikey AQAF\n",
  ])
  func keysThatAreToBeAgreedOnAreAnErrorOfTheirOwn(lines: String) throws {
    let session = try SessionDescription(parsing: Array("v=0\n\(lines)".utf8))
    #expect(throws: SRTPError.keyManagement) {
      try session.media[0].protection(SRTPOptions(), exposure: nil)
    }
  }

  @Test(arguments: [SRTPError.keyManagement, .library(status: 1)])
  func whatNoOptionMendsIsNoMistakeOfTheCommandLine(error: SRTPError) {
    #expect(error.outcome == nil)
    #expect(TransportError.protected(error).outcome == nil)
  }

  @Test func noKeyIsAnErrorOfItsOwn() throws {
    let media = try media([], profile: "RTP/SAVPF")
    #expect(throws: SRTPError.keyMissing(profile: "RTP/SAVPF")) {
      try media.protection(SRTPOptions(), exposure: nil)
    }
  }
}
