public import NIOCore
public import RTPWire

/// How fast packets are sent.
public enum Pacing: Sendable, Hashable {
  /// By the timestamps, `speed` times as fast.
  case mediaTime(speed: Double)
  /// A constant number of packets a second, regardless of timestamps.
  case packetRate(Double)
  /// As fast as they can be made and written.
  case unpaced
}

/// One stream on its way to one receiver: which datagram leaves when, on a virtual clock.
///
/// Packets come out of the feed, wait until they are due, and go through the simulated network.
public struct Delivery {
  /// Packets given to the network in one step, so that a step takes less than a millisecond.
  private static let longestStep = 256
  /// Between two steps at a constant packet rate: short enough for 0.5 ms of unevenness at most.
  private static let rateStep: Int64 = 400_000
  /// A constant packet rate that is later than this starts over instead of catching up in a burst.
  private static let longestRateDebt: Int64 = 10_000_000
  /// The same for media time, so that a machine that slept does not send its sleep at once.
  private static let longestMediaDebt: Int64 = 1_000_000_000

  private let pacing: Pacing
  private var feed: PacketFeed
  private var network: NetworkSimulator
  private var queue = CircularBuffer<Entry>()
  private var isFeedEmpty = false
  private var start = Instant(nanoseconds: 0)
  private var firstTicks: Int64?
  private var offered = 0
  private var lastStep = Instant(nanoseconds: .min)
  private var lastTicks: Int64 = 0

  private struct Entry {
    var packet: PacketFeed.Packet
    var ticks: Int64
  }

  /// Prepares the first picture of `feed`.
  ///
  /// - Throws: ``SendError`` when the source cannot be read.
  public init(_ feed: PacketFeed, through network: NetworkSimulator, pacing: Pacing) throws {
    self.feed = feed
    self.network = network
    self.pacing = pacing
    try prepare()
  }

  /// Starts the clock: the first packet is due at `now`.
  public mutating func begin(at now: Instant) { start = now }

  public var stream: RTPStream { feed.stream }
  public var frameCount: Int { feed.frameCount }
  public var counters: ImpairmentCounters { network.counters }

  /// Whether everything has left.
  public var isFinished: Bool { isFeedEmpty && queue.isEmpty && network.pendingCount == 0 }

  /// When there is next something to do, or `nil` when everything has left.
  public var deadline: Instant? {
    var next = network.nextRelease
    if let entry = queue.first {
      var due = due(entry)
      if case .packetRate = pacing {
        due = max(due, lastStep.advanced(byNanoseconds: Self.rateStep))
      }
      next = min(next ?? due, due)
    } else if !isFeedEmpty {
      next = start
    }
    return next
  }

  /// Prepares what is due next.
  ///
  /// This reads or encodes, so it is best done after sending.
  ///
  /// - Throws: ``SendError`` when the source cannot be read on; what is ready can still be sent.
  public mutating func prepare() throws {
    while !isFeedEmpty, queue.count < wantedCount {
      guard let batch = try feed.next() else {
        isFeedEmpty = true
        return
      }
      if firstTicks == nil { firstTicks = batch.ticks }
      for packet in batch.packets { queue.append(Entry(packet: packet, ticks: batch.ticks)) }
    }
  }

  /// Gives the network what is due by `now`.
  public mutating func step(to now: Instant) {
    forgiveDebt(at: now)
    lastStep = now
    var count = 0
    while count < Self.longestStep, let entry = queue.first, due(entry) <= now {
      queue.removeFirst()
      network.offer(entry.packet.bytes, above: entry.packet.portOffset, at: now)
      lastTicks = entry.ticks
      offered += 1
      count += 1
    }
    if isFeedEmpty, queue.isEmpty { network.finish(at: now) }
  }

  /// Takes out the next datagram that leaves by `now`.
  public mutating func release(by now: Instant) -> PacketFeed.Packet? {
    network.release(by: now).map { PacketFeed.Packet(bytes: $0.bytes, portOffset: $0.portOffset) }
  }

  /// Processes RTCP from a receiver; the answers go through the simulated network too.
  public mutating func answer(_ datagram: ByteBuffer, at now: Instant) {
    for packet in feed.answer(datagram, at: now) {
      network.offer(packet.bytes, above: packet.portOffset, at: now, isAnswer: true)
    }
  }

  public var feedback: FeedbackCounters { feed.feedback }

  /// An RTCP compound as it is sent; `nil` if it cannot be sent.
  public mutating func protected(_ compound: ByteBuffer) -> ByteBuffer? {
    try? feed.protected(compound)
  }

  /// The RTP timestamp of `now`, for sender reports.
  public func timestamp(at now: Instant) -> UInt32 {
    guard case .mediaTime(let speed) = pacing, let firstTicks else {
      return feed.stream.timestamp(of: lastTicks)
    }
    let elapsed = Double(start.nanoseconds(to: now)) * speed * 90_000 / 1_000_000_000
    return feed.stream.timestamp(of: firstTicks.addingSaturating(Int64(clamping: elapsed)))
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

  private func due(_ entry: Entry) -> Instant {
    switch pacing {
    case .mediaTime(let speed):
      let ticks = Double(entry.ticks.subtractingSaturating(firstTicks ?? 0))
      return start.advanced(
        byNanoseconds: Int64(clamping: ticks * (1_000_000_000 / 90_000) / speed))
    case .packetRate(let rate):
      let nanoseconds = Double(offered) * 1_000_000_000 / rate
      return start.advanced(byNanoseconds: Int64(clamping: nanoseconds))
    case .unpaced:
      return start
    }
  }

  /// Moves the schedule when the next packet is so late that catching up would be a flood.
  private mutating func forgiveDebt(at now: Instant) {
    guard let entry = queue.first else { return }
    let limit: Int64
    switch pacing {
    case .mediaTime: limit = Self.longestMediaDebt
    case .packetRate: limit = Self.longestRateDebt
    case .unpaced: return
    }
    let debt = due(entry).nanoseconds(to: now)
    if debt > limit { start = start.advanced(byNanoseconds: debt) }
  }
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
