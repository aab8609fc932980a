import NIOCore
public import RTPWire

/// The outcomes of a stream's packets, in totals since the start.
///
/// The counters always balance: every packet that came in or was put back has one outcome.
public struct ReceptionStatistics: Counted, Hashable {
  /// All datagrams, of whatever kind.
  public internal(set) var received: UInt64 = 0
  /// Bytes of all datagrams, without the carrier's headers.
  public internal(set) var receivedBytes: UInt64 = 0
  /// Packets that did not arrive themselves: rebuilt from others, or taken from retransmission
  /// packets.
  public internal(set) var recovered: UInt64 = 0
  /// Packets that filled a gap because they were sent again or rebuilt, also before they came
  /// themselves.
  public internal(set) var filled: UInt64 = 0
  /// Packets handed on in order.
  public internal(set) var delivered: UInt64 = 0

  public internal(set) var duplicate: UInt64 = 0
  /// Packets that came after a repair had filled their place: they were late, not lost.
  public internal(set) var overtaken: UInt64 = 0
  public internal(set) var late: UInt64 = 0
  public internal(set) var foreignSource: UInt64 = 0
  public internal(set) var ignoredPayloadType: UInt64 = 0
  /// Packets of sources and numberings that were never validated.
  public internal(set) var unconfirmed: UInt64 = 0
  public internal(set) var malformed: UInt64 = 0
  public internal(set) var control: UInt64 = 0
  public internal(set) var malformedControl: UInt64 = 0
  /// Correction packets, which hold no media.
  ///
  /// Those that share the media's numbering are counted in order, others on arrival.
  public internal(set) var correction: UInt64 = 0
  /// Gaps that a lost correction packet left, so that no media is missing.
  public internal(set) var unneeded: UInt64 = 0
  /// Retransmission packets (RFC 4588), useful or not.
  ///
  /// The packets taken from them are counted in ``recovered`` too.
  public internal(set) var retransmission: UInt64 = 0
  public internal(set) var repair = RepairStatistics()
  public internal(set) var errorCorrection = ForwardErrorCorrectionStatistics()

  /// Sequence numbers given up: no packet came within the reorder window.
  public internal(set) var lost: UInt64 = 0
  /// Lost numbers that, by its reports, the sender never sent.
  public internal(set) var leftOut: UInt64 = 0
  /// How often one or more numbers in a row were given up.
  public internal(set) var lossEvents: UInt64 = 0
  /// How the losses are distributed.
  public internal(set) var lossPattern = LossPattern()
  /// Packets that arrived after a later one, and in time.
  public internal(set) var reordered: UInt64 = 0
  /// The greatest distance, in packets, by which one was overtaken.
  public internal(set) var greatestReorderDepth: UInt64 = 0
  /// How often the stream continued under another SSRC.
  public internal(set) var sourceChanges: UInt64 = 0
  /// How often the source restarted its numbering (RFC 3550 A.1).
  public internal(set) var sequenceRestarts: UInt64 = 0
  /// Packets waiting now: after a gap, or on probation.
  public internal(set) var held: UInt64 = 0

  /// Packets of each payload type that is not the stream's.
  public internal(set) var ignoredPayloadTypes: [UInt8: UInt64] = [:]

  /// Interarrival jitter of the current source in clock ticks, times 16 (RFC 3550 A.8).
  var scaledJitter: Int64 = 0
  private var lastTransit: Int32?
  /// The clock rate of the packets that the jitter was measured on; 0 before the first.
  private var jitterClockRate: UInt32 = 0

  public static let counters: [Counter<ReceptionStatistics>] = [
    Counter(
      "received", .datagrams, \.received, .incoming,
      metric: Metric("received_packets", "Packets of the medium that came, of every kind.")),
    Counter(
      "received_bytes", .bytes, \.receivedBytes,
      metric: Metric(
        "received_bytes", "Bytes of these packets, without the headers of what carried them.")),
    Counter(
      "recovered", .packets, \.recovered, .incoming,
      metric: Metric(
        "packets_put_back",
        "Packets that were rebuilt or taken from retransmissions, useful or not.")),
    Counter(
      "filled", .packets, \.filled,
      metric: Metric(
        "packets_repaired",
        "Packets that filled a gap because they were sent again or rebuilt; those that came "
          + "themselves later were dropped as overtaken.")),
    Counter(
      "delivered", .packets, \.delivered, .outcome,
      metric: Metric("packets_delivered", "Packets handed on in order.")),
    Counter("correction", .packets, \.correction, .outcome, metric: .beside("correction")),
    Counter(
      "unneeded", .packets, \.unneeded,
      metric: Metric(
        "packets_unneeded", "Gaps that a lost correction packet left: no media is missing.")),
    Counter(
      "retransmission", .packets, \.retransmission, .outcome, metric: .beside("retransmission")),
    Counter(
      "held", .packets, \.held, .outcome, total: .latest,
      metric: Metric("packets_held", "Packets that wait now: after a gap, or on probation.")),
    Counter(
      "lost", .packets, \.lost,
      metric: Metric(
        "packets_lost", "Packets given up: they did not come within the reorder window.")),
    Counter(
      "left_out_by_sender", .packets, \.leftOut,
      metric: Metric(
        "packets_never_sent",
        "Of the lost packets, those that the sender never sent, by its reports.")),
    Counter(
      "loss_events", .times, \.lossEvents,
      metric: Metric("loss_events", "Times that one or more packets in a row were given up.")),
    Counter("reordered", .packets, \.reordered, metric: .recovered(by: "reorder")),
    Counter(
      "greatest_reorder_depth", .packets, \.greatestReorderDepth, total: .greatest,
      metric: Metric("greatest_reorder_depth_packets", "The most packets that overtook one.")),
    Counter("duplicate", .packets, \.duplicate, .outcome, metric: .dropped("duplicate")),
    Counter("overtaken", .packets, \.overtaken, .outcome, metric: .dropped("overtaken")),
    Counter("late", .packets, \.late, .outcome, metric: .dropped("late")),
    Counter(
      "foreign_source", .packets, \.foreignSource, .outcome, metric: .dropped("foreign_source")),
    Counter(
      "ignored_payload_type", .packets, \.ignoredPayloadType, .outcome,
      metric: .dropped("ignored_payload_type")),
    Counter("unconfirmed", .packets, \.unconfirmed, .outcome, metric: .dropped("unconfirmed")),
    Counter("malformed", .datagrams, \.malformed, .outcome, metric: .dropped("malformed")),
    Counter("control", .packets, \.control, .outcome, metric: .beside("control")),
    Counter(
      "malformed_control", .packets, \.malformedControl, .outcome,
      metric: .dropped("malformed_control")),
    Counter(
      "source_changes", .times, \.sourceChanges,
      metric: Metric("source_changes", "Times that the stream went on under another SSRC.")),
    Counter(
      "sequence_restarts", .times, \.sequenceRestarts,
      metric: Metric("sequence_restarts", "Times that the source began to number anew.")),
  ]

  /// Packets that filled a gap because they were sent again or rebuilt, and never came themselves.
  ///
  /// It falls when one comes after all.
  public var repaired: UInt64 { filled - min(overtaken, filled) }

  /// The interarrival jitter of RFC 3550 §6.4.1, in clock ticks.
  public var jitter: Double { Double(scaledJitter) / 16 }
  /// The same in seconds.
  public var jitterSeconds: Double {
    jitterClockRate == 0 ? 0 : jitter / Double(jitterClockRate)
  }

  /// The cumulative number of packets lost, as in a receiver report (RFC 3550 A.3).
  ///
  /// Late and duplicate packets count as received, so it may be negative: −2^23 … 2^23 − 1.
  public var cumulativeLost: Int64 {
    let (balance, overflow) = Int64(clamping: lost).subtractingReportingOverflow(
      Int64(clamping: late.addingReportingOverflow(duplicate).partialValue))
    return overflow ? -0x80_0000 : min(max(balance, -0x80_0000), 0x7F_FFFF)
  }

  /// The percentage of sequence numbers given up so far.
  public var lossPercentage: Double {
    lost == 0 ? 0 : 100 * Double(lost) / (Double(lost) + Double(delivered))
  }

  /// Updates the jitter estimate with the arrival of one packet (RFC 3550 A.8).
  mutating func noteArrival(_ arrival: Instant, timestamp: UInt32, clockRate: UInt32) {
    let ticks = UInt32(truncatingIfNeeded: arrival.ticks(at: clockRate))
    let transit = Int32(truncatingIfNeeded: Int64(ticks) - Int64(timestamp))
    jitterClockRate = clockRate
    defer { lastTransit = transit }
    guard let lastTransit else { return }
    let difference = Int64(Int32(truncatingIfNeeded: Int64(transit) - Int64(lastTransit)))
    // A timestamp that jumps by more than ten seconds is a new timeline, not jitter.
    guard difference.magnitude < UInt64(clockRate) * 10 else { return }
    scaledJitter += Int64(difference.magnitude) - ((scaledJitter + 8) >> 4)
  }

  /// What comes next has transit times that do not compare with the former ones; of another source
  /// it also has a jitter of its own (RFC 3550 A.8).
  mutating func beginTransit(ofAnotherSource isAnother: Bool) {
    lastTransit = nil
    if isAnother { scaledJitter = 0 }
  }

  mutating func noteIgnored(payloadType: UInt8) {
    ignoredPayloadType += 1
    ignoredPayloadTypes[payloadType, default: 0] += 1
  }

  /// Takes back one ignored packet, which found its place after all.
  mutating func forgetIgnored(payloadType: UInt8) {
    guard let count = ignoredPayloadTypes[payloadType], count > 0 else { return }
    ignoredPayloadType -= 1
    ignoredPayloadTypes[payloadType] = count > 1 ? count - 1 : nil
  }

  /// Takes back an ignored datagram, which is about to be received again.
  ///
  /// One that was ignored for another reason, as a repetition, stays counted.
  mutating func takeBackIgnored(_ datagram: Datagram, payloadType: UInt8) {
    guard let count = ignoredPayloadTypes[payloadType], count > 0 else { return }
    forgetIgnored(payloadType: payloadType)
    received -= 1
    receivedBytes -= UInt64(datagram.bytes.readableBytes)
  }

  mutating func noteLoss(of count: Int) {
    lost += UInt64(clamping: count)
    lossEvents += 1
    lossPattern.noteLoss(of: UInt64(clamping: count))
  }

  mutating func noteDelivery(_ arrival: Instant) {
    delivered += 1
    lossPattern.noteArrival(arrival)
  }

  mutating func noteReordered(depth: Int64) {
    reordered += 1
    greatestReorderDepth = max(greatestReorderDepth, UInt64(clamping: depth))
  }
}

extension Instant {
  /// This instant in ticks of a clock of `rate` ticks a second, without overflow.
  func ticks(at rate: UInt32) -> Int64 {
    let (seconds, nanoseconds) = self.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return seconds &* Int64(rate) &+ nanoseconds &* Int64(rate) / 1_000_000_000
  }
}

extension Metric {
  fileprivate static func dropped(_ reason: String) -> Metric {
    Metric("packets_dropped", "Packets that came and were not used, by reason.")
      .labelled("reason", reason)
  }

  fileprivate static func beside(_ kind: String) -> Metric {
    Metric("packets_beside_media", "Packets that came and hold no media of their own, by kind.")
      .labelled("kind", kind)
  }

  static func recovered(by means: String) -> Metric {
    Metric("packets_recovered", "Packets that were missing at first and came after all, by means.")
      .labelled("by", means)
  }
}
