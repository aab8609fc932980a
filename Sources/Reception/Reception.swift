public import Defragment
public import NIOCore
import RTPProcessor
public import RTPWire

/// The receiving session of one connection as one value: its tracks, what is said back by RTCP,
/// when the far end is to wait, and when all of it is over.
///
/// Inputs are methods that take the time; after each of them, and when ``deadline`` passes
/// (``timePassed(to:)``), call ``nextAction()`` until it returns `nil` and carry out what it says.
///
/// Of a recording, the time is what its packets say: nothing is due before the next one, and
/// nothing is lost because somebody is slow.
public struct Reception: Sendable {
  /// What is to be done, in this order.
  public enum Action: Sendable {
    /// Hand on an access unit of the video; then say ``crowded(_:at:)``, and
    /// ``wantKeyPicture(at:)`` if decoding cannot go on with the next one.
    case deliver(AccessUnit)
    /// Send an RTCP compound to the far end of the track that was described at this place.
    case sendRTCP(ByteBuffer, track: Int)
    /// Have the far end wait, or let it go on.
    case holdReading(Bool)
    /// Media has begun to come.
    case mediaBegan(at: Instant)
    /// The connection is over, or the whole run; said once.
    case ended(End)
    /// Nothing more comes out; said once, after ``finish(at:)``.
    case finished
  }

  /// What came to its end, and why.
  public enum End: Sendable {
    case connection(EndReason)
    case run(EndReason)
  }

  let configuration: Configuration
  let carrier: Carrier
  /// What the connection before this one came to.
  let former: Former?
  /// The track that is decoded.
  var video: VideoStream
  /// All other tracks: those that were described, then those found on the video's channel.
  var others: [Track] = []
  /// What the far end described, by its place; empty where it described nothing.
  var places: [Place] = []
  var reports: [ChannelReports] = []
  var clock: RunClock
  var gate = Gate()
  var waiting = WaitingUnits()
  var recording = Recording()
  var actions = CircularBuffer<Action>()
  var phase = Phase.running
  /// The latest time that was heard of; in a recording, that of its packets.
  var now: Instant
  var openedAt: Instant?
  var takesReports = false
  /// What came first on this connection, whatever it was.
  var firstArrival: Instant?
  var firstMedia: Instant?
  var lastMedia: Instant?
  /// How the carrier ended behind what still waits.
  var carrierEnd: CarrierEnd?
  /// Packets of the video when life was last seen in it.
  private var notedDeliveries: UInt64
  var randomness: AnyRandomness

  enum Phase: Sendable, Hashable {
    case running
    /// Its end was told; what is held can still be had.
    case over
    case finishing
    case finished
  }

  /// Begins the session of a connection that is about to be opened.
  ///
  /// After `former`, which is over, its totals go on, and so do the time of its media and the
  /// clocks of the run.
  ///
  /// - Parameters:
  ///   - configuration: what is wanted of the run.
  ///   - carrier: what carries the packets.
  ///   - former: the session of the connection before, if there was one.
  ///   - randomness: what identifiers and intervals are drawn from.
  ///   - now: the time.
  /// - Throws: `UnsupportedFormat` when the media is described as something else than video of a
  ///   known codec.
  public init(
    _ configuration: Configuration, on carrier: Carrier, after former: Reception? = nil,
    randomness: any RandomNumberGenerator & Sendable, at now: Instant
  ) throws {
    self.configuration = configuration
    self.carrier = carrier
    self.former = former.map { Former(video: $0.video, others: $0.others) }
    self.randomness = AnyRandomness(base: randomness)
    self.now = carrier.time == .live ? now : Instant(nanoseconds: 0)
    video = try VideoStream(configuration: configuration.stream, after: former?.video)
    notedDeliveries = video.delivered
    clock = former?.clock ?? RunClock(of: configuration, on: carrier, at: now)
  }

  // MARK: - Inputs

  /// The run begins, and its first connection is about to be opened; a recording begins with its
  /// first packet.
  public mutating func startRun(at now: Instant) {
    guard carrier.time == .live else { return }
    advance(to: now)
    clock.start(at: now)
  }

  /// The far end describes its media; comes before any datagram, or not at all.
  public mutating func described(_ media: [MediaDescription], at now: Instant) {
    guard phase == .running, !media.isEmpty else { return }
    advance(to: now)
    do {
      try describe(media)
    } catch {
      return end(.connection(.unsupportedMedia(error)))
    }
    notedDeliveries = video.delivered
    openReports()
  }

  /// A datagram has come.
  public mutating func receive(_ datagram: Datagram) {
    guard phase == .running else { return }
    if carrier.time == .recorded { return recording.append(datagram) }
    advance(to: datagram.arrival)
    take(datagram)
    pull(at: now)
    noteLife(at: now)
  }

  /// A read has been delivered whole; a good time to ask for what is missing.
  public mutating func readCompleted(at now: Instant) {
    guard phase == .running, carrier.time == .live else { return }
    advance(to: now)
    sendFeedback()
  }

  /// The carrier is open from `now` on; `takesReports` says whether RTCP is expected back.
  public mutating func transportOpened(takesReports: Bool, at now: Instant) {
    guard phase == .running else { return }
    advance(to: now)
    openedAt = self.now
    self.takesReports = takesReports
    openReports()
  }

  /// The carrier could not be opened.
  public mutating func openingFailed(_ error: any Error) {
    end(.connection(.cannotOpen(error)))
  }

  /// The carrier has ended or failed; nothing more comes.
  public mutating func transportEnded(_ carrierEnd: CarrierEnd) {
    guard phase == .running else { return }
    self.carrierEnd = carrierEnd
    endIfCarrierEnded()
  }

  /// Whoever takes access units has more to do than is good, or room again.
  public mutating func crowded(_ isCrowded: Bool, at now: Instant) {
    guard phase != .finished else { return }
    advance(to: now)
    if isCrowded {
      if gate.close(at: self.now) { actions.append(.holdReading(true)) }
    } else {
      gate.open()
      settleGate()
    }
  }

  /// Decoding cannot go on although nothing is missing.
  public mutating func wantKeyPicture(at now: Instant) {
    guard carrier.time == .live else { return }
    video.wantKeyPicture(at: now)
  }

  /// ``deadline`` has come, or any other time.
  public mutating func timePassed(to now: Instant) {
    guard carrier.time == .live else { return }
    advance(to: now)
    if let deadline = gate.deadline, deadline <= now, gate.giveUp() { goOn() }
    guard phase == .running else { return }
    pull(at: now)
    sendReports()
    sendFeedback()
    if let ending, ending.at <= now { end(ending.end) }
  }

  /// Ends the session: what is still held comes out, and the sender is told goodbye.
  ///
  /// Units still wait while whoever takes them is crowded; ``hurry()`` ends that.
  public mutating func finish(at now: Instant) {
    guard phase == .running || phase == .over else { return }
    phase = .finishing
    advance(to: now)
    video.finish(at: self.now)
    for index in others.indices { others[index].finish() }
    sayGoodbye()
    if carrier.time == .live { pull(at: self.now) }
  }

  /// What waits goes on at once, whoever is crowded.
  public mutating func hurry() { gate.giveUpForGood() }

  // MARK: - Outputs

  /// When ``timePassed(to:)`` has something to do although nothing else happens; `nil` where
  /// nothing ever will.
  public var deadline: Instant? {
    // Nothing is due in a recording before its next packet.
    guard carrier.time == .live, phase != .finished else { return nil }
    guard phase == .running else { return gate.deadline }
    var due = gate.deadline
    func consider(_ time: Instant?) {
      if let time { due = min(due ?? time, time) }
    }
    consider(video.deadline)
    for track in others { consider(track.deadline) }
    consider(ending?.at)
    for report in reports { consider(report.deadline) }
    if !reports.isEmpty { consider(video.feedbackDeadline) }
    return due
  }

  /// The next thing to be done; `nil` until there is another input.
  public mutating func nextAction() -> Action? {
    while true {
      if let action = actions.popFirst() { return action }
      if let unit = nextUnit() { return .deliver(unit) }
      guard gate.isOpen else { return nil }
      if carrier.time == .recorded, phase == .running, advanceRecording() { continue }
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

  /// When media last came, on this connection or one before it.
  public var lastMediaOfRun: Instant? { clock.lastMedia }

  /// When the run is over if no more media comes, on whatever connection, and why.
  public var runEnding: (at: Instant, reason: EndReason)? { clock.ending }

  /// What came of no use to anybody, as far as it is RTP: why a run that is stopped had nothing.
  public var unusableMedia: EndReason? {
    guard firstMedia == nil, clock.firstMedia == nil, !unusableTypes.isEmpty else { return nil }
    return .unrecognizedMedia(payloadTypes: unusableTypes)
  }

  // MARK: - Inside

  /// The caller's time is that of a live session; a recording has its own.
  private mutating func advance(to time: Instant) {
    if carrier.time == .live { now = max(now, time) }
  }

  mutating func end(_ end: End) {
    guard phase == .running else { return }
    phase = .over
    actions.append(.ended(end))
  }

  /// Passes on the access units that are complete.
  mutating func pull(at now: Instant) {
    while let unit = video.next(at: now) {
      if !waiting.append(unit), gate.giveUp() { goOn() }
    }
    for index in others.indices { others[index].drain(at: now) }
    if case .unrecognized(let payloadTypes) = video.phase {
      end(.connection(.unrecognizedMedia(payloadTypes: payloadTypes)))
    }
  }

  /// Only packets of the stream count as life, not whatever reaches the port.
  mutating func noteLife(at arrival: Instant) {
    guard video.delivered != notedDeliveries else { return }
    notedDeliveries = video.delivered
    clock.noteMedia(at: arrival)
    lastMedia = arrival
    if firstMedia == nil {
      firstMedia = arrival
      actions.append(.mediaBegan(at: arrival))
    }
  }

  private mutating func nextUnit() -> AccessUnit? {
    guard gate.isOpen else { return nil }
    return carrier.time == .live ? waiting.popFirst() : video.next(at: now)
  }

  /// Lets the far end go on once what it has sent is worked off.
  private mutating func settleGate() {
    guard waiting.isEmpty, recording.isEmpty, gate.settle() else { return }
    goOn()
  }

  /// Lets the far end go on; the silence was this side's.
  private mutating func goOn() {
    actions.append(.holdReading(false))
    guard carrier.time == .live, lastMedia != nil else { return }
    lastMedia = now
    clock.noteMedia(at: now)
  }
}
