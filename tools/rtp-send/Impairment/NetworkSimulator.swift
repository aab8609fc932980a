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
    public var kind = Kind.media
  }

  /// What a packet is to the stream.
  ///
  /// Each kind has generators and an order of its own: what happens to media depends on the seed
  /// alone, whatever goes with it.
  public enum Kind: Sendable, Hashable {
    case media
    /// A packet that answers a request, at a time that nobody can predict, or one of no medium.
    case answer
    /// RTCP.
    case control
  }

  /// The longest random datagram: what fits in an Ethernet frame.
  public static let longestGarbage = 1472
  /// The bytes that may be on their way, a second at 500 Mbit/s; what is beyond that is lost.
  public static let mostInFlight = 64 << 20

  /// Of all packets but RTCP.
  public private(set) var counters = ImpairmentCounters()
  public private(set) var controlCounters = ImpairmentCounters()
  /// Packets that have not left yet.
  public var pendingCount: Int {
    inFlight.count + media.reordering.count + answers.reordering.count + control.reordering.count
  }
  /// Whether verdicts are kept for ``takeVerdicts()``.
  public var recordsVerdicts = false

  private let flow: String
  private let seed: UInt64
  private let startsByItself: Bool
  private var schedule: Schedule
  private var media: Lane
  private var answers: Lane
  private var control: Lane
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
    media = Lane(stages: Self.stages(of: .media, seed, number))
    answers = Lane(stages: Self.stages(of: .answer, seed, number))
    control = Lane(stages: Self.stages(of: .control, seed, number))
  }

  private static func stages(of kind: Kind, _ seed: UInt64, _ number: Int) -> Stages {
    switch kind {
    case .media: Stages(seed: seed, flow: 2 * number)
    case .answer: Stages(seed: seed, flow: 2 * number + 1)
    // Far from the seeds of neighbouring runs.
    case .control: Stages(seed: seed ^ 0x5254_4350, flow: 2 * number)
    }
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
    media.stages = Self.stages(of: .media, seed, number)
    answers.stages = Self.stages(of: .answer, seed, number)
    control.stages = Self.stages(of: .control, seed, number)
  }

  /// Gives the network a packet at `now`, which must not go back between calls.
  ///
  /// - Parameters:
  ///   - packet: the datagram.
  ///   - label: comes out with it.
  ///   - now: the current time.
  ///   - kind: what it is.
  public mutating func offer(
    _ packet: ByteBuffer, label: Int = 0, at now: Instant, as kind: Kind = .media
  ) {
    if startsByItself { schedule.begin(at: now) }
    // Whoever asks late for what leaves gets the same.
    expire(at: now)
    switch kind {
    case .media: offer(packet, label, at: now, .media, by: \.media, counting: \.counters)
    case .answer: offer(packet, label, at: now, .answer, by: \.answers, counting: \.counters)
    case .control:
      offer(packet, label, at: now, .control, by: \.control, counting: \.controlCounters)
    }
  }

  private mutating func offer(
    _ packet: ByteBuffer, _ label: Int, at now: Instant, _ kind: Kind,
    by lane: WritableKeyPath<Self, Lane>,
    counting counters: WritableKeyPath<Self, ImpairmentCounters>
  ) {
    let impairments = schedule.impairments(at: now)
    let length = packet.readableBytes
    let fate = self[keyPath: lane].stages.draw(impairments, length: length)
    var record = record(of: packet, at: now)
    self[keyPath: counters].offered += 1
    var departure = now
    if let reason = loss(impairments, fate, kind, length: length, &departure, at: now) {
      self[keyPath: counters].lost += 1
      note(reason, record)
      return
    }
    var bytes = packet
    let damages = DamageStage.apply(fate.damage, to: &bytes)
    if !damages.isEmpty { self[keyPath: counters].damaged += 1 }
    for reason in damages { note(reason, record) }
    for (copy, travel) in fate.travels.enumerated() {
      if copy > 0 {
        self[keyPath: counters].duplicated += 1
        note(.duplicated, record)
      }
      if travel.places != nil {
        self[keyPath: counters].reordered += 1
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
      let release = Release(bytes: bytes, time: time, label: label, kind: kind)
      let limit = impairments.reordering?.limit ?? 0
      let passing = self[keyPath: lane].reordering.pass(
        release, displacedBy: travel.places, within: limit)
      for release in passing { inFlight.insert(release) }
    }
    if let garbage = fate.garbage {
      self[keyPath: counters].garbage += 1
      note(.garbage, record)
      bytesInFlight += garbage.readableBytes
      let time = departure.advanced(byNanoseconds: impairments.delay.mean)
      inFlight.insert(
        Release(bytes: garbage, time: time, isGarbage: true, label: label, kind: kind))
    }
  }

  /// Releases, at `now`, the packets that wait to be overtaken, because no more packets come.
  public mutating func finish(at now: Instant) {
    for release in media.reordering.finish(at: now) { inFlight.insert(release) }
    for release in answers.reordering.finish(at: now) { inFlight.insert(release) }
    for release in control.reordering.finish(at: now) { inFlight.insert(release) }
  }

  /// When the next packet leaves, or `nil` when none is on its way.
  public var nextRelease: Instant? {
    [media.reordering.deadline, answers.reordering.deadline, control.reordering.deadline]
      .reduce(inFlight.first?.time) { earliest, time in
        guard let time else { return earliest }
        return min(earliest ?? time, time)
      }
  }

  /// Takes out the packet that leaves next, if it does so by `now`.
  public mutating func release(by now: Instant) -> Release? {
    expire(at: now)
    guard let first = inFlight.first, first.time <= now else { return nil }
    if !first.isGarbage {
      if first.kind == .control { controlCounters.delivered += 1 } else { counters.delivered += 1 }
    }
    bytesInFlight -= first.bytes.readableBytes
    return inFlight.popFirst()
  }

  /// Takes out all RTCP that is on its way, whenever it would leave.
  public mutating func releaseControl() -> [Release] {
    for release in control.reordering.finish(at: Instant(nanoseconds: .min)) {
      inFlight.insert(release)
    }
    var taken: [Release] = []
    var others = ReleaseQueue()
    while let release = inFlight.popFirst() {
      guard release.kind == .control else {
        others.insert(release)
        continue
      }
      if !release.isGarbage { controlCounters.delivered += 1 }
      bytesInFlight -= release.bytes.readableBytes
      taken.append(release)
    }
    inFlight = others
    return taken
  }

  /// Releases what has waited long enough to be overtaken.
  private mutating func expire(at now: Instant) {
    for release in media.reordering.expire(at: now) { inFlight.insert(release) }
    for release in answers.reordering.expire(at: now) { inFlight.insert(release) }
    for release in control.reordering.expire(at: now) { inFlight.insert(release) }
  }

  /// What was decided since the last call, if verdicts are recorded.
  public mutating func takeVerdicts() -> [Verdict] {
    defer { verdicts.removeAll(keepingCapacity: true) }
    return verdicts
  }

  /// Why a packet never arrives, if it does not; otherwise `departure` is when it is on its way.
  private mutating func loss(
    _ impairments: Impairments, _ fate: Stages.Fate, _ kind: Kind, length: Int,
    _ departure: inout Instant, at now: Instant
  ) -> Verdict.Reason? {
    if impairments.isSilent { return .silence }
    if let limit = impairments.rate {
      // RTCP waits in the queue too, but there is too little of it to take a share, so that what
      // happens to media does not depend on its random times.
      guard
        let time = rate.departure(
          ofBytes: length, at: now, limit, takesShare: kind != .control)
      else { return .queueFull }
      departure = time
    }
    if let loss = fate.loss { return loss }
    return bytesInFlight + length > Self.mostInFlight ? .tooMuchInFlight : nil
  }

  private func record(of packet: ByteBuffer, at now: Instant) -> Verdict {
    var record = Verdict(
      time: schedule.elapsed(at: now), flow: flow,
      packet: counters.offered + controlCounters.offered,
      reason: .passed)
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
