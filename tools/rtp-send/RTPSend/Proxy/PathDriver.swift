import BlockingIO
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
  /// What waits until nothing is on its way in a direction.
  private var onEmpty: (direction: ProxyPath.Direction, body: () -> Void)?

  init(
    _ path: ProxyPath, on loop: NIOIsolatedEventLoop,
    onVerdicts: (@Sendable ([Verdict]) -> Void)?
  ) {
    self.path = path
    self.loop = loop
    self.onVerdicts = onVerdicts
    lastHeard = Instant.now
  }

  var counters: ImpairmentCounters { path.counters }

  /// Takes a packet; ``run()`` has to follow once all that was read is offered.
  func offer(_ bytes: ByteBuffer, _ direction: ProxyPath.Direction, channel: Int) {
    guard !isOver else { return }
    lastHeard = Instant.now
    path.offer(bytes, direction, channel: channel, at: lastHeard)
  }

  /// Sends what is due, and sets the timer for the rest.
  func run() {
    guard isReady, !isOver else { return }
    let now = Instant.now
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
    tellEmpty()
    schedule()
  }

  /// Calls `body` once nothing is on its way in `direction` any more.
  func whenEmpty(_ direction: ProxyPath.Direction, _ body: @escaping () -> Void) {
    onEmpty = (direction, body)
    tellEmpty()
  }

  private func tellEmpty() {
    guard let (direction, body) = onEmpty, path.isEmpty(direction) else { return }
    onEmpty = nil
    body()
  }

  func end() {
    isOver = true
    onEmpty = nil
    timer?.cancel()
    if let onVerdicts { onVerdicts(path.takeVerdicts()) }
    (send, flush) = ({ _ in }, {})
  }

  private func schedule() {
    guard !isOver, let deadline = path.deadline else { return }
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
