/// Why a stream can not be decrypted at all; each description says what happened and what to try.
///
/// None of them holds anything of a key.
public enum SRTPError: Error, Sendable, Hashable {
  /// Bytes of key and salt together, as the suite has them and as they were given.
  case keyLength(suite: SRTPSuite, expected: Int, found: Int)
  /// Bytes of a master key identifier.
  case identifierTooLong(count: Int, limit: Int)
  /// Keys for one stream that differ in their suite, or in the length of their identifiers.
  case keysDiffer
  case tooManyKeys(limit: Int)
  /// The same identifier twice, or no identifier for one of several keys.
  case ambiguousIdentifier
  /// The suite is weaker than what is accepted unasked.
  case weakSuite(SRTPSuite)
  /// A source of keys, and what is wrong there.
  case keySource(String, KeyFault)
  /// The description asks for encrypted media, and nobody has its key.
  case keyMissing(profile: String)
  /// The key came over a connection, or in a file, that others can read.
  case exposedKey(String)
  /// No line of `a=crypto` that can be used, and why the first one can not.
  case description(SDESFault)
  /// libsrtp refuses to begin; its status.
  case library(status: UInt32)

  /// What is wrong with a file, descriptor or variable that should hold keys.
  public enum KeyFault: Error, Sendable, Hashable {
    case unreadable(reason: String)
    /// Others than its owner can read the file.
    case readableByOthers
    case notAFile
    case empty
    /// More bytes than all keys together can have.
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
      return "all keys of a stream have one suite, and identifiers of one length"
    case .tooManyKeys(let limit): return "there may be \(limit) keys for a stream"
    case .ambiguousIdentifier:
      return "where there are several keys, each needs a master key identifier of its own"
    case .weakSuite(let suite):
      let reason =
        suite.isReadable
        ? "does not encrypt" : "protects packets by a tag of 32 bits only"
      return "\(suite.name) \(reason); --srtp-allow-weak takes it all the same"
    case .keySource(let name, let fault): return "can not take SRTP keys from \(name): \(fault)"
    case .keyMissing(let profile):
      return
        "the media is encrypted (\(profile.prefix(40))), and the description has no key for it; "
        + "give it with --srtp-key-file"
    case .exposedKey(let place):
      return "the description has the key of the media in clear, and \(place); "
        + "--allow-insecure-sdes uses it all the same"
    case .description(let fault):
      return "no a=crypto line of the description can be used: \(fault); "
        + "give the key with --srtp-key-file"
    case .library(let status): return "libsrtp can not be used (status \(status))"
    }
  }
}

extension SRTPError.KeyFault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unreadable(let reason): reason
    case .readableByOthers: "others than its owner can read it; try: chmod 600"
    case .notAFile: "it is neither a file nor a pipe"
    case .empty: "there is none; a line is SUITE, a space, and key and salt in Base64"
    case .tooLong(let limit): "there are more than \(limit) bytes"
    case .line(let number, let fault): "line \(number): \(fault)"
    }
  }
}

extension SRTPError.LineFault: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownSuite:
      "no known suite; there are \(SRTPSuite.allCases.map(\.name).joined(separator: ", "))"
    case .keyMissing: "no key behind the suite"
    case .notBase64: "what stands behind the suite is not Base64"
    case .notHexadecimal: "the identifier is not an even number of hexadecimal digits"
    case .excessWords: "there is more than a suite, a key and an identifier"
    }
  }
}

extension SRTPError: TransportFault {
  /// Neither a key nor what a description lacks gets better by asking again.
  public var fault: ConnectionFault { .permanent }

  public var outcome: TransportOutcome? {
    switch self {
    case .exposedKey: .notTrusted
    case .keyMissing, .description: .credentials
    case .keyLength, .identifierTooLong, .keysDiffer, .tooManyKeys, .ambiguousIdentifier,
      .weakSuite, .keySource, .library:
      .usage
    }
  }
}
