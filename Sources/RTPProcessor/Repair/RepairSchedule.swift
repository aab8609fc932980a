import NIOCore
import RTPWire

/// Which packets are missing, when each is requested (RFC 4585 §6.2.1), and how long to wait for
/// it.
///
/// A packet is requested once it is later than the observed reordering delay, again after each
/// round trip without an answer, and no longer when an answer would come too late. Until the far
/// end has answered once, and again after many unanswered requests, nothing waits longer than it
/// would without requests.
struct RepairSchedule: Sendable {
  /// The most missing packets at once, and as many remembered requests: what the reorder window of
  /// a fast stream holds in an outage.
  ///
  /// Older ones make room.
  static let maximumPlaces = 1024
  /// How often one packet is requested.
  ///
  /// Even if three of four requests or answers are lost, one of ten is nearly always answered.
  static let maximumRequests = 10
  /// How long a gap may stay open for requested packets.
  static let longestWait: Duration = .seconds(1)
  /// Requests in a row without an answer before the far end counts as silent.
  static let patienceWithSilence = 16
  /// The interval of requests to a silent far end.
  static let probeInterval: Duration = .seconds(1)
  /// The most entries of one message (§6.2.1, PID and BLP), so that it fits into any packet.
  static let maximumEntries = 64

  /// A packet that is missing.
  private struct Place: Sendable {
    let sequence: Int64
    let noticed: Instant
    /// When it is requested next.
    var due: Instant
    var request: Request?
  }

  /// A request and its result.
  struct Request: Sendable {
    /// When the packet was first missing.
    let noticed: Instant
    let first: Instant
    var last: Instant
    var count = 1
    /// When the gap was filled, by whatever packet.
    var filled: Instant?
    var isAnswered = false
  }

  private(set) var roundTrip = RoundTrip()
  private let longestWait: Duration
  /// How long after a later one packets came.
  private var overtaking = DelayPeak()
  /// In order of their numbers.
  private var open = CircularBuffer<Place>()
  /// Requests for numbers that are no longer missing.
  private var closed: [Int64: Request] = [:]
  private var closedOrder = CircularBuffer<Int64>()
  private var nextDue: Instant?
  private var lastRequest: Instant?
  private var hasBeenAnswered = false
  private var unanswered = 0
  /// True once answers came as retransmission packets; then media packets are not answers.
  private(set) var isAnsweredInOwnStream = false

  /// - Parameter memory: how long the far end keeps what it has sent, if it says so.
  init(memory: Duration?) {
    longestWait = min(memory ?? Self.longestWait, Self.longestWait)
  }

  /// When ``takeDue(at:)`` has something to request.
  var deadline: Instant? {
    guard isSilent, let lastRequest else { return nextDue }
    return nextDue.map { max($0, lastRequest.advanced(by: Self.probeInterval)) }
  }

  /// Until when the gap at `sequence` should stay open for an answer; `nil` if none is expected.
  func patience(withGapAt sequence: Int64) -> Instant? {
    guard hasBeenAnswered, !isSilent else { return nil }
    var latest: Instant?
    var expected = sequence
    for place in open {
      guard place.sequence == expected else { break }
      expected += 1
      guard let request = place.request else { continue }
      let limit = place.noticed.advanced(by: longestWait)
      // As long as it can be requested again, it is undecided.
      if request.count < Self.maximumRequests { return limit }
      latest = max(latest ?? limit, min(place.due, limit))
    }
    return latest
  }

  /// Whether a media packet with this number counts as an answer.
  func awaits(_ sequence: Int64) -> Bool {
    guard !isAnsweredInOwnStream else { return false }
    if let index = index(of: sequence) { return open[index].request != nil }
    return closed[sequence].map { $0.filled == nil } ?? false
  }

  // MARK: - What comes

  /// Notes that `sequence` is missing; call it in order of numbers.
  ///
  /// `request` may have named it before any later packet came.
  mutating func notice(
    _ sequence: Int64, after request: Request?, at now: Instant,
    statistics: inout RepairStatistics
  ) {
    guard open.last.map({ $0.sequence < sequence }) ?? true else { return }
    if open.count >= Self.maximumPlaces { giveUpFirst() }
    let asked = request.map { $0.last.advanced(by: roundTrip.timeout) }
    let due = max(now.advanced(by: overtaking.allowance(at: now)), asked ?? now)
    if request != nil { statistics.requested += 1 }
    open.append(Place(sequence: sequence, noticed: now, due: due, request: request))
    nextDue = min(nextDue ?? due, due)
  }

  /// Notes the answer to a `request` that named `sequence` before any later packet came.
  mutating func arrived(
    _ sequence: Int64, after request: Request, at now: Instant,
    statistics: inout RepairStatistics
  ) {
    statistics.requested += 1
    statistics.arrived += 1
    var request = request
    request.filled = now
    noteAnswer(to: &request, at: now)
    remember(request, of: sequence)
  }

  /// How long packets come after later ones.
  mutating func overtakingAllowance(at now: Instant) -> Duration { overtaking.allowance(at: now) }

  /// Notes a packet that came, and says what it was as an answer.
  mutating func arrived(
    _ sequence: Int64, _ way: Source.Way, at now: Instant, statistics: inout RepairStatistics
  ) {
    if let index = index(of: sequence) {
      let place = open.remove(at: index)
      switch way {
      case .network: overtaking.note(place.noticed.duration(to: now), at: now)
      case .retransmission: statistics.arrived += 1
      case .reconstruction: break
      }
      guard var request = place.request else { return }
      request.filled = now
      if way == .retransmission { noteAnswer(to: &request, at: now) }
      remember(request, of: sequence)
    } else if var request = closed[sequence] {
      switch (request.filled, way) {
      case (nil, .retransmission):
        statistics.late += 1
        request.filled = now
        noteAnswer(to: &request, at: now)
      case (let filled?, .retransmission), (let filled?, .network):
        statistics.unneeded += 1
        if request.isAnswered, request.count == 1, !isAnsweredInOwnStream {
          // One request has one answer, so the first copy was the original, delayed.
          overtaking.note(request.noticed.duration(to: filled), at: now)
        }
        noteAnswer(to: &request, at: now)
      case (nil, .network):
        overtaking.note(request.noticed.duration(to: now), at: now)
      case (_, .reconstruction): return
      }
      closed[sequence] = request
    } else if way == .retransmission {
      statistics.unneeded += 1
    }
  }

  /// Whether a packet that comes as media may be an answer although its place is filled.
  ///
  /// One request has one answer, so one of two copies was the original, unless the network or the
  /// sender has doubled the answer: nothing tells these apart.
  func mayAnswer(_ sequence: Int64) -> Bool {
    guard !isAnsweredInOwnStream, let request = closed[sequence] else { return false }
    return !request.isAnswered || request.count > 1
  }

  /// Notes that answers come as retransmission packets.
  mutating func noteOwnStream() { isAnsweredInOwnStream = true }

  /// Notes that everything before `next` is delivered or given up.
  mutating func close(before next: Int64) {
    while let first = open.first, first.sequence < next { giveUpFirst() }
    if open.isEmpty { nextDue = nil }
  }

  /// Forgets the packets of a source that has ended or changed its SSRC; one that `isOther` may
  /// answer otherwise.
  mutating func forgetPlaces(isOther: Bool) {
    open.removeAll()
    closed.removeAll()
    closedOrder.removeAll()
    nextDue = nil
    if isOther { isAnsweredInOwnStream = false }
  }

  // MARK: - What is asked for

  /// The numbers to request at `now`, in order, at most one message full; call it until it is
  /// empty.
  mutating func takeDue(at now: Instant, statistics: inout RepairStatistics) -> [Int64] {
    guard let deadline, deadline <= now else { return [] }
    var asked: [Int64] = []
    var entry: (count: Int, first: Int64) = (0, .min)
    var next: Instant?
    for index in open.indices {
      guard isWorthAsking(open[index], at: now) else { continue }
      if open[index].due <= now, entry.count < Self.maximumEntries, !isSilent || asked.isEmpty {
        let sequence = open[index].sequence
        if sequence.subtractingSaturating(entry.first) > 16 { entry = (entry.count + 1, sequence) }
        asked.append(sequence)
        ask(at: index, now, statistics: &statistics)
        guard isWorthAsking(open[index], at: now) else { continue }
      }
      next = min(next ?? open[index].due, open[index].due)
    }
    nextDue = next
    guard !asked.isEmpty else { return [] }
    lastRequest = now
    statistics.requests += 1
    return asked
  }

  /// Whether an answer to a request can still come in time.
  private func isWorthAsking(_ place: Place, at now: Instant) -> Bool {
    guard place.request?.count ?? 0 < Self.maximumRequests else { return false }
    let answer = max(place.due, now).advanced(by: roundTrip.estimate)
    return !hasBeenAnswered || answer <= place.noticed.advanced(by: longestWait)
  }

  private mutating func ask(
    at index: CircularBuffer<Place>.Index, _ now: Instant, statistics: inout RepairStatistics
  ) {
    if open[index].request == nil {
      statistics.requested += 1
      open[index].request = Request(noticed: open[index].noticed, first: now, last: now)
    } else {
      open[index].request?.count += 1
      open[index].request?.last = now
    }
    open[index].due = now.advanced(by: roundTrip.timeout)
  }

  // MARK: - Answers

  var isSilent: Bool { unanswered >= Self.patienceWithSilence }

  private mutating func noteAnswer(to request: inout Request, at now: Instant) {
    hasBeenAnswered = true
    unanswered = 0
    guard !request.isAnswered else { return }
    request.isAnswered = true
    // With several requests it is unknown which was answered (RFC 6298 §3). An answer that is
    // faster than any before answers an earlier request, and the estimate is too low.
    let last = request.last.duration(to: now)
    if request.count == 1 || roundTrip.smoothed.map({ last < $0 / 2 }) ?? true {
      roundTrip.note(request.first.duration(to: now))
    }
  }

  private mutating func giveUpFirst() {
    guard let place = open.popFirst(), let request = place.request else { return }
    unanswered = min(unanswered + 1, Self.patienceWithSilence)
    remember(request, of: place.sequence)
  }

  private mutating func remember(_ request: Request, of sequence: Int64) {
    if closedOrder.count >= Self.maximumPlaces, let oldest = closedOrder.popFirst() {
      closed[oldest] = nil
    }
    closed[sequence] = request
    closedOrder.append(sequence)
  }

  /// The index of `sequence` among the missing packets, by bisection.
  private func index(of sequence: Int64) -> CircularBuffer<Place>.Index? {
    guard let first = open.first, let last = open.last,
      (first.sequence...last.sequence).contains(sequence)
    else { return nil }
    var range = 0..<open.count
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      let index = open.index(open.startIndex, offsetBy: middle)
      if open[index].sequence == sequence { return index }
      if open[index].sequence < sequence {
        range = middle + 1..<range.upperBound
      } else {
        range = range.lowerBound..<middle
      }
    }
    return nil
  }
}
