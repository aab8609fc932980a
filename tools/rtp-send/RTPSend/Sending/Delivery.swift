public import Impairment
import NIOCore
public import RTPWire

/// The tracks of a session on their way to one receiver: which datagram leaves when, on a virtual
/// clock.
///
/// Packets come out of the feeds, wait until they are due, and go through a simulated network, each
/// track through its own. What the clocks of the tracks count is compared in nanoseconds of media
/// time.
public struct Delivery {
  /// Packets given to the network in one step, so that a step takes less than a millisecond.
  private static let longestStep = 256
  /// Between two steps at a constant packet rate: short enough for 0.5 ms of unevenness at most.
  private static let rateStep: Int64 = 400_000
  /// A constant packet rate that is later than this starts over instead of catching up in a burst.
  private static let longestRateDebt: Int64 = 10_000_000
  /// The same for media time, so that a machine that slept does not send its sleep at once.
  private static let longestMediaDebt: Int64 = 1_000_000_000

  var pacing: Pacing
  var tracks: [Track]
  var start = Instant(nanoseconds: 0)
  /// The media time of the first packet of all.
  var origin: Int64?
  /// What is due from this media time on is not sent any more.
  var cut = Int64.max
  var offered = 0
  /// What the receiver may have sent again.
  var allowance = ResendAllowance()
  private var lastStep = Instant(nanoseconds: .min)
  var lastTime: Int64 = 0
  /// How the times of the sources become media time.
  var timeline = Timeline()
  /// Since when nothing is due.
  var heldSince: Instant?
  /// The clock starts with the first packet, which was not there yet when it was to start.
  private var isWaitingForFirst = false
  /// What media time it is, where packets are sent as they come.
  var liveClock = LiveClock()

  /// Prepares the first picture of `feed`, the only track.
  ///
  /// - Throws: ``SendError`` when the source cannot be read.
  public init(_ feed: PacketFeed, through network: NetworkSimulator, pacing: Pacing) throws {
    try self.init([Track(feed, through: network)], pacing: pacing)
  }

  /// Prepares what is due first in each of `tracks`.
  ///
  /// - Throws: ``SendError`` when a source cannot be read.
  public init(_ tracks: [Track], pacing: Pacing) throws {
    self.tracks = tracks
    self.pacing = pacing
    try prepare()
  }

  /// Starts the clock: the first packet is due at `now`, or when it comes.
  public mutating func begin(at now: Instant) {
    start = now
    isWaitingForFirst = origin == nil
  }

  /// Has `wake` called, on any thread, each time there is something to ``prepare()`` again after a
  /// source had nothing yet.
  public func notify(_ wake: @escaping @Sendable () -> Void) {
    for track in tracks { track.feed.notify(wake) }
  }

  /// The streams of the tracks, in their order.
  public var streams: [RTPStream] { tracks.map(\.feed.stream) }
  /// What the network has been given of the tracks, in their order; `nil` of those that have begun
  /// with nothing.
  var accounts: [SenderAccount?] { tracks.map(\.account) }
  /// Access units taken from the source of the first track.
  public var frameCount: Int { tracks.first?.feed.frameCount ?? 0 }
  /// NAL units that cannot be sent, of all tracks.
  var refusedUnits: Int { tracks.reduce(0) { $0 + $1.feed.refusedUnits } }
  /// The sums of all tracks.
  public var counters: ImpairmentCounters {
    tracks.reduce(into: ImpairmentCounters()) { $0.add($1.network.counters) }
  }

  /// Those of the pictures that are sent now, once they are known.
  var parameterSets: [Codec.ParameterSet: [ByteBuffer]]? {
    tracks.lazy.compactMap(\.feed.parameterSets).first
  }

  /// What became of the packets of one track.
  public func counters(ofTrack index: Int) -> ImpairmentCounters {
    tracks[index].network.counters
  }

  /// Whether everything has left.
  public var isFinished: Bool {
    tracks.allSatisfy { $0.isFeedEmpty && $0.queue.isEmpty && $0.network.pendingCount == 0 }
  }

  /// When there is next something to do; `nil` when everything has left, or a source has to wake.
  public var deadline: Instant? {
    guard heldSince == nil else { return nil }
    var next = nextRelease?.time
    if let index = nextTrack, let entry = tracks[index].queue.first {
      var due = due(entry, ofTrack: index)
      if case .packetRate = pacing {
        due = max(due, lastStep.advanced(byNanoseconds: Self.rateStep))
      }
      next = min(next ?? due, due)
    } else if tracks.contains(where: { !$0.isFeedEmpty && !$0.isWaiting }) {
      next = start
    }
    return next
  }

  /// Prepares what is due next.
  ///
  /// This reads or encodes, so it is best done after sending.
  ///
  /// - Throws: ``SendError`` when a source cannot be read on; what is ready can still be sent.
  public mutating func prepare() throws {
    for index in tracks.indices {
      while !tracks[index].isFeedEmpty, tracks[index].queue.count < wantedCount {
        let supply = try tracks[index].feed.next(before: cut)
        tracks[index].isWaiting = false
        if case .nothingYet = supply {
          tracks[index].isWaiting = true
          break
        }
        guard let batch = supply.element else {
          tracks[index].isFeedEmpty = true
          cut = min(cut, tracks[index].feed.cut ?? .max)
          break
        }
        let time = tracks[index].feed.clock.nanoseconds(of: batch.ticks)
        let firstTimestamp = tracks[index].feed.stream.timestamp(of: 0)
        for packet in batch.packets {
          tracks[index].noteKey(of: packet)
          tracks[index].append(
            Track.Entry(packet: packet, time: time, firstTimestamp: firstTimestamp))
        }
      }
    }
    if origin == nil {
      origin = tracks.compactMap { $0.queue.first?.time }.min()
      lastTime = origin ?? 0
    }
  }

  /// Gives the network what is due by `now`.
  public mutating func step(to now: Instant) {
    guard heldSince == nil else { return }
    if isWaitingForFirst, origin != nil {
      isWaitingForFirst = false
      start = now
    }
    // Whoever reports has done so before, and then nothing is left to forgive.
    _ = forgiveDebt(at: now)
    lastStep = now
    for index in tracks.indices { tracks[index].feed.makeUpForRequests(at: now) }
    var count = 0
    var only: Int?
    while count < Self.longestStep, let index = nextTrack, index == only ?? index,
      let entry = tracks[index].queue.first, due(entry, ofTrack: index) <= now
    {
      tracks[index].queue.removeFirst()
      // By the time at which it is due, the same plan has the same verdicts in every run. What is
      // sent as it comes is due when it is there.
      let isDueNow = pacing == .unpaced || tracks[index].feed.isLive
      let time = isDueNow ? now : due(entry, ofTrack: index)
      tracks[index].network.offer(entry.packet.bytes, label: entry.packet.portOffset, at: time)
      tracks[index].noteOffered(entry)
      lastTime = max(lastTime, entry.time)
      if tracks[index].feed.isLive { liveClock.note(entry.time, at: now) }
      offered += 1
      count += 1
      // What leaves at once leaves track by track, so that a step must not have several.
      if pacing == .unpaced { only = index }
    }
    for index in tracks.indices where tracks[index].isFeedEmpty && tracks[index].queue.isEmpty {
      tracks[index].network.finish(at: now)
    }
  }

  /// Takes out the next datagram that leaves by `now`.
  public mutating func release(by now: Instant) -> PacketFeed.Packet? {
    guard let index = nextRelease?.index, let release = tracks[index].network.release(by: now)
    else { return nil }
    return packet(of: release, ofTrack: index)
  }

  func packet(
    of release: NetworkSimulator.Release, ofTrack index: Int
  ) -> PacketFeed.Packet {
    var packet = PacketFeed.Packet(bytes: release.bytes, track: index)
    packet.portOffset = release.label + tracks[index].portOffset
    if release.kind == .control {
      packet.isControl = true
      packet.isAmongMedia = release.label == Self.amongMedia
      if packet.isAmongMedia { packet.portOffset = tracks[index].portOffset }
    } else {
      packet.key = release.isGarbage ? nil : tracks[index].key(of: release.bytes)
      packet.isAnswer = release.kind == .answer
    }
    return packet
  }

  /// The label of RTCP that goes where the media go.
  static let amongMedia = -1

  /// Whether nothing is due, whatever there is.
  var isHeld: Bool { heldSince != nil }

  /// What the networks decided since the last call, if they record it.
  public mutating func takeVerdicts() -> [Verdict] {
    tracks.indices.flatMap { tracks[$0].network.takeVerdicts() }
  }

  /// How far above the destination's port the packets of a track go.
  public func portOffset(ofTrack index: Int) -> Int { tracks[index].portOffset }

  /// The track whose packet is due next.
  ///
  /// Where times do not space packets, all tracks have to be ready, so that they keep their order,
  /// but for those that have nothing yet.
  var nextTrack: Int? {
    var isSpaced = false
    if case .mediaTime = pacing { isSpaced = true }
    var next: (index: Int, time: Int64)?
    for index in tracks.indices {
      if let first = tracks[index].queue.first {
        // What is sent as it comes is due before everything that has a time.
        let time = tracks[index].feed.isLive ? .min : first.time
        if next.map({ time < $0.time }) ?? true { next = (index, time) }
      } else if !isSpaced, !tracks[index].isFeedEmpty, !tracks[index].isWaiting {
        return nil
      }
    }
    return next?.index
  }

  /// The track whose network releases a packet next.
  private var nextRelease: (index: Int, time: Instant)? {
    var next: (index: Int, time: Instant)?
    for index in tracks.indices {
      guard let time = tracks[index].network.nextRelease else { continue }
      if next.map({ time < $0.time }) ?? true { next = (index, time) }
    }
    return next
  }

  /// How many packets are kept ready: one picture in real time, enough for two steps otherwise.
  private var wantedCount: Int {
    switch pacing {
    case .mediaTime: 1
    case .packetRate(let rate):
      1 + min(Self.longestStep, Int(clamping: 2 * rate * Double(Self.rateStep) / 1_000_000_000))
    case .unpaced: Self.longestStep
    }
  }

  private func due(_ entry: Track.Entry, ofTrack index: Int) -> Instant {
    if tracks[index].feed.isLive { return start }
    switch pacing {
    case .mediaTime(let speed):
      let time = Double(entry.time.subtractingSaturating(origin ?? 0))
      return start.advanced(byNanoseconds: Int64(clamping: time / speed))
    case .packetRate(let rate):
      let nanoseconds = Double(offered) * 1_000_000_000 / rate
      return start.advanced(byNanoseconds: Int64(clamping: nanoseconds))
    case .unpaced:
      return start
    }
  }

  /// Moves the schedule when the next packet is so late that catching up would be a flood.
  ///
  /// - Returns: whether reports that were sent no longer hold.
  mutating func forgiveDebt(at now: Instant) -> Bool {
    guard !isHeld, !isWaitingForFirst, let index = nextTrack,
      let entry = tracks[index].queue.first, !tracks[index].feed.isLive
    else { return false }
    let limit: Int64
    switch pacing {
    case .mediaTime: limit = Self.longestMediaDebt
    case .packetRate: limit = Self.longestRateDebt
    case .unpaced: return false
    }
    let debt = due(entry, ofTrack: index).nanoseconds(to: now)
    guard debt > limit else { return false }
    start = start.advanced(byNanoseconds: debt)
    // At a rate, it is that of the last packet.
    if case .mediaTime = pacing { return true }
    return false
  }
}

extension ByteBuffer {
  /// The sequence number of an RTP packet, which SRTP leaves in clear.
  var rtpSequence: UInt16? { getInteger(at: readerIndex + 2) }
  /// The SSRC of an RTP packet.
  var rtpSSRC: UInt32? { getInteger(at: readerIndex + 8) }
  /// The timestamp of an RTP packet.
  var rtpTimestamp: UInt32? { getInteger(at: readerIndex + 4) }
}

extension FixedWidthInteger {
  /// `value` without its fraction, clamped to the range of the type; 0 when it is not a number.
  init(clamping value: Double) {
    if let exact = Self(exactly: value.rounded(.towardZero)) {
      self = exact
    } else {
      self = value > 0 ? .max : value < 0 ? .min : 0
    }
  }
}
