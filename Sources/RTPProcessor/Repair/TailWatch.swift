import RTPWire

/// When to request packets after the newest one, whose loss no later packet shows.
///
/// There are two signs of such packets: the newest packet does not end its access unit, or a sender
/// report counts more packets than came (RFC 3550 §6.4.1). Both can be wrong, so these requests are
/// few, and a number that does not exist is no loss. GStreamer's `rtpjitterbuffer` requests the
/// next number by time too (`rtx-next-seqnum`); libwebrtc's sender repeats its last packets.
struct TailWatch: Sendable {
  /// The most numbers named in one request: a single entry (RFC 4585 §6.2.1, PID and BLP).
  static let reach: Int64 = 17
  /// The most requests while nothing comes.
  static let maximumRequests = 4
  /// How long after the newest packet to ask: longer than the recent pauses between packets of one
  /// access unit, and within these limits.
  static let shortestWait: Duration = .milliseconds(20)
  static let longestWait: Duration = .milliseconds(500)
  /// How many consecutive access units must end with the marker, because some senders never set it.
  static let unitsOfProof = 3
  /// How many reports that count unsent packets make all counts doubtful.
  static let maximumFalseCounts = 3

  /// The packet with the highest number.
  private struct Newest: Sendable {
    var sequence: Int64
    let timestamp: UInt32
    let endsUnit: Bool
    var arrival: Instant
  }

  /// A sender report, and what follows from it.
  private struct Count: Sendable {
    let sent: UInt32
    let timestamp: UInt32
    /// The highest number that came, or that was certainly sent.
    var highest: Int64
    let arrival: Instant
    /// The highest number that was sent; `nil` if it is not higher than what came.
    var promised: Int64?
  }

  /// The last request.
  private struct Asked: Sendable {
    let numbers: ClosedRange<Int64>
    var request: RepairSchedule.Request
  }

  private var newest: Newest?
  private var provenUnits = 0
  /// The time between packets of one access unit.
  private var pauses = DelayPeak()
  private var wait = Self.shortestWait
  private var count: Count?
  private var falseCounts = 0
  private var asked: Asked?
  /// Requests since a packet came.
  private var attempts = 0

  /// The request for `sequence`, if any.
  func request(for sequence: Int64) -> RepairSchedule.Request? {
    guard let asked, asked.numbers.contains(sequence) else { return nil }
    return asked.request
  }

  /// Whether a media packet with this number answers a request instead of being an original.
  func awaits(_ sequence: Int64, timestamp: UInt32) -> Bool {
    guard request(for: sequence) != nil else { return false }
    return timestamp == newest?.timestamp || isPromised(sequence, timestamp: timestamp)
  }

  /// When to ask next, with requests repeated after `timeout`.
  func deadline(timeout: Duration) -> Instant? {
    guard let newest, last(behind: newest) != nil, attempts < Self.maximumRequests else {
      return nil
    }
    guard attempts > 0, let asked else {
      let since = max(newest.arrival, count?.promised == nil ? newest.arrival : lastReport)
      return since.advanced(by: wait)
    }
    // Twice as long each time, because there may be nobody to answer.
    return asked.request.last.advanced(by: max(timeout, wait) * (1 << (attempts - 1)))
  }

  /// The numbers to request at `now`, in order; none before ``deadline(timeout:)``.
  mutating func takeDue(at now: Instant, timeout: Duration) -> [Int64] {
    guard let deadline = deadline(timeout: timeout), deadline <= now, let newest,
      let last = last(behind: newest)
    else { return [] }
    let numbers = newest.sequence + 1...last
    if asked?.numbers.lowerBound == numbers.lowerBound, var request = asked?.request {
      request.count += 1
      request.last = now
      asked = Asked(numbers: numbers, request: request)
    } else {
      asked = Asked(
        numbers: numbers,
        request: RepairSchedule.Request(noticed: newest.arrival, first: now, last: now))
    }
    attempts += 1
    return Array(numbers)
  }

  // MARK: - What comes

  /// Notes a packet with a higher number than any before.
  ///
  /// - Parameters:
  ///   - packet: the packet.
  ///   - sequence: its extended number.
  ///   - isMedia: `false` for a correction packet or padding, which has a number but belongs to no
  ///     access unit.
  ///   - way: how it was obtained.
  ///   - overtaking: the observed reordering delay.
  ///   - now: the current time.
  mutating func note(
    _ packet: RTPPacket, at sequence: Int64, isMedia: Bool, _ way: Source.Way,
    overtaking: Duration, now: Instant
  ) {
    if way == .network {
      judgeCount(by: packet, at: sequence)
      if isMedia { learn(from: packet, at: sequence, now: now) }
      wait = min(max(pauses.allowance(at: now), overtaking, Self.shortestWait), Self.longestWait)
      asked = nil
    }
    if let promised = count?.promised, sequence >= promised {
      count?.promised = nil
      if way != .network { count?.highest = promised }
    }
    attempts = 0
    if isMedia || newest == nil {
      newest = Newest(
        sequence: sequence, timestamp: packet.timestamp, endsUnit: packet.marker || !isMedia,
        arrival: now)
    } else {
      newest?.sequence = sequence
      newest?.arrival = now
    }
  }

  /// Notes a sender report; `highest` is the highest number that had come.
  ///
  /// Numbers are counted from one report to the next. Too few follow if packets of the first report
  /// were still under way, and too many if some overtook it.
  mutating func note(_ report: RTCPPacket.SenderReport, highest: Int64, at now: Instant) {
    var promised: Int64?
    if let count, falseCounts < Self.maximumFalseCounts {
      let last = (count.promised ?? count.highest) + Int64(report.packetCount &- count.sent)
      // More than that is not a loss at the end, but another way of counting.
      if last > highest, last - highest <= SourceProof.greatestDropout { promised = last }
    }
    if promised != count?.promised { attempts = 0 }
    count = Count(
      sent: report.packetCount, timestamp: report.timestamp, highest: highest, arrival: now,
      promised: promised)
  }

  /// Forgets the source's state, because it has ended or changed its SSRC.
  mutating func forget() { self = TailWatch() }

  // MARK: - Inside

  private var lastReport: Instant { count?.arrival ?? Instant(nanoseconds: .min) }

  /// The last number to request after `newest`; `nil` if nothing seems to be missing.
  private func last(behind newest: Newest) -> Int64? {
    if let promised = count?.promised, promised > newest.sequence {
      return min(promised, newest.sequence + Self.reach)
    }
    guard !newest.endsUnit, provenUnits >= Self.unitsOfProof else { return nil }
    return newest.sequence + Self.reach
  }

  /// Whether the last report counted a packet with this number and timestamp.
  private func isPromised(_ sequence: Int64, timestamp: UInt32) -> Bool {
    guard let count, let promised = count.promised, sequence <= promised else { return false }
    // A timestamp later than the report's had not been sent by then.
    return MediaTimeline.difference(from: count.timestamp, to: timestamp) <= 0
  }

  /// If a packet was sent after a report that counts it, the report counts something else too, such
  /// as retransmissions.
  private mutating func judgeCount(by packet: RTPPacket, at sequence: Int64) {
    guard let promised = count?.promised, sequence <= promised,
      !isPromised(sequence, timestamp: packet.timestamp)
    else { return }
    falseCounts += 1
    count?.promised = nil
  }

  /// Learns from two packets in a row how this sender uses the marker, and how far apart it sends.
  private mutating func learn(from packet: RTPPacket, at sequence: Int64, now: Instant) {
    guard let newest, newest.sequence + 1 == sequence else { return }
    if packet.timestamp == newest.timestamp {
      if !newest.endsUnit { pauses.note(newest.arrival.duration(to: now), at: now) }
    } else {
      provenUnits = newest.endsUnit ? min(provenUnits + 1, Self.unitsOfProof) : 0
    }
  }
}
