public import NIOCore
public import RTPWire

/// A network that impairs packets by a plan: a value on a virtual clock.
///
/// ```
/// offered ─▶ rate, queue ─▶ loss ─▶ damage ─▶ copies ─▶ delay ─▶ reordering ─▶ released
///                                                       garbage ───────▲
/// ```
///
/// The same seed, plan and packets give the same verdicts. Each stage has its own generator, made
/// of the seed, the stage and the flow, so that switching one on does not change the others.
public struct NetworkSimulator: Sendable {
  /// A datagram that leaves the network.
  public struct Release: Sendable, Equatable {
    public var bytes: ByteBuffer
    public var time: Instant
    /// Whether it is random bytes that nobody offered.
    public var isGarbage = false
    /// What the packet was offered with, such as its distance from the port of the media.
    public var label = 0
  }

  /// The longest random datagram: what fits in an Ethernet frame.
  public static let longestGarbage = 1472
  /// The bytes that may be on their way, a second at 500 Mbit/s; what is beyond that is lost.
  public static let mostInFlight = 64 << 20

  public private(set) var counters = ImpairmentCounters()
  /// Packets that have not left yet.
  public var pendingCount: Int {
    inFlight.count + media.reordering.count + answers.reordering.count
  }
  /// Whether verdicts are kept for ``takeVerdicts()``.
  public var recordsVerdicts = false

  private let flow: String
  private let seed: UInt64
  private let startsByItself: Bool
  private var schedule: Schedule
  private var media: Lane
  private var answers: Lane
  private var rate = RateStage()
  private var inFlight = ReleaseQueue()
  private var bytesInFlight = 0
  private var verdicts: [Verdict] = []

  /// A network for one flow of packets.
  ///
  /// - Parameters:
  ///   - plan: what happens when.
  ///   - seed: the same for all flows of a run.
  ///   - number: the number of the flow, which gives it its own random numbers.
  ///   - name: its name in verdicts.
  ///   - startsByItself: whether the clock of the plan starts with the first packet; otherwise
  ///     ``begin(at:asFlow:)`` starts it.
  public init(
    _ plan: Plan, seed: UInt64, flow number: Int = 0, name: String = "media",
    startsByItself: Bool = true
  ) {
    flow = name
    self.seed = seed
    self.startsByItself = startsByItself
    schedule = Schedule(plan)
    media = Lane(stages: Stages(seed: seed, flow: 2 * number))
    answers = Lane(stages: Stages(seed: seed, flow: 2 * number + 1))
  }

  /// What packets have in common that keep an order among themselves.
  private struct Lane {
    var stages: Stages
    var reordering = ReorderingStage()
    /// Before this nothing leaves that must keep its order.
    var lastArrival = Instant(nanoseconds: .min)
  }

  /// A network that does the same all the time.
  public init(_ impairments: Impairments, seed: UInt64) {
    self.init(Plan(impairments), seed: seed)
  }

  /// Starts the clock of the plan, and the random numbers of a flow from their beginning, whatever
  /// was offered before.
  public mutating func begin(at now: Instant, asFlow number: Int) {
    schedule.begin(at: now)
    media.stages = Stages(seed: seed, flow: 2 * number)
    answers.stages = Stages(seed: seed, flow: 2 * number + 1)
  }

  /// Gives the network a packet at `now`, which must not go back between calls.
  ///
  /// - Parameters:
  ///   - packet: the datagram.
  ///   - label: comes out with it.
  ///   - now: the current time.
  ///   - isAnswer: whether it answers a request. The time of requests is unpredictable, so answers
  ///     use generators and an order of their own: what happens to the others depends on the seed
  ///     alone.
  public mutating func offer(
    _ packet: ByteBuffer, label: Int = 0, at now: Instant, isAnswer: Bool = false
  ) {
    if startsByItself { schedule.begin(at: now) }
    // Whoever asks late for what leaves gets the same.
    expire(at: now)
    offer(packet, label, at: now, by: isAnswer ? \.answers : \.media)
  }

  private mutating func offer(
    _ packet: ByteBuffer, _ label: Int, at now: Instant, by lane: WritableKeyPath<Self, Lane>
  ) {
    let impairments = schedule.impairments(at: now)
    let length = packet.readableBytes
    let fate = self[keyPath: lane].stages.draw(impairments, length: length)
    var record = record(of: packet, at: now)
    counters.offered += 1
    var departure = now
    if let reason = loss(impairments, fate, length: length, &departure, at: now) {
      counters.lost += 1
      note(reason, record)
      return
    }
    var bytes = packet
    let damages = DamageStage.apply(fate.damage, to: &bytes)
    if !damages.isEmpty { counters.damaged += 1 }
    for reason in damages { note(reason, record) }
    for (copy, travel) in fate.travels.enumerated() {
      if copy > 0 {
        counters.duplicated += 1
        note(.duplicated, record)
      }
      if travel.places != nil {
        counters.reordered += 1
        note(.displaced, record)
      }
      var time = departure.advanced(byNanoseconds: travel.delay)
      if impairments.delay.keepsOrder, travel.places == nil {
        // Answers and RTCP do not overtake the media, which never waits for them.
        time = max(time, media.lastArrival, self[keyPath: lane].lastArrival)
        self[keyPath: lane].lastArrival = time
      }
      if copy == 0 {
        record.delay = now.nanoseconds(to: time)
        note(.passed, record)
        record.delay = nil
      }
      bytesInFlight += bytes.readableBytes
      let release = Release(bytes: bytes, time: time, label: label)
      let limit = impairments.reordering?.limit ?? 0
      let passing = self[keyPath: lane].reordering.pass(
        release, displacedBy: travel.places, within: limit)
      for release in passing { inFlight.insert(release) }
    }
    if let garbage = fate.garbage {
      counters.garbage += 1
      note(.garbage, record)
      bytesInFlight += garbage.readableBytes
      let time = departure.advanced(byNanoseconds: impairments.delay.mean)
      inFlight.insert(Release(bytes: garbage, time: time, isGarbage: true, label: label))
    }
  }

  /// Whether nothing passes at `now`.
  public mutating func isSilent(at now: Instant) -> Bool { schedule.impairments(at: now).isSilent }

  /// Releases, at `now`, the packets that wait to be overtaken, because no more packets come.
  public mutating func finish(at now: Instant) {
    for release in media.reordering.finish(at: now) { inFlight.insert(release) }
    for release in answers.reordering.finish(at: now) { inFlight.insert(release) }
  }

  /// When the next packet leaves, or `nil` when none is on its way.
  public var nextRelease: Instant? {
    [inFlight.first?.time, media.reordering.deadline, answers.reordering.deadline]
      .compactMap(\.self).min()
  }

  /// Takes out the packet that leaves next, if it does so by `now`.
  public mutating func release(by now: Instant) -> Release? {
    expire(at: now)
    guard let first = inFlight.first, first.time <= now else { return nil }
    if !first.isGarbage { counters.delivered += 1 }
    bytesInFlight -= first.bytes.readableBytes
    return inFlight.popFirst()
  }

  /// Releases what has waited long enough to be overtaken.
  private mutating func expire(at now: Instant) {
    for release in media.reordering.expire(at: now) { inFlight.insert(release) }
    for release in answers.reordering.expire(at: now) { inFlight.insert(release) }
  }

  /// What was decided since the last call, if verdicts are recorded.
  public mutating func takeVerdicts() -> [Verdict] {
    defer { verdicts.removeAll(keepingCapacity: true) }
    return verdicts
  }

  /// Why a packet never arrives, if it does not; otherwise `departure` is when it is on its way.
  private mutating func loss(
    _ impairments: Impairments, _ fate: Stages.Fate, length: Int, _ departure: inout Instant,
    at now: Instant
  ) -> Verdict.Reason? {
    if impairments.isSilent { return .silence }
    if let limit = impairments.rate {
      guard let time = rate.departure(ofBytes: length, at: now, limit) else { return .queueFull }
      departure = time
    }
    if let loss = fate.loss { return loss }
    return bytesInFlight + length > Self.mostInFlight ? .tooMuchInFlight : nil
  }

  private func record(of packet: ByteBuffer, at now: Instant) -> Verdict {
    var record = Verdict(
      time: schedule.elapsed(at: now), flow: flow, packet: counters.offered, reason: .passed)
    guard recordsVerdicts, !RTCPPacket.recognizes(packet), let rtp = try? RTPPacket(parsing: packet)
    else { return record }
    record.sequence = rtp.sequenceNumber.rawValue
    record.ssrc = rtp.ssrc
    return record
  }

  private mutating func note(_ reason: Verdict.Reason, _ record: Verdict) {
    guard recordsVerdicts else { return }
    var verdict = record
    verdict.reason = reason
    verdicts.append(verdict)
  }
}
