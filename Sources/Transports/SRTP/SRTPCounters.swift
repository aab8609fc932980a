/// What became of encrypted packets; each is counted once, but those that are still held.
public struct SRTPCounters: Sendable, Hashable {
  /// Packets that were authentic, and were passed on.
  public var authenticated: UInt64 = 0
  /// Packets whose tag is wrong: another key, another suite, another roll-over counter, not SRTP at
  /// all, or forged.
  public var authenticationFailed: UInt64 = 0
  /// Packets that came before, or are older than the replay window.
  public var replayed: UInt64 = 0
  /// Packets that are shorter than what their first bytes claim.
  public var malformed: UInt64 = 0
  /// SRTCP in clear, where that was not agreed upon.
  public var readableControl: UInt64 = 0
  /// Packets for whose SSRC or master key identifier nobody has a key.
  public var noKey: UInt64 = 0
  /// Packets that waited for a key for too long, or were too many to wait.
  public var heldTooLong: UInt64 = 0
  /// Packets that wait for a key now.
  public var held: UInt64 = 0
  /// Keys that were asked for, and the answers that were none.
  public var keyRequests: UInt64 = 0
  public var keyFailures: UInt64 = 0
  /// Roll-over counters that were tried on copies of packets, and those that were right.
  public var rolloverTrials: UInt64 = 0
  public var rolloversFound: UInt64 = 0
  /// Sources that were forgotten because there were more than ``SRTPSession/maximumSources``.
  public var sourcesForgotten: UInt64 = 0

  public init() {}

  /// Packets that were refused for good.
  public var dropped: UInt64 {
    authenticationFailed + replayed + malformed + readableControl + noKey + heldTooLong
  }

  /// The sums with those of connections before this one.
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
