import RTPWire

/// Places 32-bit RTP timestamps on a 64-bit timeline that goes on across restarts of the source.
struct MediaTimeline: Sendable {
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
    if newest.map({ Self.difference(from: $0, to: timestamp) > 0 }) ?? true { newest = timestamp }
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
  mutating func restart(at timestamp: UInt32, arrival: Instant) {
    guard let last else { return }
    let elapsed = Instant(nanoseconds: max(0, last.arrival.nanoseconds(to: arrival)))
    self.last = (timestamp, last.ticks &+ elapsed.ticks(at: clockRate), arrival)
    newest = timestamp
  }

  /// Whether `timestamp` is later than every one before it.
  func isNewer(_ timestamp: UInt32) -> Bool {
    newest.map { Self.difference(from: $0, to: timestamp) > 0 } ?? true
  }

  static func difference(from one: UInt32, to other: UInt32) -> Int32 {
    Int32(truncatingIfNeeded: Int64(other) - Int64(one))
  }
}
