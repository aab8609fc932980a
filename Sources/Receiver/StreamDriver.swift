import Bitstream
import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import Transports

/// Runs a ``VideoStream`` on the event loop of one transport: gives it datagrams and time, and passes
/// on what comes out.
///
/// All of its state belongs to the event loop, which is what makes it safe to share.
final class StreamDriver: DatagramSink, @unchecked Sendable {
  /// What a driver works for.
  struct Setup: Sendable {
    var stream: VideoStream.Configuration
    /// How long media may pause before the connection counts as dead; `nil` waits for ever.
    var silence: Duration?
    /// Whether the sender's goodbye ends the connection.
    var endsWithGoodbye = true
    /// Says whether decoding can go on with the next one.
    var deliver: @Sendable (AccessUnit) -> Bool
    /// Whether the far end should wait, if it can, until what was delivered has been worked off.
    var isCrowded: @Sendable () -> Bool
    /// Called with the first packet of media that is delivered.
    var mediaBegan: @Sendable (Instant) -> Void
    var end: @Sendable (End) -> Void
  }

  /// What came to its end, and why.
  enum End: Sendable {
    case connection(EndReason)
    case run(EndReason)
  }

  /// What goes on in the next connection.
  struct Remains: Sendable {
    var stream: VideoStream
    var clock: RunClock
    /// From the first packet of media on this connection to the last.
    var flow: Duration
  }

  /// How long packets may still come behind the sender's goodbye, when it has overtaken them.
  static let goodbyeGrace: Duration = .milliseconds(500)

  /// How often it is looked whether the far end may go on.
  static let holdStep: Duration = .milliseconds(2)
  /// How long the far end is held at most: less than what makes either side take the other for dead.
  private static let longestHold: Duration = .seconds(2)

  let transport: any RTPTransport
  let setup: Setup
  private let former: VideoStream?

  var stream: VideoStream
  var clock: RunClock
  /// What a recording has brought and has to wait.
  var backlog = Backlog()
  private var reports: ReceiverReports<SystemRandomNumberGenerator>?
  private(set) var isOver = false
  private var isFinished = false
  private var openedAt: Instant?
  private var firstMedia: Instant?
  /// That of the video.
  private var track = 0
  private var lastMedia: Instant?
  private var wakeUp: (at: Instant, task: Scheduled<Void>)?
  private var hold = Hold.none

  /// Whether the far end is made to wait.
  private enum Hold {
    case none
    case held(since: Instant)
    /// What it was to wait for took too long.
    case givenUp
  }

  /// Makes a driver for `transport`, whose stream goes on with the totals of `former`.
  init(
    _ setup: Setup, for transport: any RTPTransport, clock: RunClock, after former: VideoStream?
  ) throws {
    self.setup = setup
    self.transport = transport
    self.clock = clock
    self.former = former
    stream = try VideoStream(configuration: setup.stream, after: former)
  }

  var eventLoop: any EventLoop { transport.eventLoop }

  /// The time by the transport's clock.
  private var now: Instant { isRecorded ? backlog.time : .now }

  /// Starts the clocks of the run; its first connection is about to be opened.
  func startRun(at now: Instant) {
    // That of a recording starts with its first packet.
    guard !isRecorded else { return }
    eventLoop.execute { [self] in clock.start(at: now) }
  }

  /// Opens the transport, and says what comes of that.
  func open() {
    eventLoop.execute { [self] in schedule(after: now) }
    Task { [self] in
      do {
        try await transport.open(delivering: self)
        eventLoop.execute { [self] in transportOpened(at: now) }
      } catch {
        eventLoop.execute { [self] in finish(with: .connection(.cannotOpen(error))) }
      }
    }
  }

  /// What the stream has been through so far.
  func status() async throws -> StreamStatus {
    try await eventLoop.submit { [self] in StreamStatus(of: stream) }.get()
  }

  /// Passes on what is still held and takes leave of the sender; nothing more comes out.
  ///
  /// What is held of a recording goes no faster than it is worked off, unless there `isHurry`.
  func finish(unless isHurry: @Sendable () -> Bool = { false }) async throws -> Remains {
    while try await eventLoop.submit({ [self] in !finishSome() }).get(), !isHurry() {
      try await Task.sleep(for: Self.holdStep)
    }
    return try await eventLoop.submit { [self] in
      pull(at: now)
      let flow = firstMedia.flatMap { first in lastMedia.map { first.duration(to: $0) } }
      return Remains(stream: stream, clock: clock, flow: flow ?? .zero)
    }.get()
  }

  // MARK: - On the event loop

  /// Ends the stream, and passes on as much as there is room for; true when that was everything.
  private func finishSome() -> Bool {
    if !isFinished {
      isFinished = true
      stopWaiting()
      stream.finish(at: now)
      if let goodbye = reports?.goodbye(at: now, about: stream.sourceReception) {
        transport.sendFeedback(goodbye)
      }
      reports = nil
    }
    return !isRecorded || pullWhileThereIsRoom()
  }

  func describe(_ media: [MediaDescription]) {
    // What the user says goes before what the far end says.
    // Sound alone is refused, unless the user knows it to be video.
    let isSound = media.allSatisfy { $0.kind == "audio" }
    guard !media.isEmpty,
      let track = media.firstIndex(where: { $0.kind == "video" }) ?? (isSound ? 0 : nil)
    else { return }
    self.track = track
    let video = media[track]
    var completed = setup.stream
    completed.media = setup.stream.media.completed(by: video)
    do {
      stream = try VideoStream(configuration: completed, after: former)
    } catch {
      finish(with: .connection(.unsupportedMedia(error)))
    }
  }

  func receive(_ datagram: Datagram) {
    guard !isOver, datagram.track == track else { return }
    guard !isRecorded else { return receiveRecorded(datagram) }
    let before = stream.reception.delivered
    stream.receive(datagram)
    let deliveredUnits = pull(at: datagram.arrival)
    if deliveredUnits { considerHold(at: datagram.arrival) }
    // Only packets of the stream count as life, not whatever reaches the port.
    if stream.reception.delivered != before { noteLife(datagram) }
  }

  func noteLife(_ datagram: Datagram) {
    clock.noteMedia(at: datagram.arrival)
    lastMedia = datagram.arrival
    if firstMedia == nil {
      firstMedia = datagram.arrival
      setup.mediaBegan(datagram.arrival)
    }
  }

  func readCompleted(at now: Instant) {
    guard !isOver, !endIfUnrecognized() else { return }
    sendFeedback(at: now)
    schedule(after: now)
  }

  /// Ends the connection when what came is no video of a codec that is known, and says whether.
  func endIfUnrecognized() -> Bool {
    guard case .unrecognized(let payloadTypes) = stream.phase else { return false }
    finish(with: .connection(.unrecognizedMedia(payloadTypes: payloadTypes)))
    return true
  }

  /// Has the far end wait until what it sent has been worked off.
  ///
  /// When that takes too long, an output is stuck: then it loses what comes, as with datagrams.
  private func considerHold(at now: Instant) {
    switch hold {
    case .none:
      guard setup.isCrowded() else { return }
      hold = .held(since: now)
      transport.holdReading(true)
      lookAgain()
    case .held: break
    case .givenUp:
      if !setup.isCrowded() { hold = .none }
    }
  }

  private func lookAgain() {
    eventLoop.scheduleTask(in: TimeAmount(Self.holdStep)) { [self] in
      guard !isOver, case .held(let start) = hold else { return }
      let now = Instant.now
      let isCrowded = setup.isCrowded()
      guard !isCrowded || start.advanced(by: Self.longestHold) <= now else { return lookAgain() }
      hold = isCrowded ? .givenUp : .none
      // The silence was this side's.
      if lastMedia != nil {
        lastMedia = now
        clock.noteMedia(at: now)
      }
      transport.holdReading(false)
    }
  }

  func transportEnded(_ transportEnd: TransportEnd) {
    guard backlog.isEmpty, !backlog.isWaiting else { return backlog.end = transportEnd }
    if isRecorded, endIfNothingWasRecognized() { return }
    switch transportEnd {
    case .ended: finish(with: .connection(.ended))
    case .failed(let error): finish(with: .connection(.transportFailed(error)))
    case .closed: break
    }
  }

  private func transportOpened(at now: Instant) {
    guard !isOver else { return }
    openedAt = now
    // Who takes feedback takes the reports that go before it, signalled or not.
    if transport.takesReports || !isRecorded && !stream.feedback.requests.isEmpty {
      reports = ReceiverReports(randomness: SystemRandomNumberGenerator(), at: now)
    }
    schedule(after: now)
  }

  /// Passes on the access units that are complete, and says whether there were any.
  @discardableResult
  private func pull(at now: Instant) -> Bool {
    var wereAny = false
    while let unit = stream.next(at: now) {
      if !setup.deliver(unit) { stream.wantKeyPicture(at: now) }
      wereAny = true
    }
    return wereAny
  }

  private func wakeUpNow() {
    guard !isOver else { return }
    wakeUp = nil
    let now = Instant.now
    pull(at: now)
    if let report = reports?.next(at: now, about: stream.sourceReception) {
      transport.sendFeedback(report)
    }
    sendFeedback(at: now)
    if let ending, ending.at <= now {
      finish(with: ending.end)
    } else {
      schedule(after: now)
    }
  }

  /// Asks the far end for what is missing by now.
  private func sendFeedback(at now: Instant) {
    guard reports != nil else { return }
    while let message = stream.nextFeedback(at: now) {
      let compound = reports?.feedback(
        message, at: now, about: stream.sourceReception,
        isReduced: stream.feedback.acceptsReducedSize)
      if let compound { transport.sendFeedback(compound) }
    }
  }

  /// What is over if nothing more happens, and when.
  var ending: (at: Instant, end: End)? {
    var candidates: [(at: Instant, end: End)] = []
    if let ending = clock.ending { candidates.append((ending.at, .run(ending.reason))) }
    if stream.hasSaidGoodbye, setup.endsWithGoodbye, let lastMedia {
      candidates.append((lastMedia.advanced(by: Self.goodbyeGrace), .connection(.goodbye)))
    }
    if let silence = setup.silence, let openedAt {
      let start = lastMedia ?? openedAt
      let reason =
        lastMedia == nil ? EndReason.noMedia(after: silence) : .mediaLost(after: silence)
      candidates.append((start.advanced(by: silence), .connection(reason)))
    }
    return candidates.min { $0.at < $1.at }
  }

  /// Has the loop wake this up when something is due, unless it does so early enough already.
  ///
  /// An early wake-up only looks again. Silence moves its own deadline with each packet, and it
  /// would cost a system call a packet to move the timer along.
  private func schedule(after now: Instant) {
    // Nothing is due in a recording before its next packet.
    guard !isOver, !isRecorded else { return }
    let feedback = reports == nil ? nil : stream.feedbackDeadline
    let due = [stream.deadline, ending?.at, reports?.deadline, feedback].compactMap(\.self).min()
    guard let due, wakeUp.map({ due < $0.at }) ?? true else { return }
    wakeUp?.task.cancel()
    let delay = max(0, now.nanoseconds(to: due))
    let task = eventLoop.scheduleTask(in: .nanoseconds(delay)) { [self] in wakeUpNow() }
    wakeUp = (due, task)
  }

  func finish(with end: End) {
    guard !isOver else { return }
    stopWaiting()
    setup.end(end)
  }

  private func stopWaiting() {
    isOver = true
    wakeUp?.task.cancel()
    wakeUp = nil
  }
}

extension Instant {
  /// The monotonic clock's time now; the core gets it as a parameter.
  static var now: Instant {
    Instant(nanoseconds: Int64(clamping: NIODeadline.now().uptimeNanoseconds))
  }
}
