internal import RTPWire

/// What the numbers, timestamps and times of a flow's packets come to (RFC 3550 §6.4.1).
struct FlowReception: Sendable {
  /// A step of the numbers beyond which they began anew (RFC 3550 A.1, `MAX_DROPOUT`).
  static let longestStep = 3000
  /// Places that the first packet to come may have overtaken at a time.
  private static let overtaken = 64

  /// Nanoseconds of the recording.
  let firstTime: Int64
  private(set) var lastTime: Int64
  private(set) var received: UInt64 = 1
  /// Packets that the numbers have places for, up to the last time they began anew.
  private var expectedBefore: UInt64 = 0
  private var first: Int64
  private var highest: Int64
  private var numbers: SequenceUnwrapper
  private var timestamp: UInt32
  /// From the first packet on, timestamps that began anew left out.
  private var ticks: Int64 = 0
  /// In nanoseconds, for each of the clock rates.
  private var jitters = [Double](repeating: 0, count: Self.clockRates.count)

  /// The clock rates that are reckoned with, since which one holds may be said later, or not at
  /// all.
  private static let clockRates: [UInt32] = [
    8000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 90_000,
  ]
  /// How far the rate that packets show may be from one that they are taken to have.
  private static let tolerance = 0.05

  init(_ packet: RTPPacket, at time: Int64) {
    (firstTime, lastTime, timestamp) = (time, time, packet.timestamp)
    numbers = SequenceUnwrapper(first: packet.sequenceNumber)
    first = numbers.extend(packet.sequenceNumber)
    highest = first
  }

  /// Packets that the numbers have places for and that did not come; packets that came twice make
  /// up for lost ones, as in receiver reports.
  var lost: UInt64 {
    let expected = expectedBefore + UInt64(clamping: highest - first + 1)
    return expected > received ? expected - received : 0
  }

  /// The interarrival jitter in nanoseconds, of timestamps that are ticks of `clockRate`; `nil` for
  /// a rate that nothing has.
  func jitter(clockRate: UInt32) -> Double? {
    Self.clockRates.firstIndex(of: clockRate).map { jitters[$0] }
  }

  /// The clock rate that timestamps and times show; `nil` where it is none of the usual ones.
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
    guard (extended - highest).magnitude <= UInt64(Self.longestStep) else {
      expectedBefore += UInt64(clamping: highest - first + 1)
      numbers = SequenceUnwrapper(first: number)
      first = numbers.extend(number)
      highest = first
      return
    }
    // Those that the first one has overtaken belong to the flow too.
    if extended < first, first - extended <= Self.overtaken { first = extended }
    guard extended > highest else { return }
    highest = extended
    numbers.advance(to: extended)
  }
}
