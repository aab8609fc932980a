internal import RTPWire

/// Loss, jitter and clock rate from a flow's numbers, timestamps and times (RFC 3550 §6.4.1).
struct FlowReception: Sendable {
  /// How many packets the first one to arrive may have overtaken.
  private static let overtaken = 64

  /// In nanoseconds of the recording.
  let firstTime: Int64
  private(set) var lastTime: Int64
  private(set) var received: UInt64 = 1
  /// Packets expected by the numbers, up to the last restart.
  private var expectedBefore: UInt64 = 0
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
    numbers = SequenceUnwrapper(first: packet.sequenceNumber)
    first = numbers.extend(packet.sequenceNumber)
    highest = first
  }

  /// Missing packets by the numbers; duplicates make up for lost ones, as in receiver reports.
  var lost: UInt64 {
    let expected = expectedBefore + UInt64(clamping: highest - first + 1)
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
    noteNumber(packet.sequenceNumber)
    let elapsed = Double(time.subtractingSaturating(lastTime))
    let step = Int32(bitPattern: packet.timestamp &- timestamp)
    (lastTime, timestamp) = (time, packet.timestamp)
    // A minute of video.
    guard step.magnitude <= 60 * 90_000 else { return }
    ticks = ticks.addingSaturating(Int64(step))
    for (index, rate) in Self.clockRates.enumerated() {
      let difference = abs(elapsed - Double(step) * 1e9 / Double(rate))
      jitters[index] += (difference - jitters[index]) / 16
    }
  }

  private mutating func noteNumber(_ number: SequenceNumber) {
    let extended = numbers.extend(number)
    guard (extended - highest).magnitude <= UInt64(SourceProof.greatestDropout) else {
      expectedBefore += UInt64(clamping: highest - first + 1)
      numbers = SequenceUnwrapper(first: number)
      first = numbers.extend(number)
      highest = first
      return
    }
    // Packets that the first one has overtaken belong to the flow too.
    if extended < first, first - extended <= Self.overtaken { first = extended }
    guard extended > highest else { return }
    highest = extended
    numbers.advance(to: extended)
  }
}
