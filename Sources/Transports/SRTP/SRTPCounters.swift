import RTPWire

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
  /// Sources forgotten because there were more of them than a session keeps.
  public var sourcesForgotten: UInt64 = 0

  public init() {}

  /// Packets that were refused in the end.
  public var dropped: UInt64 {
    authenticationFailed + replayed + malformed + readableControl + noKey + heldTooLong
  }

  /// The sums of those of two sessions.
  func added(to other: SRTPCounters) -> SRTPCounters {
    var sum = self
    for (counter, path) in Self.table {
      sum[keyPath: path] = counter.joined(self[keyPath: path], after: other[keyPath: path])
    }
    return sum
  }

  /// Every counter, as statistics know it, and where its figure stands here.
  static var table: [(TransportCounter, WritableKeyPath<SRTPCounters, UInt64>)] {
    func row(
      _ name: String, _ path: WritableKeyPath<SRTPCounters, UInt64>,
      _ joining: TransportCounter.Joining = .sum, _ metric: Metric? = nil
    ) -> (TransportCounter, WritableKeyPath<SRTPCounters, UInt64>) {
      let outcome = Metric("srtp_packets", "What became of protected packets, by outcome.")
        .labelled("outcome", name)
      let unit: TransportCounter.Unit = metric == nil || joining == .latest ? .datagrams : .events
      return (
        TransportCounter(
          name, in: "srtp", unit: unit, joining: joining, metric: metric ?? outcome), path
      )
    }
    return [
      row("authenticated", \.authenticated), row("authentication_failed", \.authenticationFailed),
      row("replayed", \.replayed), row("malformed", \.malformed),
      row("readable_control", \.readableControl), row("no_key", \.noKey),
      row("held_too_long", \.heldTooLong),
      row(
        "held", \.held, .latest,
        Metric("srtp_packets_held", "Protected packets that wait for a key now.")),
      row(
        "key_requests", \.keyRequests, .sum,
        Metric("srtp_key_requests", "Times that a key was asked for.")),
      row(
        "key_failures", \.keyFailures, .sum,
        Metric("srtp_key_failures", "Times that there was none.")),
      row(
        "rollover_trials", \.rolloverTrials, .sum,
        Metric("srtp_rollover_trials", "Roll-over counters that were tried.")),
      row(
        "rollovers_found", \.rolloversFound, .sum,
        Metric("srtp_rollovers_found", "Roll-over counters that were right.")),
      row(
        "sources_forgotten", \.sourcesForgotten, .sum,
        Metric("srtp_sources_forgotten", "Sources beyond the most that are kept.")),
    ]
  }
}

extension TransportCounters {
  /// What became of protected packets, of which ``delivered`` counts the authentic ones; `nil`
  /// where there is no SRTP.
  public var srtp: SRTPCounters? {
    get {
      let table = SRTPCounters.table
      guard table.contains(where: { own[$0.0] != nil }) else { return nil }
      return table.reduce(into: SRTPCounters()) { $0[keyPath: $1.1] = self[$1.0] }
    }
    set {
      guard let newValue else { return }
      for (counter, path) in SRTPCounters.table { self[counter] = newValue[keyPath: path] }
    }
  }
}
