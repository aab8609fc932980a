internal import RTPWire

/// Loss, jitter and clock rate from a flow's numbers, timestamps and times (RFC 3550 §6.4.1).
struct FlowReception: Sendable {
  /// How many packets the first one to arrive may have overtaken.
  private static let overtaken = 64
  /// The shortest silence that may be an outage of the network, in nanoseconds.
  private static let shortestOutage = 1e9

  /// In nanoseconds of the recording.
  let firstTime: Int64
  private(set) var lastTime: Int64
  private(set) var received: UInt64 = 1
  /// Packets expected by the numbers, up to the last restart or outage.
  private var expectedBefore: UInt64 = 0
  /// When the numbers since then began, and the ticks until then: the pace is measured from there.
  private var began: (time: Int64, ticks: Int64)
  private var first: Int64
  private var highest: Int64
  private var numbers: SequenceUnwrapper
  private var timestamp: UInt32
  /// Ticks since the first packet, without restarts of the timestamps.
  private var ticks: Int64 = 0
  /// In nanoseconds, one per clock rate.
  private var jitters = [Double](repeating: 0, count: Self.clockRates.count)

  /// The clock rates used in parallel, because the right one may be learned later or never.
  static let clockRates: [UInt32] = [
    8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 90_000,
  ]
  /// How far the observed rate may be from a usual one.
  private static let tolerance = 0.05

  init(_ packet: RTPPacket, at time: Int64) {
    (firstTime, lastTime, timestamp) = (time, time, packet.timestamp)
    began = (time, 0)
    numbers = SequenceUnwrapper(first: packet.sequenceNumber)
    first = numbers.extend(packet.sequenceNumber)
    highest = first
  }

  /// Missing packets by the numbers; duplicates make up for lost ones, as in receiver reports.
  var lost: UInt64 {
    let expected = expectedBefore.addingSaturating(UInt64(clamping: highest - first + 1))
    return expected > received ? expected - received : 0
  }

  /// The interarrival jitter in nanoseconds, for timestamps at `clockRate`; `nil` for an unusual
  /// rate.
  func jitter(clockRate: UInt32) -> Double? {
    Self.clockRates.firstIndex(of: clockRate).map { jitters[$0] }
  }

  /// The clock rate shown by timestamps and times; `nil` if it is not a usual one.
  var clockRate: UInt32? {
    let elapsed = Double(lastTime.subtractingSaturating(firstTime)) / 1e9
    guard elapsed > 0.1 else { return nil }
    let shown = Double(ticks) / elapsed
    return Self.clockRates.min { abs(Double($0) - shown) < abs(Double($1) - shown) }
      .flatMap { abs(Double($0) - shown) <= Self.tolerance * Double($0) ? $0 : nil }
  }

  mutating func observe(_ packet: RTPPacket, at time: Int64) {
    received += 1
    let elapsed = Double(time.subtractingSaturating(lastTime))
    let step = Int32(bitPattern: packet.timestamp &- timestamp)
    let course = noteNumber(packet.sequenceNumber, elapsed: elapsed, step: step)
    (lastTime, timestamp) = (time, packet.timestamp)
    defer { if course != .goesOn { began = (time, ticks) } }
    // A minute of video.
    guard course == .outage || step.magnitude <= 60 * 90_000 else { return }
    ticks = ticks.addingSaturating(Int64(step))
    for (index, rate) in Self.clockRates.enumerated() {
      let difference = abs(elapsed - Double(step) * 1e9 / Double(rate))
      jitters[index] += (difference - jitters[index]) / 16
    }
  }

  /// What the numbers say of a packet and those before it.
  private enum Course {
    case goesOn
    /// The network, or the capture, lacks all between them.
    case outage
    case restart
  }

  /// Notes a number that came `elapsed` nanoseconds and `step` ticks after the one before.
  private mutating func noteNumber(
    _ number: SequenceNumber, elapsed: Double, step: Int32
  ) -> Course {
    let extended = numbers.extend(number)
    guard (extended - highest).magnitude <= UInt64(SourceProof.greatestDropout) else {
      let missing = missing(before: number, elapsed: elapsed, step: step)
      for count in [highest - first + 1, Int64(missing ?? 0)] {
        expectedBefore = expectedBefore.addingSaturating(UInt64(clamping: count))
      }
      numbers = SequenceUnwrapper(first: number)
      first = numbers.extend(number)
      highest = first
      return missing == nil ? .restart : .outage
    }
    // Packets that the first one has overtaken belong to the flow too.
    if extended < first, first - extended <= Self.overtaken { first = extended }
    guard extended > highest else { return .goesOn }
    highest = extended
    numbers.advance(to: extended)
    return .goesOn
  }

  /// How many packets are missing before `number`; `nil` if the numbers seem to begin anew.
  ///
  /// As when it is played, it is an outage if as many packets are missing as the source would have
  /// sent meanwhile, and as much media time.
  private func missing(before number: SequenceNumber, elapsed: Double, step: Int32) -> Int? {
    let before = Double(lastTime.subtractingSaturating(began.time))
    let sent = Double(highest - first)
    let pace = Double(ticks.subtractingSaturating(began.ticks)) / before
    guard min(elapsed, before) >= Self.shortestOutage, pace > 0,
      abs(Double(step) / pace - elapsed) <= 2e9 + elapsed / 10
    else { return nil }
    return SequenceNumber(UInt16(truncatingIfNeeded: highest + 1))
      .missing(before: number, expected: sent * elapsed / before)
  }
}
