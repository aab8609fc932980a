internal import NIOCore
internal import NIOPosix
internal import RTPWire

/// Delivers what a ``ReplayReader`` reads, on the event loop: as fast as the sink takes it, or at a
/// multiple of the recorded pace.
///
/// One read is delivered during the next one, and no more is ever in memory.
final class ReplayPlayer {
  /// How long the event loop is occupied at a time.
  static let turn = TimeAmount.milliseconds(2)
  /// The pause after that: SwiftNIO reads no socket of its loop before it finds that no task is
  /// due.
  private static let pause = TimeAmount.microseconds(20)
  /// Packets between two readings of the clock.
  private static let stride = 64
  /// Batches waiting for delivery.
  private static let readAhead = 1
  /// The longest pause kept at a recorded pace; longer ones in recordings of days are shortened.
  static let longestPause = Duration.seconds(3600)

  private let reader: ReplayReader
  private let eventLoop: any EventLoop
  private var sink: (any DatagramSink)?
  private var pace: ReplayPace?

  private var current: ArraySlice<Datagram> = []
  private var waiting = CircularBuffer<ReplayReader.Batch>()
  private var end: ReplayReader.End?
  private var isReading = false
  private var isHeld = false
  private var isPlaying = false
  /// The arrival of the last datagram since the sink was told of a completed read.
  private var lastArrival: Instant?
  private var timer: Scheduled<Void>?
  private(set) var counters = TransportCounters()

  init(
    _ reader: ReplayReader, speed: Double?, on eventLoop: any EventLoop,
    delivering sink: any DatagramSink
  ) {
    self.reader = reader
    self.eventLoop = eventLoop
    self.sink = sink
    pace = speed.map { ReplayPace(speed: $0) }
    counters.carriage = reader.carriage
    for remark in reader.remarks { counters.note(remark) }
  }

  func start() {
    read()
  }

  func holdReading(_ isHeld: Bool) {
    self.isHeld = isHeld
    if !isHeld { goOn() }
  }

  /// Ends playing; the sink gets nothing after `end`.
  func finish(_ end: TransportEnd) {
    guard let sink else { return }
    self.sink = nil
    timer?.cancel()
    current = []
    waiting.removeAll()
    sink.transportEnded(end)
  }

  /// Makes the thread read the next batch, unless enough are waiting.
  private func read() {
    guard sink != nil, !isReading, end == nil, waiting.count < Self.readAhead else { return }
    isReading = true
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) { [reader] in reader.nextBatch() }
      .whenComplete { result in bound.value.take(result) }
  }

  private func take(_ result: Result<ReplayReader.Batch, any Error>) {
    isReading = false
    guard sink != nil else { return }
    switch result {
    case .success(let batch):
      waiting.append(batch)
      end = batch.end
    case .failure(let error): end = .failed(error)
    }
    goOn()
  }

  /// Continues in a later turn of the loop.
  private func goOn() {
    guard sink != nil, timer == nil, !isPlaying else { return }
    schedule(in: .zero)
  }

  private func schedule(in time: TimeAmount) {
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    timer = eventLoop.scheduleTask(in: time) {
      bound.value.timer = nil
      bound.value.play()
    }
  }

  private func play() {
    isPlaying = true
    defer { isPlaying = false }
    let turnEnd = NIODeadline.now() + Self.turn
    var untilLook = Self.stride
    while !isHeld, let sink {
      guard let datagram = current.first ?? nextBatch() else {
        completeRead()
        return endIfOver()
      }
      if let wait = pace?.wait(for: datagram.arrival, at: .now()) {
        completeRead()
        return schedule(in: wait)
      }
      current.removeFirst()
      counters.delivered += 1
      counters.deliveredBytes += UInt64(datagram.bytes.readableBytes)
      lastArrival = datagram.arrival
      sink.receive(datagram)
      untilLook -= 1
      guard untilLook == 0 else { continue }
      untilLook = Self.stride
      guard NIODeadline.now() < turnEnd else {
        completeRead()
        return schedule(in: Self.pause)
      }
    }
  }

  /// Tells the sink that it has everything for now, if it got anything.
  private func completeRead() {
    guard let arrival = lastArrival else { return }
    lastArrival = nil
    sink?.readCompleted(at: arrival)
  }

  /// The first packet of the next nonempty batch; the thread continues reading meanwhile.
  private func nextBatch() -> Datagram? {
    while let batch = waiting.popFirst() {
      for diagnostic in batch.diagnostics { counters.note(diagnostic) }
      counters.isIncompleteRecording = batch.isIncomplete
      current = batch.datagrams[...]
      read()
      if let first = current.first { return first }
    }
    read()
    return nil
  }

  private func endIfOver() {
    guard let end, waiting.isEmpty else { return }
    switch end {
    case .ended: finish(.ended)
    case .failed(let error): finish(.failed(error))
    }
  }
}

/// The due times of packets at a multiple of the recorded pace.
struct ReplayPace: Sendable {
  let speed: Double
  private var start: (recorded: Instant, real: NIODeadline)?

  init(speed: Double) { self.speed = speed }

  /// How long to wait for what was recorded at `arrival`; `nil` if it is due.
  mutating func wait(for arrival: Instant, at now: NIODeadline) -> TimeAmount? {
    guard let start else {
      start = (arrival, now)
      return nil
    }
    let elapsed = Double(start.recorded.nanoseconds(to: arrival)) / speed
    let rest = elapsed - Double((now - start.real).nanoseconds)
    guard rest > 0 else { return nil }
    let longest = Double(ReplayPlayer.longestPause.wholeNanoseconds)
    guard rest > longest else { return .nanoseconds(Int64(rest)) }
    // The recording's clock jumped.
    self.start = (arrival, now + .nanoseconds(Int64(longest)))
    return .nanoseconds(Int64(longest))
  }
}
