import NIOCore
import RTPWire

/// Pauses, and other parts of the sources.
extension Delivery {
  /// How far behind what was sent another part of the sources begins: further than pictures are
  /// reordered.
  private static let seam: Int64 = 500_000_000

  /// From now on nothing is due.
  mutating func hold(at now: Instant) { heldSince = heldSince ?? now }

  /// Goes on as if no time had passed since ``hold(at:)``, or where sources are now that do not
  /// wait.
  mutating func resume(at now: Instant) {
    guard let since = heldSince.take() else { return }
    start = start.advanced(byNanoseconds: since.nanoseconds(to: now))
    for track in tracks { track.feed.rejoin() }
  }

  /// Whether there is anything that goes on while nothing is due.
  var isLive: Bool { tracks.contains { $0.feed.isLive } }

  /// The time of the source that is sent next.
  var position: Int64 {
    timeline.source(of: nextTrack.flatMap { tracks[$0].queue.first?.time } ?? lastTime)
  }

  /// Sends another part of the sources, behind what was sent; its first packet is due at `now`.
  ///
  /// - Throws: ``SendError`` when a source cannot be read there.
  mutating func play(
    _ passage: Passage, _ speed: Double, in survey: FileSurvey, at now: Instant
  ) throws {
    let wanted = passage.start.map { survey.start.addingSaturating($0) } ?? position
    let base = offered > 0 || timeline != Timeline() ? lastTime + Self.seam : origin ?? 0
    let unsent = tracks.map { $0.queue.map(\.packet.bytes) }
    for index in tracks.indices {
      tracks[index].queue.removeAll()
      tracks[index].isFeedEmpty = false
    }
    // The key picture decides where the sound begins.
    let leader = tracks.firstIndex { $0.feed.hasPictures } ?? 0
    let begin = try tracks[leader].feed.seek(to: wanted, in: survey, unsent: unsent[leader])
    timeline = Timeline(source: begin ?? wanted, stream: base, scale: passage.scale)
    for index in tracks.indices {
      if index != leader {
        // Sound at another pace is noise.
        tracks[index].isFeedEmpty = passage.scale != 1
        if passage.scale == 1 {
          _ = try tracks[index].feed.seek(
            to: timeline.source, in: survey, unsent: unsent[index])
        }
      }
      tracks[index].feed.follow(timeline)
    }
    cut = passage.end.map { timeline.stream(of: survey.start.addingSaturating($0)) } ?? .max
    pace(speed)
    heldSince = nil
    origin = nil
    lastTime = base
    offered = 0
    start = now
    try prepare()
  }

  private mutating func pace(_ speed: Double) {
    if case .mediaTime = pacing { pacing = .mediaTime(speed: speed) }
  }

  /// The packet of a track that leaves next, if there is one.
  func nextPacket(ofTrack index: Int) -> ByteBuffer? { tracks[index].queue.first?.packet.bytes }

  /// The media time of a timestamp that is near what is sent now.
  func time(ofTimestamp timestamp: UInt32, ofTrack index: Int) -> Int64 {
    let feed = tracks[index].feed
    let reference = feed.clock.ticks(of: lastTime)
    let distance = Int32(bitPattern: timestamp &- feed.stream.timestamp(of: reference))
    return feed.clock.nanoseconds(of: reference.addingSaturating(Int64(distance)))
  }

  /// The timestamp of a media time.
  func timestamp(of time: Int64, ofTrack index: Int) -> UInt32 {
    let feed = tracks[index].feed
    return feed.stream.timestamp(of: feed.clock.ticks(of: time))
  }

  /// The time of the source at a media time.
  func sourceTime(of time: Int64) -> Int64 { timeline.source(of: time) }
}
