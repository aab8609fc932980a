/// Why a stream cannot be decrypted at all; each description says what happened and what to try.
///
/// None of them contains any part of a key.
public enum SRTPError: Error, Sendable, Hashable {
  /// The key does not have the suite's length; bytes of key and salt together.
  case keyLength(suite: SRTPSuite, expected: Int, found: Int)
  /// A master key identifier is too long, in bytes.
  case identifierTooLong(count: Int, limit: Int)
  /// The keys of one stream differ in their suite, or in the length of their identifiers.
  case keysDiffer
  case tooManyKeys(limit: Int)
  /// The same identifier twice, or no identifier for one of several keys.
  case ambiguousIdentifier
  /// The suite is weaker than the default settings accept.
  case weakSuite(SRTPSuite)
  /// Keys cannot be read from this source.
  case keySource(String, KeyFault)
  /// The description asks for encrypted media, but there is no key for it.
  case keyMissing(profile: String)
  /// The description wants the key to be agreed on (RFC 4567).
  case keyManagement
  /// The key came over a connection, or in a file, that others can read.
  case exposedKey(String)
  /// No `a=crypto` line can be used; the fault is the first line's.
  case description(SDESFault)
  /// libsrtp failed with this status.
  case library(status: UInt32)

  /// What is wrong with a file, descriptor or variable of keys.
  public enum KeyFault: Error, Sendable, Hashable {
    case unreadable(reason: String)
    /// Users other than the owner can read the file.
    case readableByOthers
    case notAFile
    case empty
    /// There are more bytes than all keys together can have.
    case tooLong(limit: Int)
    /// A line, counted from 1, that is not a suite, a key and perhaps an identifier.
    case line(Int, LineFault)
  }

  /// What is wrong with a line of keys.
  public enum LineFault: Error, Sendable, Hashable {
    case unknownSuite
    case keyMissing
    case notBase64
    case notHexadecimal
    case excessWords
  }
}

extension SRTPError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .keyLength(let suite, let expected, let found):
      return "a key for \(suite.name) has \(suite.keyLength) bytes and its salt "
        + "\(suite.saltLength), together \(expected), not \(found)"
    case .identifierTooLong(let count, let limit):
      return "a master key identifier of \(count) bytes is too long; it may have \(limit)"
    case .keysDiffer:
      return "all keys of a stream must have the same suite, and identifiers of the same length"
    case .tooManyKeys(let limit): return "a stream can have \(limit) keys at most"
    case .ambiguousIdentifier:
      return "with several keys, each needs a master key identifier of its own"
    case .weakSuite(let suite):
      let reason =
        suite.isReadable
        ? "does not encrypt" : "protects packets with a tag of only 32 bits"
      return "\(suite.name) \(reason); --srtp-allow-weak accepts it"
    case .keySource(let name, .readableByOthers):
      return "\(name) can be read by others than its owner; try: chmod 600 \(name)"
    case .keySource(let name, let fault): return "cannot read SRTP keys from \(name): \(fault)"
    case .keyMissing(let profile):
      return
        "the media is encrypted (\(profile.prefix(40))), but the description has no key for it; "
        + "give it with --srtp-key-file"
    case .keyManagement:
      return
        "the sender wants to agree on the keys of SRTP (a=key-mgmt), which is not possible here; "
        + "switch SRTP off in the camera, and use rtsps://, which encrypts all of it"
    case .exposedKey(let place):
      return "the description contains the media's key in clear, and \(place); "
        + "--allow-insecure-sdes accepts it"
    case .description(let fault):
      return "no a=crypto line of the description can be used: \(fault); "
        + "give the key with --srtp-key-file"
    case .library(let status): return "libsrtp cannot be used (status \(status))"
    }
  }
}

extension SRTPError.KeyFault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unreadable(let reason): reason
    case .readableByOthers: "it can be read by others than its owner"
    case .notAFile: "it is neither a file nor a pipe"
    case .empty: "it has no key; a line is SUITE, a space, and key and salt in Base64"
    case .tooLong(let limit): "it has more than \(limit) bytes"
    case .line(let number, let fault): "line \(number): \(fault)"
    }
  }
}

extension SRTPError.LineFault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownSuite:
      "unknown suite; there are \(SRTPSuite.allCases.map(\.name).joined(separator: ", "))"
    case .keyMissing: "no key after the suite"
    case .notBase64: "the text after the suite is not Base64"
    case .notHexadecimal: "the identifier is not an even number of hexadecimal digits"
    case .excessWords: "there is more text than a suite, a key and an identifier"
    }
  }
}

extension SRTPError: TransportFault {
  /// Another attempt mends neither a key nor a description.
  public var fault: ConnectionFault { .permanent }

  public var outcome: TransportOutcome? {
    switch self {
    case .exposedKey: .notTrusted
    // A key that cannot be had is a missing one.
    case .keyMissing, .description, .keySource(_, .unreadable): .credentials
    case .keyLength, .identifierTooLong, .keysDiffer, .tooManyKeys, .ambiguousIdentifier,
      .weakSuite, .keySource:
      .usage
    // The command line is right. Other cameras refuse SETUP with 463 for the same reason.
    case .keyManagement, .library: nil
    }
  }
}
