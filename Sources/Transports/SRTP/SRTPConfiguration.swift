/// Returns the key for an SSRC or a master key identifier; `nil` when there is none.
///
/// Asked once for each when it first appears, on no particular thread; packets are held meanwhile.
public typealias SRTPKeySupplier =
  @Sendable (SRTPKeyRequest) async throws -> SRTPKeyMaterial?

/// How protected packets are decrypted and verified.
public struct SRTPConfiguration: Sendable {
  /// Where the keys come from.
  public enum Keys: Sendable {
    /// One key for all sources, or several keys that packets select by identifier.
    case fixed([SRTPKeyMaterial])
    /// One key for each source or identifier, all of one suite; `identifierLength` in bytes, 0 for
    /// none.
    case asked(suite: SRTPSuite, identifierLength: Int = 0, SRTPKeySupplier)
  }

  public var keys: Keys
  /// The keys of the retransmission session, as in ``Keys/fixed(_:)``; without any, its packets are
  /// ignored.
  ///
  /// That session needs keys of its own (RFC 3711 §9.1).
  public var retransmissionKeys: [SRTPKeyMaterial] = []
  /// The roll-over counter of a stream that is joined late, if it is known.
  public var rollover: UInt32?
  /// Whether suites without encryption are accepted.
  public var allowsWeak = false
  /// Whether SRTCP is expected unencrypted but authenticated (RFC 4568 §6.3.2); not with AES-GCM.
  public var acceptsReadableControl = false
  /// The replay window in packets, 1,024 … 32,767; it must hold as many as wait for a gap.
  public var replayWindow = SRTPContext.replayWindow

  public init(keys: Keys) { self.keys = keys }

  /// Makes the session for this configuration.
  ///
  /// - Throws: ``SRTPError`` when the keys do not fit together or are too weak.
  func makeSession() throws(SRTPError) -> SRTPSession { try makeSession(keys) }

  /// Makes the session for retransmissions; `nil` without keys for it.
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
