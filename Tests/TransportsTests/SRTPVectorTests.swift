import NIOCore
import TestSupport
import Testing

@testable import Transports

/// A packet protected by other software, and its plain text.
struct SRTPVector: Sendable, CustomTestStringConvertible {
  let name: String
  let suite: SRTPSuite
  let key: String
  var identifier = ""
  let protected: String
  let clear: String

  var testDescription: String { name }
  var isControl: Bool { protected.hasPrefix("81c") }

  private static let libsrtpKey = "e1f97a0d3e018be0d64fa32c06de41390ec675ad498afeebb6960b3aabe6"
  private static let ffmpegKey = "00108310518720928b30d38f41149351559761969b71d79f8218a39259a7"
  private static let gcmKey = "000102030405060708090a0b0c0d0e0fa0a1a2a3a4a5a6a7a8a9aaab"
  private static let media = "800f1234decafbadcafebabeabababababababababababababababab"
  private static let report = "81c8000bcafebabeabababababababababababababababab"
  private static let ffmpegMedia = "80e0123412345678123456780102030405"
  private static let ffmpegReport =
    "81c90007123456788765432100000000000012340000069ec73069ba000001fd"

  static let all = [
    SRTPVector(
      name: "libsrtp, RFC 3711", suite: .aesCM128SHA1Tag80, key: libsrtpKey,
      protected: "800f1234decafbadcafebabe4e55dc4ce79978d88ca4d215949d2402b78d6acc99ea179b8dbb",
      clear: media),
    SRTPVector(
      name: "libsrtp, SRTCP of RFC 3711", suite: .aesCM128SHA1Tag80, key: libsrtpKey,
      protected: "81c8000bcafebabe7128035be487b9bdbef89041f977a5a880000001993e08cd54d6c1230798",
      clear: report),
    SRTPVector(
      name: "libsrtp, with an MKI", suite: .aesCM128SHA1Tag80, key: libsrtpKey,
      identifier: "e1f97a0d",
      protected:
        "800f1234decafbadcafebabe4e55dc4ce79978d88ca4d215949d2402e1f97a0db78d6acc99ea179b8dbb",
      clear: media),
    SRTPVector(
      name: "libsrtp, authenticated alone", suite: .nullSHA1Tag80, key: libsrtpKey,
      protected: "800f1234decafbadcafebabeabababababababababababababababababa136270b679134ce9b",
      clear: media),
    SRTPVector(
      name: "libsrtp, RFC 7714", suite: .aesGCM128, key: gcmKey,
      protected:
        "800f1234decafbadcafebabec5002ede04cfdd2eb91159e0880aa06ed2976826f796b201df3131a127e8a392",
      clear: media),
    SRTPVector(
      name: "libsrtp, SRTCP of RFC 7714", suite: .aesGCM128, key: gcmKey,
      protected:
        "81c8000bcafebabec98b8b5df0392a55852b6c21ac8e7025c52c6fbea2b3b446ea31123ba88ce61e80000001",
      clear: report),
    SRTPVector(
      name: "libsrtp, RFC 6188", suite: .aesCM256SHA1Tag80,
      key: "f0f04914b513f2763a1b1fa130f10e2998f6f6e43e4309d1e622a0e332b9f1b6"
        + "3b04803de51ee7c96423ab5b78d2",
      protected: "800f1234decafbadcafebabef1d9de17ff251ff1aa007774b0b4b40da08d9d9a5b3a55d8873b",
      clear: media),
    SRTPVector(
      name: "FFmpeg", suite: .aesCM128SHA1Tag80, key: ffmpegKey,
      protected: "80e012341234567812345678626976cac5a1ac1bb4a01cd5492899", clear: ffmpegMedia),
    SRTPVector(
      name: "FFmpeg, SRTCP", suite: .aesCM128SHA1Tag80, key: ffmpegKey,
      protected:
        "81c90007123456788aacdca54cf678a6628f24da6c093fa9287ab57f1f0fc93580000003e93bc05c0c06"
        + "9fabc0de", clear: ffmpegReport),
    SRTPVector(
      name: "FFmpeg, a tag of 32 bits", suite: .aesCM128SHA1Tag32, key: ffmpegKey,
      protected: "80e012341234567812345678626976cac5a1ac1bb4", clear: ffmpegMedia),
    SRTPVector(
      name: "FFmpeg, SRTCP beside a tag of 32 bits", suite: .aesCM128SHA1Tag32, key: ffmpegKey,
      protected:
        "81c9000712345678d6aec1586370c98866261c53ff5d5d2b0f8c723ec91d43f9800000050916b4279ae9"
        + "92264e10", clear: ffmpegReport),
  ]
}

@Suite("Protected packets of others")
struct SRTPVectorTests {
  private func session(_ vector: SRTPVector) throws -> SRTPSession {
    let bytes = unhex(vector.key)
    return try SRTPSession(
      SRTPKeyMaterial(
        suite: vector.suite, keyAndSalt: bytes.span.bytes, identifier: unhex(vector.identifier)))
  }

  @Test("are decrypted to the byte", arguments: SRTPVector.all)
  func decrypted(_ vector: SRTPVector) throws {
    var session = try session(vector)
    let packet = ByteBuffer(bytes: unhex(vector.protected))
    #expect(
      session.take(packet, isControl: vector.isControl)
        == .passed(ByteBuffer(bytes: unhex(vector.clear))))
    // The packet that was passed in is unchanged.
    #expect(packet == ByteBuffer(bytes: unhex(vector.protected)))
    #expect(session.take(packet, isControl: vector.isControl) == .replayed)
    #expect(session.counters.authenticated == 1)
    #expect(session.counters.replayed == 1)
  }

  @Test("do not pass with any bit changed", arguments: SRTPVector.all)
  func changed(_ vector: SRTPVector) throws {
    var session = try session(vector)
    let original = unhex(vector.protected)
    for bit in 0..<original.count * 8 {
      var bytes = original
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      // Only the identifier is not authenticated: with another one, there is no key.
      #expect(!session.take(ByteBuffer(bytes: bytes), isControl: vector.isControl).isPassed)
    }
    #expect(session.take(ByteBuffer(bytes: original), isControl: vector.isControl).isPassed)
  }
}
