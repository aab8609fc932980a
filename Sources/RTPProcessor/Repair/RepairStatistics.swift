public import RTPWire

/// Requests for repair and their results, in totals since the start.
public struct RepairStatistics: Counted, Hashable {
  /// Missing packets that were requested, each counted once.
  public internal(set) var requested: UInt64 = 0
  /// Messages that requested packets.
  public internal(set) var requests: UInt64 = 0
  /// Those for packets after the newest one, which may not exist.
  public internal(set) var tailRequests: UInt64 = 0
  /// Requested packets that came in time.
  public internal(set) var arrived: UInt64 = 0
  /// Requested packets that came after they were given up.
  public internal(set) var late: UInt64 = 0
  /// Packets that came again although they were not missing.
  public internal(set) var unneeded: UInt64 = 0
  /// Retransmission packets without content: too short, or without a payload.
  public internal(set) var malformed: UInt64 = 0
  public internal(set) var pictureLossIndications: UInt64 = 0
  public internal(set) var fullIntraRequests: UInt64 = 0
  /// From a request to its answer, smoothed; `nil` before the first answer.
  public internal(set) var roundTrip: Duration?

  public static let counters: [Counter<RepairStatistics>] = [
    Counter(
      "requested", .packets, \.requested,
      metric: Metric("packets_requested", "Missing packets that were requested, each counted once.")
    ),
    Counter(
      "requests", .messages, \.requests,
      metric: Metric("nacks_sent", "Messages that requested packets.")),
    Counter(
      "tail_requests", .messages, \.tailRequests,
      metric: Metric(
        "tail_nacks_sent", "Of these, those for packets behind the newest one, which may not exist."
      )),
    Counter("arrived", .packets, \.arrived, metric: .recovered(by: "nack")),
    Counter("late", .packets, \.late, metric: .wasted("late")),
    Counter("unneeded", .packets, \.unneeded, metric: .wasted("unneeded")),
    Counter("malformed", .packets, \.malformed, metric: .wasted("malformed")),
    Counter(
      "pli", .messages, \.pictureLossIndications,
      metric: Metric(
        "plis_sent", "Requests for a key picture because pictures were lost (RFC 4585).")),
    Counter(
      "fir", .messages, \.fullIntraRequests,
      metric: Metric("firs_sent", "Requests for a key picture whatever was lost (RFC 5104).")),
  ]
}

extension Metric {
  fileprivate static func wasted(_ reason: String) -> Metric {
    Metric("retransmissions_wasted", "Packets that were sent again to no use, by reason.")
      .labelled("reason", reason)
  }
}
