/// Gives the key for an SSRC or a master key identifier; `nil` when there is none.
///
/// Asked once for each when it first appears, on no particular thread; packets are held meanwhile.
public typealias SRTPKeySupplier =
  @Sendable (SRTPKeyRequest) async throws -> SRTPKeyMaterial?

/// How protected packets are to be taken.
public struct SRTPConfiguration: Sendable {
  /// Where the keys come from.
  public enum Keys: Sendable {
    /// One key for all sources, or several that packets name by their identifiers.
    case fixed([SRTPKeyMaterial])
    /// A key for each source or identifier, of one suite, with identifiers of so many bytes or none.
    case asked(suite: SRTPSuite, identifierLength: Int = 0, SRTPKeySupplier)
  }

  public var keys: Keys
  /// Of packets that are sent again in a session of their own, which has keys of its own (RFC 3711
  /// §9.1), as ``Keys/fixed(_:)``; without any, nothing is taken from there.
  public var retransmissionKeys: [SRTPKeyMaterial] = []
  /// The roll-over counter of a stream that is joined late, where it is known.
  public var rollover: UInt32?
  /// Whether suites that do not encrypt are taken.
  public var allowsWeak = false
  /// Whether SRTCP comes in clear (RFC 4568 §6.3.2), authenticated all the same; not with AES-GCM.
  public var acceptsReadableControl = false
  /// Packets, raised to 1,024 and lowered to 32,767; not fewer than wait to be put in order.
  public var replayWindow = SRTPContext.replayWindow

  public init(keys: Keys) { self.keys = keys }

  /// The session that all this makes.
  ///
  /// - Throws: ``SRTPError`` when the keys do not fit each other or are too weak.
  func makeSession() throws(SRTPError) -> SRTPSession { try makeSession(keys) }

  /// The session of retransmissions; `nil` without keys for it.
  ///
  /// - Throws: as ``makeSession()``.
  func makeRetransmissionSession() throws(SRTPError) -> SRTPSession? {
    retransmissionKeys.isEmpty ? nil : try makeSession(.fixed(retransmissionKeys))
  }

  private func makeSession(_ keys: Keys) throws(SRTPError) -> SRTPSession {
    let layout = try layout(of: keys)
    var session = SRTPSession(layout: layout, replayWindow: replayWindow, givenRollover: rollover)
    if case .fixed(let keys) = keys {
      for key in keys { try session.add(key) }
    }
    return session
  }

  private func layout(of keys: Keys) throws(SRTPError) -> SRTPLayout {
    let suite: SRTPSuite
    let length: Int
    switch keys {
    case .fixed(let keys):
      guard let first = keys.first else { throw .keyMissing(profile: "SRTP") }
      (suite, length) = (first.suite, first.identifier.count)
      guard keys.count <= SRTPSession.maximumKeys else {
        throw .tooManyKeys(limit: SRTPSession.maximumKeys)
      }
      guard keys.allSatisfy({ $0.suite == suite && $0.identifier.count == length }) else {
        throw .keysDiffer
      }
      guard keys.count == 1 || length > 0, Set(keys.map(\.identifier)).count == keys.count else {
        throw .ambiguousIdentifier
      }
    case .asked(let named, let identifierLength, _): (suite, length) = (named, identifierLength)
    }
    guard (0...SRTPKeyMaterial.longestIdentifier).contains(length) else {
      throw .identifierTooLong(count: length, limit: SRTPKeyMaterial.longestIdentifier)
    }
    guard !suite.isReadable || allowsWeak else { throw .weakSuite(suite) }
    return SRTPLayout(
      suite: suite, identifierLength: length, acceptsReadableControl: acceptsReadableControl)
  }
}
