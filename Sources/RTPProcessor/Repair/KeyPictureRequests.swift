import RTPWire

/// Requests key pictures while one is needed, and not too often.
struct KeyPictureRequests: Sendable {
  /// The shortest time between two requests: what an encoder and a long network path need for a key
  /// picture.
  static let shortestInterval: Duration = .milliseconds(500)

  private let messages: Set<FeedbackRequest>
  private var wantedSince: Instant?
  private var last: Instant?
  /// Requests since a key picture was wanted.
  private var count = 0
  /// The command's number (RFC 5104 §4.3.1.1); the next command is 0.
  private var number: UInt8 = .max

  init(_ messages: Set<FeedbackRequest>) { self.messages = messages }

  /// Notes that decoding needs a key picture.
  mutating func want(at now: Instant) {
    guard wantedSince == nil, !messages.isDisjoint(with: [.pli, .fir]) else { return }
    wantedSince = now
    count = 0
    number &+= 1
  }

  /// Notes that a key picture has come.
  mutating func satisfy() { wantedSince = nil }

  /// Requests for the key picture that is still wanted, each of which has had the time for an
  /// answer.
  func unanswered(at now: Instant, roundTrip: Duration) -> Int {
    guard count > 0, let deadline = deadline(roundTrip: roundTrip) else { return 0 }
    return deadline <= now ? count : count - 1
  }

  /// When the next request is due.
  func deadline(roundTrip: Duration) -> Instant? {
    guard let wantedSince else { return nil }
    let interval = max(roundTrip * 2, Self.shortestInterval)
    return max(wantedSince, last?.advanced(by: interval) ?? wantedSince)
  }

  /// The message for `ssrc` at `now`.
  ///
  /// A full intra request is not meant for losses (RFC 5104 §3.5.1), so it is the second choice. A
  /// repetition is the same command.
  mutating func take(
    at now: Instant, of ssrc: UInt32, roundTrip: Duration, statistics: inout RepairStatistics
  ) -> RTCPFeedback? {
    guard let deadline = deadline(roundTrip: roundTrip), deadline <= now else { return nil }
    last = now
    count += 1
    if messages.contains(.pli) {
      statistics.pictureLossIndications += 1
      return .pictureLossIndication(media: ssrc)
    }
    statistics.fullIntraRequests += 1
    return .fullIntraRequest([RTCPFeedback.IntraRequest(ssrc: ssrc, number: number)])
  }
}
