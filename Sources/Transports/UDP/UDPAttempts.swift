internal import NIOCore
internal import RTPWire

/// Attempts to reach a server at each of its addresses; the first one answered stays.
///
/// RFC 8305 calls this happy eyeballs. Only media shows that a hello has arrived, so an attempt
/// continues until another one is answered: the server may start late, at any of its addresses.
final class UDPAttempts: TrackReceiver, DatagramMerger {
  var onDiagnostic: ((TransportDiagnostic) -> Void)? {
    didSet {
      for attempt in attempts.sorted(by: { $0.key < $1.key }).map(\.value) {
        attempt.onDiagnostic = onDiagnostic
      }
    }
  }
  private var attempts: [Int: UDPReceiver] = [:]
  private let eventLoop: any EventLoop
  private var sink: (any DatagramSink)?
  /// How many have started.
  private var started = 0
  private let total: Int
  private var isAnswered = false
  private var pause: Scheduled<Void>?
  /// The counters of abandoned attempts.
  private var former: TransportCounters?

  /// Opens a socket for each of `servers` with `open`; leaves out those that cannot be opened.
  ///
  /// - Throws: why the last one cannot be opened, if none can.
  init(
    at servers: [SocketAddress], on eventLoop: any EventLoop, delivering sink: any DatagramSink,
    open: (SocketAddress, any DatagramSink) throws(TransportError) -> UDPReceiver
  ) throws(TransportError) {
    self.eventLoop = eventLoop
    self.sink = sink
    total = servers.count
    var failure = TransportError.nothingToReceive
    for (number, server) in servers.enumerated() {
      let relay = NumberedSink(self, number: number, on: eventLoop)
      do throws(TransportError) {
        let attempt = try open(server, relay)
        attempt.hasNoAnswer = { [unowned self] in unreachable(number) }
        attempts[number] = attempt
      } catch {
        failure = error
      }
    }
    if attempts.isEmpty { throw failure }
  }

  /// Starts with the first address; the future succeeds once that socket receives.
  func start() -> EventLoopFuture<Void> {
    startNext()?.isStarted ?? eventLoop.makeSucceededVoidFuture()
  }

  func gather(for time: Duration) { current?.gather(for: time) }

  func sendFeedback(_ bytes: ByteBuffer) { if isAnswered { current?.sendFeedback(bytes) } }

  var counters: TransportCounters {
    let current = self.current
    var sum = former ?? TransportCounters()
    for attempt in attempts.values where attempt !== current {
      sum = attempt.counters.added(to: sum)
    }
    guard let latest = current?.counters else { return sum }
    sum = latest.added(to: sum)
    sum.receiveBuffer = latest.receiveBuffer
    return sum
  }

  func stop() -> (any DatagramSink)? {
    pause?.cancel()
    for attempt in attempts.values { attempt.stop() }
    let sink = self.sink
    self.sink = nil
    return sink
  }

  /// The attempt that was answered, or is most likely to be.
  private var current: UDPReceiver? {
    let open = attempts.sorted { $0.key < $1.key }.map(\.value)
    return open.first { $0.counters.refused == 0 } ?? open.first
  }

  /// Goes on with the next address; where that cannot be received from, it has ended.
  private func goOn() {
    guard let (number, isStarted) = startNext() else { return }
    isStarted.assumeIsolated().whenFailure { [weak self] in self?.ended(number, .failed($0)) }
  }

  /// Starts the next one; `nil` where there is none, or one was answered.
  private func startNext() -> (number: Int, isStarted: EventLoopFuture<Void>)? {
    pause?.cancel()
    pause = nil
    while !isAnswered, sink != nil, started < total {
      let number = started
      started += 1
      guard let attempt = attempts[number] else { continue }
      if started < total {
        pause = eventLoop.assumeIsolated().scheduleTask(in: Self.pauseBetween) {
          [weak self] in self?.goOn()
        }
      }
      return (number, attempt.start())
    }
    return nil
  }

  /// Moves on to the next address at once, because this one is unreachable.
  private func unreachable(_ number: Int) { if started == number + 1 { goOn() } }

  // MARK: - From the attempts

  var authenticates: Bool { sink?.authenticates ?? false }

  func admit(_ datagram: Datagram, from number: Int) -> Bool {
    guard let sink else { return false }
    // Without authentication, anything from the server counts as an answer.
    if !sink.authenticates { settle(on: number) }
    let isGenuine = sink.admit(datagram)
    if isGenuine { settle(on: number) }
    return isGenuine
  }

  func readCompleted(at now: Instant, of number: Int) {
    if attempts[number] != nil { sink?.readCompleted(at: now) }
  }

  /// Notes that an attempt has ended by itself; if it is the only one, everything ends.
  func ended(_ number: Int, _ end: TransportEnd) {
    giveUp(number)
    guard attempts.isEmpty else { return goOn() }
    stop()?.transportEnded(end)
  }

  private func settle(on number: Int) {
    guard !isAnswered else { return }
    isAnswered = true
    pause?.cancel()
    for other in attempts.keys where other != number { giveUp(other) }
  }

  private func giveUp(_ number: Int) {
    guard let attempt = attempts.removeValue(forKey: number) else { return }
    attempt.stop()
    former = attempt.counters.added(to: former ?? TransportCounters())
    former?.localAddress = nil
  }

  /// The pause before the next address while none has answered (RFC 8305 §8).
  private static let pauseBetween = TimeAmount.milliseconds(250)
}
