import RTPWire

/// Places 32-bit RTP timestamps on a 64-bit timeline that goes on across restarts of the source.
struct MediaTimeline: Sendable {
  /// How far the timestamp may lie behind the newest one and still belong to the same time, in
  /// seconds: more than any reordering of pictures or packets.
  private static let memory: Int64 = 10
  /// How far, in seconds, timestamps and arrivals may disagree about an outage that both lived through.
  private static let greatestDisagreement: Int64 = 1

  let clockRate: UInt32
  private var last: (timestamp: UInt32, ticks: Int64, arrival: Instant)?

  init(clockRate: UInt32) { self.clockRate = clockRate }

  /// The newest timestamp seen, or `nil` before the first.
  private(set) var newest: UInt32?

  /// The time of `timestamp`, taken to be the nearest one to the packet before it.
  mutating func place(_ timestamp: UInt32, arrival: Instant) -> MediaTime {
    let ticks: Int64
    if let last {
      ticks = last.ticks &+ Int64(Self.difference(from: last.timestamp, to: timestamp))
    } else {
      ticks = Int64(timestamp)
    }
    last = (timestamp, ticks, arrival)
    if !isRecent(timestamp) { newest = timestamp }
    return MediaTime(ticks: ticks, timescale: clockRate)
  }

  /// The time of `timestamp` without moving the timeline; `nil` before the first packet.
  func time(of timestamp: UInt32) -> MediaTime? {
    last.map {
      MediaTime(
        ticks: $0.ticks &+ Int64(Self.difference(from: $0.timestamp, to: timestamp)),
        timescale: clockRate)
    }
  }

  /// Makes `timestamp` the start of a new numbering that goes on where the arrivals say.
  ///
  /// After an outage the numbers have leapt but the sender's clock has gone on; then so does this.
  ///
  /// On another connection, a `newSession`, time goes on in any case and never back.
  /// - Returns: whether the timestamps went on by themselves, so that they mean what they meant.
  @discardableResult
  mutating func restart(at timestamp: UInt32, arrival: Instant, newSession: Bool = false) -> Bool {
    guard var last else { return true }
    if newSession, let newest, let time = time(of: newest) {
      last = (newest, time.ticks, last.arrival)
    }
    let passed = Instant(nanoseconds: max(0, last.arrival.nanoseconds(to: arrival)))
    let elapsed = max(passed.ticks(at: clockRate), newSession ? 1 : 0)
    let step = Int64(Self.difference(from: last.timestamp, to: timestamp))
    let disagreement = elapsed &- step
    guard
      disagreement.magnitude > UInt64(clockRate) * UInt64(Self.greatestDisagreement)
        || newSession && step <= 0
    else { return true }
    self.last = (timestamp, last.ticks &+ elapsed, arrival)
    newest = timestamp
    return false
  }

  /// Whether `timestamp` is one of the last seconds: neither new nor of another time altogether.
  func isRecent(_ timestamp: UInt32) -> Bool {
    guard let newest else { return false }
    let step = Int64(Self.difference(from: newest, to: timestamp))
    return (-Self.memory * Int64(clockRate)...0).contains(step)
  }

  static func difference(from one: UInt32, to other: UInt32) -> Int32 {
    Int32(truncatingIfNeeded: Int64(other) - Int64(one))
  }
}
