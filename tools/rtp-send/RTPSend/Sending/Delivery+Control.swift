import Impairment
public import NIOCore
public import RTPWire

/// RTCP of both directions.
extension Delivery {
  /// Gives the network of a track an RTCP compound, which goes `offset` above the port of the
  /// track's media, or where they go if that is `nil`.
  mutating func offer(
    control compound: ByteBuffer, ofTrack index: Int, above offset: Int?, at now: Instant
  ) {
    tracks[index].network.offer(
      compound, label: offset ?? Self.amongMedia, at: now, as: .control)
  }

  /// Lets the last RTCP out, however long it would travel, because nobody waits for it.
  mutating func releaseControl() -> [PacketFeed.Packet] {
    tracks.indices.flatMap { index in
      tracks[index].network.releaseControl().map { packet(of: $0, ofTrack: index) }
    }
  }

  /// The packets that answer RTCP of one receiver among several, past the simulated network.
  mutating func answers(to datagram: ByteBuffer, at now: Instant) -> [PacketFeed.Packet] {
    tracks.indices.flatMap { index in
      tracks[index].feed.answer(datagram, at: now).map {
        var packet = $0
        packet.track = index
        return packet
      }
    }
  }

  mutating func requestKeyPicture(at now: Instant) {
    for index in tracks.indices { tracks[index].feed.requestKeyPicture(at: now) }
  }

  /// Processes RTCP from a receiver; the answers go through the simulated network too.
  public mutating func answer(_ datagram: ByteBuffer, at now: Instant) {
    for index in tracks.indices {
      for packet in allowance.allowed(tracks[index].feed.answer(datagram, at: now), at: now) {
        tracks[index].network.offer(
          packet.bytes, label: packet.portOffset, at: now, as: .answer)
      }
    }
  }

  /// What receivers have reported since the last call, by tracks, with the rates of their clocks.
  mutating func takeReceptions() -> [Int: (report: ReceptionReport, rate: Int)] {
    var receptions: [Int: (report: ReceptionReport, rate: Int)] = [:]
    for index in tracks.indices {
      guard let report = tracks[index].feed.takeReception() else { continue }
      receptions[index] = (report, tracks[index].feed.clock.rate)
    }
    return receptions
  }

  public var feedback: FeedbackCounters {
    tracks.reduce(into: FeedbackCounters()) { $0.add($1.feed.feedback) }
  }

  /// An RTCP compound of a track as it is sent; `nil` if it cannot be sent.
  public mutating func protected(_ compound: ByteBuffer, ofTrack index: Int) -> ByteBuffer? {
    try? tracks[index].feed.protected(compound)
  }

  /// The RTP timestamp that a track has at `now`, for sender reports.
  public func timestamp(at now: Instant, ofTrack index: Int) -> UInt32 {
    var time = lastTime
    let now = min(now, heldSince ?? now)
    if let live = liveClock.time(at: now) {
      time = live
    } else if case .mediaTime(let speed) = pacing, let origin {
      let elapsed = Double(start.nanoseconds(to: now)) * speed
      time = origin.addingSaturating(Int64(clamping: elapsed))
    }
    // Behind a restart the new timestamps hold for what has been sent under them.
    let feed = tracks[index].feed
    let first = tracks[index].firstTimestamp ?? feed.stream.timestamp(of: 0)
    return first &+ UInt32(truncatingIfNeeded: feed.clock.ticks(of: time))
  }
}
