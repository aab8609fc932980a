import Impairment
import NIOCore
import RTPWire

/// Runs a ``ProxyPath`` on an event loop: the clock and the timer.
final class PathDriver {
  /// Carries out a departure.
  var send: (ProxyPath.Departure) -> Void = { _ in }
  /// Called when all that is due has been given to ``send``.
  var flush: () -> Void = {}
  /// Nothing is sent before this is true.
  var isReady = false { didSet { run() } }
  /// When the last packet came, from either side.
  private(set) var lastHeard: Instant

  private var path: ProxyPath
  private let loop: NIOIsolatedEventLoop
  private let onVerdicts: (@Sendable ([Verdict]) -> Void)?
  private var timer: Scheduled<Void>?
  private var timerDeadline: Instant?
  private var turns = LoopTurns()
  private var isOver = false
  private var onEmpty: (() -> Void)?

  init(
    _ path: ProxyPath, on loop: NIOIsolatedEventLoop,
    onVerdicts: (@Sendable ([Verdict]) -> Void)?
  ) {
    self.path = path
    self.loop = loop
    self.onVerdicts = onVerdicts
    lastHeard = Self.now
  }

  var counters: ImpairmentCounters { path.counters }

  static var now: Instant {
    Instant(nanoseconds: Int64(clamping: NIODeadline.now().uptimeNanoseconds))
  }

  /// Takes a packet; ``run()`` has to follow once all that was read is offered.
  func offer(_ bytes: ByteBuffer, _ direction: ProxyPath.Direction, channel: Int) {
    guard !isOver else { return }
    lastHeard = Self.now
    path.offer(bytes, direction, channel: channel, at: lastHeard)
  }

  /// Sends what is due, and sets the timer for the rest.
  func run() {
    guard isReady, !isOver else { return }
    let now = Self.now
    var hasSent = false
    while let departure = path.departure(by: now) {
      send(departure)
      hasSent = true
    }
    if hasSent { flush() }
    if let onVerdicts {
      let verdicts = path.takeVerdicts()
      if !verdicts.isEmpty { onVerdicts(verdicts) }
    }
    schedule()
  }

  /// Calls `body` once nothing is on its way any more, and after `limit` at the latest.
  func whenEmpty(within limit: TimeAmount, _ body: @escaping () -> Void) {
    guard path.deadline != nil else { return body() }
    onEmpty = body
    loop.scheduleTask(in: limit) { self.tellEmpty() }
  }

  private func tellEmpty() {
    let body = onEmpty
    onEmpty = nil
    body?()
  }

  func end() {
    isOver = true
    onEmpty = nil
    timer?.cancel()
    if let onVerdicts { onVerdicts(path.takeVerdicts()) }
    (send, flush) = ({ _ in }, {})
  }

  private func schedule() {
    guard let deadline = path.deadline else { return tellEmpty() }
    if timer != nil, let timerDeadline, timerDeadline <= deadline { return }
    timer?.cancel()
    timerDeadline = deadline
    let due = NIODeadline.uptimeNanoseconds(UInt64(clamping: deadline.nanoseconds))
    timer = loop.scheduleTask(deadline: turns.deadline(for: due, at: .now())) {
      self.timer = nil
      self.run()
    }
  }
}
