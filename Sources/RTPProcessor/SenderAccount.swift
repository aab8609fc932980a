import RTPWire

/// How many sequence numbers the sender skipped, by its own packet count.
///
/// A sender report says how many packets were sent (RFC 3550 §6.4.1). If more sequence numbers
/// passed between two reports, the sender dropped the rest in a queue of its own; the network did
/// not lose them.
struct SenderAccount: Sendable {
  /// The state of the stream when a report came.
  private struct Mark: Sendable {
    let highest: Int64
    let received: Int64
    let arrival: Instant
  }

  /// Packets that may be under way when a report is written, or overtake it, at any rate.
  private static let leastSlack: Int64 = 16
  /// The same for a fast stream, as a time.
  private static let slackDuration: Duration = .milliseconds(100)

  private var first: Mark?
  /// Packets that the sender sent since the first report, and its count in the last one.
  private var sentSince: Int64 = 0
  private var lastSent: UInt32 = 0
  /// False once more packets came than the sender reports, as with senders whose reports say 0.
  private var isCredible = true
  /// Packets that were certainly never sent, since the first report.
  private(set) var leftOut: Int64 = 0

  /// Adds a report.
  ///
  /// - Parameters:
  ///   - sent: the sender's packet count, which wraps around.
  ///   - highest: the highest extended sequence number that came.
  ///   - received: packets that came, late ones and duplicates included.
  ///   - arrival: when the report came.
  mutating func note(sent: UInt32, highest: Int64, received: Int64, at arrival: Instant) {
    // From report to report: the count wraps around after 2^32 packets, two weeks of a fast stream.
    defer { lastSent = sent }
    guard let first else {
      first = Mark(highest: highest, received: received, arrival: arrival)
      return
    }
    let numbers = highest.subtractingSaturating(first.highest)
    let came = received.subtractingSaturating(first.received)
    sentSince = sentSince.addingSaturating(Int64(Int32(bitPattern: sent &- lastSent)))
    let duration = max(first.arrival.duration(to: arrival), .nanoseconds(1))
    let share = min(Self.slackDuration / duration, 1)
    let slack = Self.leastSlack + Int64(Double(max(numbers, 0)) * share)
    if sentSince.addingSaturating(slack) < came { isCredible = false }
    let missing = min(numbers.subtractingSaturating(sentSince), numbers.subtractingSaturating(came))
    leftOut = isCredible && missing > slack ? missing : 0
  }
}
