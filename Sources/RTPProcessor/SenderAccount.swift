import RTPWire

/// How many numbers the sender has passed over without sending a packet, by its own count.
///
/// A sender report says how many packets were sent (RFC 3550 §6.4.1). Where more numbers went by between
/// two of them, the sender left packets out, in a queue of its own, and the network did not lose them.
struct SenderAccount: Sendable {
  /// Where the stream stood when a report came.
  private struct Mark: Sendable {
    let sent: UInt32
    let highest: Int64
    let received: Int64
    let arrival: Instant
  }

  /// What may be on its way when a report is written, and what overtakes it, whatever the rate.
  private static let leastSlack: Int64 = 16
  /// And of a fast stream, that of so long, in nanoseconds.
  private static let slackDuration: Int64 = 100_000_000

  private var first: Mark?
  /// False once more packets came than the sender says it sent, as of senders whose reports say 0.
  private var isCredible = true
  /// Packets left out since the first report, as far as is certain.
  private(set) var leftOut: Int64 = 0

  /// Takes in a report.
  ///
  /// - Parameters:
  ///   - sent: the sender's packet count, which wraps around.
  ///   - highest: the highest extended sequence number that came.
  ///   - received: packets that came, however late or often.
  ///   - arrival: when the report came.
  mutating func note(sent: UInt32, highest: Int64, received: Int64, at arrival: Instant) {
    guard let first else {
      first = Mark(sent: sent, highest: highest, received: received, arrival: arrival)
      return
    }
    let numbers = highest.subtractingSaturating(first.highest)
    let came = received.subtractingSaturating(first.received)
    let count = Int64(sent &- first.sent)
    let duration = max(first.arrival.nanoseconds(to: arrival), 1)
    let share = min(Double(Self.slackDuration) / Double(duration), 1)
    let slack = Self.leastSlack + Int64(Double(max(numbers, 0)) * share)
    if count + slack < came { isCredible = false }
    let missing = min(numbers - count, numbers - came)
    leftOut = isCredible && missing > slack ? missing : 0
  }
}
