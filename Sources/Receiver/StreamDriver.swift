import Defragment
import NIOCore
import RTPProcessor
import RTPWire
import Transports

/// Runs a ``VideoStream`` on the transport's event loop: gives it datagrams and time, and passes on
/// what comes out.
///
/// All of its state belongs to the event loop, which is what makes it safe to share.
final class StreamDriver: DatagramSink, @unchecked Sendable {
  /// How long media may be awaited before the stream counts as over.
  struct Patience: Sendable {
    /// Until the first packet of media; `nil` waits for ever.
    var forFirstMedia: Duration?
    /// From one packet to the next.
    var forMoreMedia: Duration?
    /// From the first packet on, whatever comes.
    var forEverything: Duration?
  }

  /// How long packets may still come behind the sender's goodbye, when it has overtaken them.
  static let goodbyeGrace: Duration = .milliseconds(500)

  private let eventLoop: any EventLoop
  private let configuration: VideoStream.Configuration
  private let patience: Patience
  private let deliver: @Sendable (AccessUnit) -> Void
  private let end: @Sendable (EndReason) -> Void

  private var stream: VideoStream
  private var isOver = false
  private var openedAt: Instant
  /// Of the whole run.
  private var firstMedia: Instant?
  /// Of the connection of the moment.
  private var media: (first: Instant, last: Instant)?
  private var onMedia: (@Sendable (Instant) -> Void)?
  private var isConnected = true
  private var described: MediaDescription?
  private var delivered: UInt64 = 0
  private var wakeUp: (at: Instant, task: Scheduled<Void>)?

  init(
    configuration: VideoStream.Configuration, eventLoop: any EventLoop, patience: Patience,
    deliver: @escaping @Sendable (AccessUnit) -> Void,
    end: @escaping @Sendable (EndReason) -> Void
  ) throws {
    self.configuration = configuration
    stream = try VideoStream(configuration: configuration)
    self.eventLoop = eventLoop
    self.patience = patience
    self.deliver = deliver
    self.end = end
    openedAt = .now
  }

  /// Makes ready for a connection; its first media is told.
  func expectMedia(_ onMedia: @escaping @Sendable (Instant) -> Void) async {
    try? await eventLoop.submit { [self] in
      self.onMedia = onMedia
      media = nil
      openedAt = .now
      isConnected = true
      isOver = false
    }.get()
  }

  /// Goes on without a connection: what is held still comes out when its time is over.
  ///
  /// - Returns: when media came last, if any ever did.
  func disconnect() async -> Instant? {
    try? await eventLoop.submit { [self] in
      isConnected = false
      isOver = false
      schedule(after: .now)
      return media?.last
    }.get()
  }

  /// How long media has flowed over the connection of the moment.
  func timeOfMedia() async -> Duration {
    let time = try? await eventLoop.submit { [self] in
      media.map { $0.first.nanoseconds(to: $0.last) } ?? 0
    }.get()
    return .nanoseconds(time ?? 0)
  }

  /// Starts the clocks that run out when nothing comes.
  func start() {
    eventLoop.execute { [self] in
      openedAt = .now
      schedule(after: openedAt)
    }
  }

  /// What the stream has been through so far.
  func status() async throws -> StreamStatus {
    try await eventLoop.submit { [self] in StreamStatus(of: stream) }.get()
  }

  /// Passes on what is still held, after which nothing more comes out.
  func finish() async throws {
    try await eventLoop.submit { [self] in
      wakeUp?.task.cancel()
      wakeUp = nil
      isOver = true
      stream.finish(at: .now)
      pull(at: .now)
    }.get()
  }

  // MARK: - On the event loop

  func describe(_ media: [MediaDescription]) {
    // What the user says goes before what the far end says.
    guard let video = media.first(where: { $0.kind == "video" }) else { return }
    let completed = configuration.media.completed(by: video)
    defer { described = completed }
    if let described {
      // A source that comes back with what it had before goes on where it was.
      guard !stream.continues(described, as: completed) else { return }
      return finish(
        with: .unsupportedMedia(
          ChangedMedia(from: described.encodingName, to: completed.encodingName)))
    }
    do {
      var configuration = configuration
      configuration.media = completed
      stream = try VideoStream(configuration: configuration)
    } catch {
      finish(with: .unsupportedMedia(error))
    }
  }

  func receive(_ datagram: Datagram) {
    guard !isOver else { return }
    let before = stream.reception.delivered
    stream.receive(datagram)
    pull(at: datagram.arrival)
    // Only packets of the stream count as life, not whatever reaches the port.
    if stream.reception.delivered != before { noteMedia(at: datagram.arrival) }
  }

  private func noteMedia(at now: Instant) {
    guard media == nil else {
      media?.last = now
      return
    }
    media = (now, now)
    firstMedia = firstMedia ?? now
    onMedia?(now)
  }

  func readCompleted(at now: Instant) {
    guard !isOver else { return }
    if case .unrecognized(let payloadTypes) = stream.phase {
      finish(with: .unrecognizedMedia(payloadTypes: payloadTypes))
    } else {
      schedule(after: now)
    }
  }

  func transportEnded(_ transportEnd: TransportEnd) {
    switch transportEnd {
    case .ended: finish(with: .ended)
    case .failed(let error): finish(with: .transportFailed(error))
    case .closed: break
    }
  }

  private func pull(at now: Instant) {
    while let unit = stream.next(at: now) {
      delivered += 1
      deliver(unit)
    }
  }

  private func wakeUpNow() {
    guard !isOver else { return }
    wakeUp = nil
    let now = Instant.now
    pull(at: now)
    if let (due, reason) = ending, due <= now {
      finish(with: reason)
    } else {
      schedule(after: now)
    }
  }

  /// When the stream is over if nothing more happens, and why.
  private var ending: (Instant, EndReason)? {
    var candidates: [(Instant, EndReason)] = []
    if let firstMedia, let wait = patience.forEverything {
      candidates.append((firstMedia.advanced(by: wait), .durationReached))
    }
    if let media, isConnected {
      if stream.hasSaidGoodbye {
        candidates.append((media.last.advanced(by: Self.goodbyeGrace), .goodbye))
      }
      if let wait = patience.forMoreMedia {
        candidates.append((media.last.advanced(by: wait), .mediaLost(after: wait)))
      }
    } else if isConnected, let wait = patience.forFirstMedia {
      candidates.append((openedAt.advanced(by: wait), .noMedia(after: wait)))
    }
    return candidates.min { $0.0 < $1.0 }
  }

  /// Has the loop wake this up when something is due, unless it does so early enough already.
  ///
  /// An early wake-up only looks again. Silence moves its own deadline with each packet, and it
  /// would cost a system call a packet to move the timer along.
  private func schedule(after now: Instant) {
    let due = [stream.deadline, ending?.0].compactMap(\.self).min()
    guard let due, wakeUp.map({ due < $0.at }) ?? true else { return }
    wakeUp?.task.cancel()
    let delay = max(0, now.nanoseconds(to: due))
    let task = eventLoop.scheduleTask(in: .nanoseconds(delay)) { [self] in wakeUpNow() }
    wakeUp = (due, task)
  }

  private func finish(with reason: EndReason) {
    guard !isOver else { return }
    isOver = true
    wakeUp?.task.cancel()
    wakeUp = nil
    end(reason)
  }
}

extension Instant {
  /// The monotonic clock's time now; the core gets it as a parameter.
  static var now: Instant {
    Instant(nanoseconds: Int64(clamping: NIODeadline.now().uptimeNanoseconds))
  }
}
