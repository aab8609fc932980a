public import NIOCore
public import RTPWire

/// A network that loses, reorders, doubles and delays packets: a value on a virtual clock.
///
/// ```
/// offered ─▶ lost? ─▶ doubled? ─▶ displaced? ─▶ delayed? ─▶ released
///                                     garbage ──▲
/// ```
///
/// The same seed and packets give the same result. Each impairment has its own generator, so that
/// switching one on does not change the others.
public struct NetworkSimulator: Sendable {
  /// A datagram that leaves the network.
  public struct Release: Sendable, Equatable {
    public var bytes: ByteBuffer
    public var time: Instant
    /// Whether it is random bytes that nobody offered.
    public var isGarbage: Bool
    /// How far above the port of the media it goes.
    public var portOffset = 0
  }

  /// The longest random datagram: what fits in an Ethernet frame.
  public static let longestGarbage = 1472

  public private(set) var counters = ImpairmentCounters()
  /// Packets that have not left yet.
  public var pendingCount: Int { inFlight.count + displaced.count }

  private let impairments: Impairments
  private var lossDice: SplitMix64
  private var answerDice: SplitMix64
  private var burstDice: SplitMix64
  private var reorderingDice: SplitMix64
  private var duplicationDice: SplitMix64
  private var jitterDice: SplitMix64
  private var garbageDice: SplitMix64

  private var isInBurst = false
  /// Packets that got past loss and duplication so far: the places that reordering counts.
  private var place = 0
  private var displaced: [Displaced] = []
  private var inFlight = ReleaseQueue()

  private struct Displaced {
    var bytes: ByteBuffer
    var portOffset: Int
    /// The packet follows directly after the one in this place.
    var behind: Int
  }

  public init(_ impairments: Impairments, seed: UInt64) {
    self.impairments = impairments
    var dice = SplitMix64(seed: seed)
    lossDice = dice.split()
    burstDice = dice.split()
    reorderingDice = dice.split()
    duplicationDice = dice.split()
    jitterDice = dice.split()
    garbageDice = dice.split()
    answerDice = dice.split()
  }

  /// Gives the network a packet at `now`, which must not go back between calls.
  ///
  /// - Parameters:
  ///   - packet: the datagram.
  ///   - portOffset: the destination's offset from the media port.
  ///   - now: the current time.
  ///   - isAnswer: whether it answers a request. The time of requests is unpredictable, so their
  ///     losses use a separate generator: other losses depend on the seed alone.
  public mutating func offer(
    _ packet: ByteBuffer, above portOffset: Int = 0, at now: Instant, isAnswer: Bool = false
  ) {
    counters.offered += 1
    defer { addGarbage(at: now) }
    if isAnswer ? isInBurst || answerDice.chance(impairments.loss) : isLost() {
      counters.lost += 1
      return
    }
    pass(packet, above: portOffset, at: now)
    if impairments.duplication > 0, duplicationDice.chance(impairments.duplication) {
      counters.duplicated += 1
      pass(packet, above: portOffset, at: now)
    }
  }

  /// Releases, at `now`, the packets that wait to be overtaken, because no more packets come.
  public mutating func finish(at now: Instant) {
    releaseDisplaced(behind: .max, at: now)
  }

  /// When the next packet leaves, or `nil` when none is on its way.
  public var nextRelease: Instant? { inFlight.first?.time }

  /// Takes out the packet that leaves next, if it does so by `now`.
  public mutating func release(by now: Instant) -> Release? {
    guard let first = inFlight.first, first.time <= now else { return nil }
    if !first.isGarbage { counters.delivered += 1 }
    return inFlight.popFirst()
  }

  private mutating func isLost() -> Bool {
    var isLost = false
    if impairments.loss > 0 { isLost = lossDice.chance(impairments.loss) }
    if let burst = impairments.burstLoss {
      isInBurst = burstDice.chance(isInBurst ? 1 - burst.ending : burst.beginning)
      if isInBurst { isLost = true }
    }
    return isLost
  }

  private mutating func pass(_ packet: ByteBuffer, above portOffset: Int, at now: Instant) {
    defer {
      releaseDisplaced(behind: place, at: now)
      place += 1
    }
    if let reordering = impairments.reordering, reorderingDice.chance(reordering.probability) {
      let behind = place + reorderingDice.place(upTo: reordering.depth)
      counters.reordered += 1
      displaced.append(Displaced(bytes: packet, portOffset: portOffset, behind: behind))
    } else {
      enqueue(packet, above: portOffset, at: now)
    }
  }

  /// Releases what waits for `place`, ordered by place, then by arrival.
  private mutating func releaseDisplaced(behind place: Int, at now: Instant) {
    guard displaced.contains(where: { $0.behind <= place }) else { return }
    let due = displaced.enumerated().filter { $0.element.behind <= place }
      .sorted { ($0.element.behind, $0.offset) < ($1.element.behind, $1.offset) }
    displaced.removeAll { $0.behind <= place }
    for (_, packet) in due { enqueue(packet.bytes, above: packet.portOffset, at: now) }
  }

  private mutating func enqueue(
    _ bytes: ByteBuffer, above portOffset: Int = 0, at now: Instant, isGarbage: Bool = false
  ) {
    var time = now
    if impairments.jitter > 0 {
      let deviations = max(0, 3 + jitterDice.gaussian())
      time = now.advanced(byNanoseconds: Int64(Double(impairments.jitter) * deviations))
    }
    inFlight.insert(
      Release(bytes: bytes, time: time, isGarbage: isGarbage, portOffset: portOffset))
  }

  private mutating func addGarbage(at now: Instant) {
    guard impairments.garbage > 0, garbageDice.chance(impairments.garbage) else { return }
    let length = garbageDice.place(upTo: Self.longestGarbage)
    var bytes = ByteBufferAllocator().buffer(capacity: length)
    while bytes.readableBytes < length { bytes.writeInteger(garbageDice.next()) }
    bytes.moveWriterIndex(to: length)
    counters.garbage += 1
    enqueue(bytes, at: now, isGarbage: true)
  }
}
