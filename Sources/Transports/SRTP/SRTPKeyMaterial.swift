internal import CSRTP
internal import Synchronization

/// A master key with its salt (RFC 3711 §3.2.1), and the identifier that packets name it by.
///
/// It is never a `String` or an array, has no description, and is wiped when nobody holds it any
/// more. While it is held, two pieces of locked memory hold it together: one alone is random bytes, so
/// the key stands in memory in one piece only while contexts are made from it.
public final class SRTPKeyMaterial: Sendable {
  public let suite: SRTPSuite
  /// The master key identifier as it stands in packets, 0 … 128 bytes; empty for none.
  public let identifier: [UInt8]
  // Written in `init` alone, which is what makes it safe to share them.
  private nonisolated(unsafe) let pad: SecretBytes
  private nonisolated(unsafe) let padded: SecretBytes

  /// Takes a copy of `keyAndSalt`, which the caller wipes.
  ///
  /// - Throws: ``SRTPError/keyLength(suite:expected:found:)``, and
  ///   ``SRTPError/identifierTooLong(count:limit:)``.
  public convenience init(
    suite: SRTPSuite, keyAndSalt: RawSpan, identifier: [UInt8] = []
  ) throws(SRTPError) {
    let secret = SecretBytes(count: keyAndSalt.byteCount)
    unsafe secret.withBytes { bytes in
      for index in 0..<keyAndSalt.byteCount {
        unsafe bytes[index] = keyAndSalt.unsafeLoad(fromByteOffset: index, as: UInt8.self)
      }
    }
    try self.init(suite: suite, keyAndSalt: secret, identifier: identifier)
  }

  init(suite: SRTPSuite, keyAndSalt: SecretBytes, identifier: [UInt8]) throws(SRTPError) {
    if Self.forbidsDumpsWithKeys.load(ordering: .relaxed) { Self.forbidDumps() }
    let length = suite.keyLength + suite.saltLength
    guard keyAndSalt.count == length else {
      throw .keyLength(suite: suite, expected: length, found: keyAndSalt.count)
    }
    guard identifier.count <= Self.longestIdentifier else {
      throw .identifierTooLong(count: identifier.count, limit: Self.longestIdentifier)
    }
    self.suite = suite
    self.identifier = identifier
    unsafe pad = SecretBytes(count: length)
    unsafe padded = SecretBytes(count: length)
    unsafe pad.withBytes { pad in
      // 46 bytes at most, which the kernel gives whole or, before it has any, not at all.
      var generator = SystemRandomNumberGenerator()
      for index in pad.indices { unsafe pad[index] = generator.next() }
      unsafe padded.withBytes { padded in
        unsafe keyAndSalt.withBytes { key in
          for index in padded.indices { unsafe padded[index] = key[index] ^ pad[index] }
        }
      }
    }
  }

  /// Has the system write no core dump of this process, and let no other process of the same user look
  /// into its memory; a program that has keys calls it once.
  ///
  /// `/dev/fd` and `/dev/stdout` can then be opened by root alone.
  public static func forbidDumps() { csrtp_forbid_dumps() }

  /// Has the first key that is made call ``forbidDumps()``, before it is put into memory.
  ///
  /// For programs whose keys come from the far end, in a session description. What a whole process
  /// may do is the program's choice, so this is off until it is called.
  public static func forbidDumpsWithFirstKey() {
    forbidsDumpsWithKeys.store(true, ordering: .relaxed)
  }

  private static let forbidsDumpsWithKeys = Atomic(false)

  /// Puts key and salt together for as long as `body` takes.
  func withKeyAndSalt<Result, Failure: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let whole = SecretBytes(count: suite.keyLength + suite.saltLength)
    return try unsafe whole.withBytes { whole throws(Failure) in
      unsafe pad.withBytes { pad in
        unsafe padded.withBytes { padded in
          for index in whole.indices { unsafe whole[index] = padded[index] ^ pad[index] }
        }
      }
      return try unsafe body(whole)
    }
  }

  /// Bytes (RFC 4568 §6.1).
  public static let longestIdentifier = 128
}

/// Two keys are the same only if they are one and the same: nobody compares secrets.
extension SRTPKeyMaterial: Hashable {
  public static func == (left: SRTPKeyMaterial, right: SRTPKeyMaterial) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension SRTPKeyMaterial: CustomStringConvertible, CustomReflectable {
  public var description: String { "(key for \(suite.name))" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
