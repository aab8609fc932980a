import Defragment
import NIOCore
import RTPProcessor
public import RTPWire

/// The receiving session of one connection as one value: its tracks, its RTCP, when the far end is
/// held, and when the connection and the run end.
///
/// Inputs are methods that take the time. After each input, and when ``deadline`` passes
/// (``timePassed(to:)``), call ``nextAction()`` until it returns `nil`, and carry out the actions.
///
/// A recording's time is that of its packets: nothing becomes due before the next packet, and
/// nothing is lost because a consumer is slow.
public struct Reception: Sendable {
  let configuration: Configuration
  let carrier: Carrier
  /// How long media may pause before the connection counts as dead; `nil` waits forever.
  let silence: Duration?
  /// The final state of the previous connection.
  let former: Former?
  /// The track whose pictures are handed on.
  var video: VideoStream
  /// All other tracks: first the described ones, then those found on the video's channel.
  var others: [Track] = []
  /// Which of them is the sound that is handed on.
  var soundTrack: Int?
  var alignment = SoundAlignment()
  /// Sound that waits for the first picture, to which its times refer.
  var heldSound = CircularBuffer<SoundUnit>()
  /// Whether sound was handed on without pictures.
  var isSoundAlone = false
  /// Sound of a recording that has come out of its packets.
  var recordedSound = CircularBuffer<SoundUnit>()
  /// What the far end described, in its order; empty without a description.
  var places: [Place] = []
  var reports: [ChannelReports] = []
  /// The name that all of them give, drawn with the first (RFC 3550 §6.5.1).
  var canonicalName: String?
  var clock: RunClock
  var gate = Gate()
  /// Whether ``Action/awaitRoom`` was said and not answered yet.
  private var awaitsRoom = false
  var waiting = WaitingUnits()
  var recording = Recording()
  var actions = CircularBuffer<Action>()
  var phase = Phase.running
  /// The latest known time; in a recording, that of its packets.
  var now: Instant
  var openedAt: Instant?
  var takesReports = false
  /// When anything first arrived on this connection.
  var firstArrival: Instant?
  var firstMedia: Instant?
  var lastMedia: Instant?
  /// When the datagram came that ``lastMedia`` is about.
  var lastArrival: Instant?
  /// For how many nanoseconds packets were told to gather; 0 if not at all.
  var gatheringTime: Int64 = 0
  /// Whether somebody waits for what comes.
  var isAttended = false
  /// Whether it ends because this side has enough.
  private var isLeft = true
  /// How the carrier ended, after what still waits.
  var carrierEnd: TransportEnd?
  /// The video's packet count when media was last noted as alive.
  var notedDeliveries: UInt64
  /// The same for the sound.
  var notedSound: UInt64 = 0
  /// How often the video's source had changed then.
  var notedChanges: UInt64
  var randomness: AnyRandomness

  enum Phase: Sendable, Hashable {
    case running
    /// The end was reported; what is held can still be pulled.
    case over
    case finishing
    case finished
  }

  /// Begins the session of a connection that is about to be opened.
  ///
  /// The totals, the media time and the clocks of the run continue from `former`, which is over.
  ///
  /// - Parameters:
  ///   - configuration: what is wanted of the run.
  ///   - carrier: what carries the packets.
  ///   - former: the session of the previous connection, if there was one.
  ///   - randomness: the source of identifiers and intervals.
  ///   - now: the current time.
  /// - Throws: `UnsupportedFormat` when the media is described as something other than video of a
  ///   known codec.
  public init(
    _ configuration: Configuration, on carrier: Carrier, after former: Reception? = nil,
    randomness: any RandomNumberGenerator & Sendable, at now: Instant
  ) throws {
    self.configuration = configuration
    self.carrier = carrier
    // A carrier with its own watchdog knows better reasons, so it gets the time to give them.
    silence =
      carrier.isPassive
      ? nil : carrier.longestSilence.map { $0 * 2 } ?? configuration.reconnectionSilence
    self.former = former.map { Former(of: $0) }
    self.randomness = AnyRandomness(base: randomness)
    self.now = carrier.timePasses ? now : Instant(nanoseconds: 0)
    video = try VideoStream(configuration: configuration.video, after: former?.video)
    notedDeliveries = video.delivered
    notedChanges = video.sourceChanges
    clock = former?.clock ?? RunClock(of: configuration, on: carrier, at: now)
    if let sound = configuration.saidSound {
      try describe([sound])
      notedSound = soundDelivered
    }
  }

  // MARK: - Inputs

  /// Starts the run; its first connection is about to be opened.
  ///
  /// A recording starts with its first packet.
  public mutating func startRun(at now: Instant) {
    guard carrier.timePasses else { return }
    advance(to: now)
    clock.start(at: now)
  }

  /// Takes the far end's description of its media, which comes before any datagram or not at all.
  public mutating func described(_ media: [MediaDescription], at now: Instant) {
    guard phase == .running, !media.isEmpty else { return }
    advance(to: now)
    do {
      try describe(media)
    } catch {
      return end(.connection(.unsupportedMedia(error)))
    }
    notedDeliveries = video.delivered
    notedSound = soundDelivered
    openReports()
  }

  /// Processes a datagram.
  public mutating func receive(_ datagram: Datagram) {
    guard phase == .running else { return }
    if carrier.packetsWait { return append(recorded: datagram) }
    advance(to: datagram.arrival)
    take(datagram)
    pull(at: settled)
    noteLife(at: now, arrival: datagram.arrival)
  }

  /// Notes the end of a read: a good time to request what is missing.
  public mutating func readCompleted(at now: Instant) {
    guard phase == .running, carrier.senderListens else { return }
    advance(to: now)
    sendFeedback()
  }

  /// Notes that the carrier is open; `takesReports` says whether it expects RTCP back.
  public mutating func transportOpened(takesReports: Bool, at now: Instant) {
    guard phase == .running else { return }
    advance(to: now)
    openedAt = self.now
    self.takesReports = takesReports
    openReports()
  }

  /// Notes that the carrier could not be opened.
  public mutating func openingFailed(_ error: any Error) {
    end(.connection(.cannotOpen(error)))
  }

  /// Notes that the carrier has ended or failed; nothing more comes.
  public mutating func transportEnded(_ carrierEnd: TransportEnd) {
    guard phase == .running else { return }
    self.carrierEnd = carrierEnd
    endIfCarrierEnded()
  }

  /// Notes that an access unit, or sound, was handed on.
  ///
  /// - Parameters:
  ///   - decodingContinues: whether decoding can go on with the next one.
  ///   - isCrowded: whether more waits for the consumer of access units than should.
  ///   - now: the time.
  public mutating func delivered(decodingContinues: Bool, isCrowded: Bool, at now: Instant) {
    if !decodingContinues, carrier.senderListens { video.wantKeyPicture(at: now) }
    crowded(isCrowded, at: now)
  }

  /// Notes that all that anybody wants has been handed on: no more of a recording is taken in.
  ///
  /// What a live stream brings meanwhile is counted until the run is over.
  public mutating func enoughCame() {
    guard carrier.packetsWait else { return }
    end(.run(.framesReached))
  }

  /// Notes that there was room, as ``Action/awaitRoom`` asked; it may be gone again.
  public mutating func roomAwaited(isCrowded: Bool, at now: Instant) {
    awaitsRoom = false
    crowded(isCrowded, at: now)
  }

  /// Notes that a consumer for whom the far end is held has made some room, although not as much as
  /// ``Action/awaitRoom`` asks for: it is slow, but not stuck, and is waited for once more.
  public mutating func roomMade(at now: Instant) {
    guard isHolding else { return }
    advance(to: now)
    gate.open()
    excuseSilence()
    settleGate()
  }

  private mutating func crowded(_ isCrowded: Bool, at now: Instant) {
    guard phase != .finished else { return }
    advance(to: now)
    guard isCrowded else {
      gate.open()
      return settleGate()
    }
    if gate.close(at: self.now) { actions.append(.holdReading(true)) }
    guard !awaitsRoom else { return }
    awaitsRoom = true
    actions.append(.awaitRoom)
  }

  /// Moves the time forward, to ``deadline`` or any other time.
  public mutating func timePassed(to now: Instant) {
    guard carrier.timePasses else { return }
    advance(to: now)
    if let deadline = gate.deadline, deadline <= now, gate.giveUp() { goOn() }
    guard phase == .running else { return }
    stopGatheringBeforeEnd()
    pull(at: settled)
    // The video may have gone on with another source because it was time.
    leaveSourceOfVideo()
    // All of a short stream may have waited for what could precede it.
    if lastMedia == nil { noteLife(at: now, arrival: now) }
    sendReports()
    sendFeedback()
    if let ending, ending.at <= now { end(ending.end) }
  }

  /// Ends the session: what is still held comes out, and the sender gets an RTCP BYE.
  ///
  /// Units still wait while the consumer is busy; ``hurry()`` ends that.
  public mutating func finish(at now: Instant) {
    guard phase == .running || phase == .over else { return }
    phase = .finishing
    advance(to: now)
    let isWhole = if case .ended = carrierEnd { true } else { false }
    video.finish(at: self.now, isLeft: senderGoesOn, isWhole: isWhole)
    for index in others.indices { others[index].finish(isWhole: isWhole) }
    takeSound()
    releaseSound(isLast: true)
    sayGoodbye()
    if !carrier.packetsWait { pull(at: self.now) }
  }

  /// Releases what waits at once, even if the consumer is busy.
  public mutating func hurry() { gate.giveUpForGood() }

  // MARK: - Outputs

  /// When to call ``timePassed(to:)`` if nothing else happens; `nil` if never.
  public var deadline: Instant? {
    // Nothing is due in a recording before its next packet.
    guard carrier.timePasses, phase != .finished else { return nil }
    guard phase == .running else { return gate.deadline }
    var due = gate.deadline
    func consider(_ time: Instant?) {
      if let time { due = min(due ?? time, time) }
    }
    // Until then not everything is known that may close a gap (`settled`).
    let gathering = gatheringTime
    if gathering > 0 { consider(gatheringEnd) }
    consider(video.deadline?.advanced(byNanoseconds: gathering))
    // By its place, because a loop over the tracks copies each of them.
    for index in others.indices {
      consider(others[index].deadline?.advanced(byNanoseconds: gathering))
    }
    consider(soundDeadline)
    consider(ending?.at)
    for report in reports { consider(report.deadline) }
    if !reports.isEmpty { consider(video.feedbackDeadline) }
    return due
  }

  /// Whether a consumer is waited for, at most until ``deadline`` unless ``roomMade(at:)`` is said.
  public var isHolding: Bool { gate.deadline != nil }

  /// Whether there is nothing to do before the next input; cheaper than asking for an action after
  /// each packet.
  public var isIdle: Bool {
    !carrier.packetsWait && phase == .running && actions.isEmpty && waiting.isEmpty
      && carrierEnd == nil && !gate.isDraining
  }

  /// The next action; `nil` until there is another input.
  public mutating func nextAction() -> Action? {
    while true {
      if let action = actions.popFirst() { return action }
      if let next = nextUnit() {
        return switch next {
        case .picture(let unit): .deliver(unit)
        case .sound(let unit): .deliverSound(unit)
        }
      }
      guard gate.isOpen else { return nil }
      if carrier.packetsWait, phase == .running, advanceRecording() { continue }
      if actions.isEmpty { settleGate() }
      if actions.isEmpty { endIfCarrierEnded() }
      if actions.isEmpty, phase == .finishing {
        phase = .finished
        actions.append(.finished)
      }
      if actions.isEmpty { return nil }
    }
  }

  /// From the first packet of media on this connection to the last.
  public var flow: Duration {
    guard let firstMedia, let lastMedia else { return .zero }
    return firstMedia.duration(to: lastMedia)
  }

  /// When media last came, on this connection or a previous one.
  public var lastMediaOfRun: Instant? { clock.lastMedia }

  /// When and why the run ends if no more media comes on any connection.
  public var runEnding: (at: Instant, reason: EndReason)? { clock.ending }

  /// The unusable media that came, which explains why a stopped run has no output.
  public var unusableMedia: EndReason? {
    if let other = video.otherCodec { return .otherCodec(other) }
    guard firstMedia == nil, clock.firstMedia == nil, !unusableTypes.isEmpty else { return nil }
    return .unrecognizedMedia(payloadTypes: unusableTypes)
  }

  // MARK: - Inside

  /// Whether the sender goes on when the session ends: its end may still wait for what came before.
  private var senderGoesOn: Bool {
    switch carrierEnd {
    case .ended, .failed: false
    case .closed, nil: isLeft
    }
  }

  /// A live session follows the caller's clock; a recording has its own.
  private mutating func advance(to time: Instant) {
    if carrier.timePasses { now = max(now, time) }
  }

  mutating func end(_ end: End) {
    guard phase == .running else { return }
    phase = .over
    switch end {
    case .run(.durationReached), .run(.framesReached): isLeft = true
    default: isLeft = false
    }
    if carrier.packetsWait {
      // What follows is not used, nor counted; the carrier's end may be behind it.
      if !recording.isEmpty { carrierEnd = nil }
      recording.removeAll()
      if carrierEnd == nil { actions.append(.holdReading(true)) }
    }
    actions.append(.ended(end))
  }
}
