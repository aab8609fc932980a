import RTPWire

/// What media time it is, told by packets that are sent as they come.
///
/// A packet that comes late says nothing: its picture took long to code or to write. So the clock
/// is that of the packets that came with the least delay. It slows down a little by itself, so that
/// a source whose clock is slower than this one's is followed too.
struct LiveClock {
  /// The most that clocks of machines differ, with room: one part in 2000.
  private static let longestDrift: Int64 = 2000

  /// A moment, and the media time that it had.
  private var anchor: (now: Instant, time: Int64)?

  /// Notes that a packet of media time `time`, in nanoseconds, is sent at `now`.
  mutating func note(_ time: Int64, at now: Instant) {
    if let present = self.time(at: now), present >= time { return }
    anchor = (now, time)
  }

  /// The media time at `now`; `nil` before the first packet.
  func time(at now: Instant) -> Int64? {
    anchor.map { anchor in
      let elapsed = anchor.now.nanoseconds(to: now)
      return anchor.time.addingSaturating(elapsed - elapsed / Self.longestDrift)
    }
  }
}
