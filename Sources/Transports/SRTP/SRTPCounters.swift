/// What became of encrypted packets; each is counted once, except those still held.
public struct SRTPCounters: Sendable, Hashable {
  /// Authentic packets, which were passed on.
  public var authenticated: UInt64 = 0
  /// Packets with a wrong tag: another key, suite or roll-over counter, not SRTP at all, or forged.
  public var authenticationFailed: UInt64 = 0
  /// Packets that were received before, or are older than the replay window.
  public var replayed: UInt64 = 0
  /// Packets that are shorter than their first bytes claim.
  public var malformed: UInt64 = 0
  /// Unencrypted SRTCP packets where encryption was agreed upon.
  public var readableControl: UInt64 = 0
  /// Packets whose SSRC or master key identifier has no key.
  public var noKey: UInt64 = 0
  /// Packets dropped because they waited too long for a key, or too many were waiting.
  public var heldTooLong: UInt64 = 0
  /// Packets that are waiting for a key now.
  public var held: UInt64 = 0
  /// Requests for a key, and those that gave none.
  public var keyRequests: UInt64 = 0
  public var keyFailures: UInt64 = 0
  /// Roll-over counters tried on copies of packets, and those that were right.
  public var rolloverTrials: UInt64 = 0
  public var rolloversFound: UInt64 = 0
  /// Sources forgotten because there were more than ``SRTPSession/maximumSources``.
  public var sourcesForgotten: UInt64 = 0

  public init() {}

  /// Packets that were refused in the end.
  public var dropped: UInt64 {
    authenticationFailed + replayed + malformed + readableControl + noKey + heldTooLong
  }

  /// The sums of these counters and those of earlier connections.
  func added(to earlier: SRTPCounters) -> SRTPCounters {
    var sum = self
    for counter in Self.all { sum[keyPath: counter] += earlier[keyPath: counter] }
    sum.held = held
    return sum
  }

  private static var all: [WritableKeyPath<SRTPCounters, UInt64>] {
    [
      \.authenticated, \.authenticationFailed, \.replayed, \.malformed, \.readableControl, \.noKey,
      \.heldTooLong, \.held, \.keyRequests, \.keyFailures, \.rolloverTrials, \.rolloversFound,
      \.sourcesForgotten,
    ]
  }
}
