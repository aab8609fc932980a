internal import CSRTP
internal import Synchronization

/// A master key with its salt (RFC 3711 §3.2.1), and the identifier by which packets name it.
///
/// It is never a `String` or an array, has no description, and is wiped when it is released. Two
/// pieces of locked memory hold it; each alone is random bytes. So the key is in memory in one
/// piece only while contexts are made from it.
public final class SRTPKeyMaterial: Sendable {
  public let suite: SRTPSuite
  /// The master key identifier as packets have it, 0 … 128 bytes; empty for none.
  public let identifier: [UInt8]
  // Only `init` writes them, so they are safe to share.
  private nonisolated(unsafe) let pad: SecretBytes
  private nonisolated(unsafe) let padded: SecretBytes

  /// Copies `keyAndSalt`, which the caller must wipe.
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
      // At most 46 bytes: the kernel delivers so few either all at once or, too early, none at all.
      var generator = SystemRandomNumberGenerator()
      for index in pad.indices { unsafe pad[index] = generator.next() }
      unsafe padded.withBytes { padded in
        unsafe keyAndSalt.withBytes { key in
          for index in padded.indices { unsafe padded[index] = key[index] ^ pad[index] }
        }
      }
    }
  }

  /// Forbids core dumps of this process, and other processes of the same user to read its memory.
  ///
  /// A program with keys calls it once. Afterwards only root can open `/dev/fd` and `/dev/stdout`.
  public static func forbidDumps() { csrtp_forbid_dumps() }

  /// Makes the first key call ``forbidDumps()``, before that key is put into memory.
  ///
  /// This is for programs whose keys come from the far end in a session description. It affects the
  /// whole process, so it is off until the program calls it.
  public static func forbidDumpsWithFirstKey() {
    forbidsDumpsWithKeys.store(true, ordering: .relaxed)
  }

  private static let forbidsDumpsWithKeys = Atomic(false)

  /// Joins key and salt in one piece of memory while `body` runs.
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

  /// Whether both are one key; it takes the same time for any two of a suite.
  func isSameKey(as other: SRTPKeyMaterial) -> Bool {
    guard suite == other.suite, identifier == other.identifier else { return false }
    return unsafe withKeyAndSalt { own in
      unsafe other.withKeyAndSalt { others in
        var difference: UInt8 = 0
        for index in own.indices { unsafe difference |= own[index] ^ others[index] }
        return difference == 0
      }
    }
  }

  /// Bytes (RFC 4568 §6.1).
  public static let longestIdentifier = 128
}

/// Two keys are equal only if they are the same object; ``isSameKey(as:)`` compares what they are.
extension SRTPKeyMaterial: Hashable {
  public static func == (left: SRTPKeyMaterial, right: SRTPKeyMaterial) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension SRTPKeyMaterial: CustomStringConvertible, CustomReflectable {
  public var description: String { "(key for \(suite.name))" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
