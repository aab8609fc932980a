internal import NIOCore
internal import NIOPosix
internal import RTPWire
internal import Synchronization
internal import Transports

/// The sink of a transport under check, which knows what should come.
///
/// Every fault is assigned to the one clause that it violates.
final class Collector: DatagramSink {
  /// What has come so far.
  struct Collected: Sendable {
    var delivered = 0
    var deliveredBytes = 0
    /// Received packets of the kit, each counted once.
    var received = 0
    /// Datagrams that are not the kit's packets.
    var foreign = 0
    var ends: [TransportEnd] = []
    var descriptions = 0
    /// Whether datagrams came whose read has not completed.
    var isReadOpen = false

    fileprivate var phase = Phase.unopened
    fileprivate var isSeen: [Bool] = []
    fileprivate var highest = -1
    /// The track of the current datagram.
    fileprivate var track = 0
    /// The rest of a packet that came in part.
    fileprivate var rest: ByteBuffer?
    fileprivate var lastArrival = Instant(nanoseconds: .min)
    fileprivate var held: [(bytes: ByteBuffer, copy: [UInt8])] = []
    fileprivate var waiters: [Waiter] = []
    fileprivate var nextWaiter = 0
  }

  /// What was asked of the transport.
  enum Phase: Sendable, Hashable {
    case unopened, opened
    /// `open` threw.
    case refused
    /// `close()` has returned on the event loop.
    case closed
  }

  /// Calls during which a test can act on the transport.
  enum Call: Sendable, Hashable { case described, received, completedRead, ended }

  fileprivate struct Waiter {
    let number: Int
    let condition: @Sendable (Collected) -> Bool
    let continuation: CheckedContinuation<Bool, Never>
  }

  private let state = Mutex(Collected())
  private let packets: TestPackets
  private let sizes: Mutex<[Int]>
  /// The tracks of packets that are not on the first track, by number.
  private let tracks = Mutex<[Int: Int]>([:])
  private let eventLoop: any EventLoop
  private let results: ConformanceResults
  private let isLive = Mutex(true)
  /// The transport, where this is its owner too.
  private let owned = Mutex<(any RTPTransport)?>(nil)
  private let start = Instant(NIODeadline.now())
  /// Whether datagrams unknown to the kit are ignored.
  private let expectsForeign: Bool
  /// How many slices are held, to be compared later.
  private let holding: Int
  private let reaction: @Sendable (Call, Collected) -> Void

  init(
    _ packets: TestPackets, on eventLoop: any EventLoop, _ results: ConformanceResults,
    expectsForeign: Bool = false, holding: Int = 0,
    reaction: @escaping @Sendable (Call, Collected) -> Void = { _, _ in }
  ) {
    self.packets = packets
    self.eventLoop = eventLoop
    self.results = results
    sizes = Mutex([])
    self.expectsForeign = expectsForeign
    self.holding = holding
    self.reaction = reaction
  }

  /// Sets the clock for arrival times, before any comes.
  func goes(by clock: ArrivalClock) { isLive.withLock { $0 = clock.isLive } }

  /// Holds the transport for as long as somebody holds this, as a sink that answers does.
  func own(_ transport: any RTPTransport) { owned.withLock { $0 = transport } }

  // MARK: - Expectations

  var collected: Collected { state.withLock { $0 } }

  /// Adds the sizes of the next packets that will be sent on `track`.
  func expect(_ more: [Int], onTrack track: Int = 0) {
    let first = sizes.withLock { sizes in
      defer { sizes += more }
      return sizes.count
    }
    guard track != 0 else { return }
    tracks.withLock { tracks in
      for number in first..<first + more.count { tracks[number] = track }
    }
  }

  /// Notes the state of the transport.
  func note(_ phase: Phase) {
    state.withLock { state in
      state.phase = phase
      // What came before open threw came to a sink that must not be called.
      if phase == .refused, state.delivered + state.ends.count + state.descriptions > 0 {
        results.violated(.refusedOpening, "the sink was called, and then open threw")
      }
    }
  }

  /// Waits until `condition` holds; `false` after the deadline.
  func wait(
    within limit: Duration, until condition: @escaping @Sendable (Collected) -> Bool
  ) async -> Bool {
    let number = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    let timer = Task {
      guard (try? await Task.sleep(for: limit)) != nil else { return }
      self.resume { $0.number == number ? false : nil }
    }
    defer { timer.cancel() }
    return await withCheckedContinuation { continuation in
      state.withLock { state in
        state.waiters.append(
          Waiter(number: number, condition: condition, continuation: continuation))
      }
      look()
    }
  }

  /// Checks that held slices have not changed.
  func checkHeld() {
    for (bytes, copy) in state.withLock({ $0.held })
    where !bytes.readableBytesView.elementsEqual(copy) {
      results.violated(
        .heldBytes, "a datagram of \(copy.count) bytes changed after it was handed over")
    }
  }

  /// Which of the first `count` packets did not come.
  func missing(of count: Int) -> [Int] {
    let seen = state.withLock { $0.isSeen }
    return (0..<count).filter { $0 >= seen.count || !seen[$0] }
  }

  private func look() {
    let collected = self.collected
    guard !collected.waiters.isEmpty else { return }
    resume { $0.condition(collected) ? true : nil }
  }

  private func resume(_ decide: (Waiter) -> Bool?) {
    let ready = state.withLock { state in
      let ready = state.waiters.compactMap { waiter in decide(waiter).map { (waiter, $0) } }
      let numbers = Set(ready.map(\.0.number))
      if !ready.isEmpty { state.waiters.removeAll { numbers.contains($0.number) } }
      return ready
    }
    for (waiter, result) in ready { waiter.continuation.resume(returning: result) }
  }

  // MARK: - Calls

  func describe(_ media: [MediaDescription]) {
    state.withLock { state in
      check("a description", &state)
      if state.delivered > 0 { results.violated(.description, "a description after a datagram") }
      state.descriptions += 1
    }
    called(.described)
  }

  func receive(_ datagram: Datagram) {
    let now = Instant(NIODeadline.now())
    state.withLock { state in
      check("a datagram", &state)
      state.delivered += 1
      state.deliveredBytes += datagram.bytes.readableBytes
      state.isReadOpen = true
      checkArrival(datagram.arrival, now: now, &state)
      state.track = datagram.track
      identify(datagram.bytes, &state)
      if state.held.count < holding {
        state.held.append((datagram.bytes, Array(datagram.bytes.readableBytesView)))
      }
    }
    called(.received)
  }

  var authenticates: Bool { false }

  func admit(_ datagram: Datagram) -> Bool {
    receive(datagram)
    return true
  }

  func readCompleted(at now: Instant) {
    state.withLock { state in
      check("a completed read", &state)
      state.isReadOpen = false
    }
    called(.completedRead)
  }

  func transportEnded(_ end: TransportEnd) {
    state.withLock { state in
      checkLoop("an end")
      switch state.phase {
      case .refused: results.violated(.refusedOpening, "open threw, but an end came: \(end)")
      case .unopened, .opened, .closed: break
      }
      if let first = state.ends.first {
        results.violated(.oneEnd, "a second end, \(end), after \(first)")
      }
      state.ends.append(end)
    }
    called(.ended)
  }

  private func called(_ call: Call) {
    reaction(call, collected)
    look()
  }

  private func check(_ what: String, _ state: inout Collected) {
    checkLoop(what)
    if let end = state.ends.first {
      results.violated(.nothingAfterEnd, "\(what) after the end, which was \(end)")
      return
    }
    switch state.phase {
    case .unopened, .opened: break
    case .refused: results.violated(.refusedOpening, "open threw, but then came \(what)")
    case .closed:
      results.violated(.nothingAfterEnd, "\(what) after close() had returned on the loop")
    }
  }

  private func checkLoop(_ what: String) {
    if !eventLoop.inEventLoop {
      results.violated(.eventLoop, "\(what) was not on the thread of the event loop")
    }
  }

  private func checkArrival(_ arrival: Instant, now: Instant, _ state: inout Collected) {
    if arrival < state.lastArrival {
      let back = arrival.nanoseconds(to: state.lastArrival)
      results.violated(.arrivalTimes, "an arrival \(back) ns before the one before it")
    }
    state.lastArrival = max(arrival, state.lastArrival)
    guard isLive.withLock({ $0 }) else { return }
    if arrival > now {
      results.violated(
        .arrivalTimes, "an arrival \(now.nanoseconds(to: arrival)) ns ahead of NIODeadline.now()")
    } else if arrival < start {
      results.violated(
        .arrivalTimes,
        "an arrival \(arrival.nanoseconds(to: start)) ns before the far end was started")
    }
  }

  // MARK: - Identifying packets

  private func identify(_ bytes: ByteBuffer, _ state: inout Collected) {
    if let rest = state.rest {
      state.rest = nil
      // The end of a packet that was cut, which was already reported.
      if bytes == rest { return }
    }
    let sizes = self.sizes.withLock { $0 }
    guard let number = packets.number(at: 0, of: bytes), number < sizes.count else {
      state.foreign += 1
      if !expectsForeign {
        results.violated(
          .payload, "a datagram of \(bytes.readableBytes) bytes that was not sent")
      }
      return
    }
    let size = sizes[number]
    if bytes.readableBytes == size {
      if !packets.matches(bytes, number) {
        results.violated(.payload, "packet \(number) of \(size) bytes came with other bytes")
      }
    } else if let next = packets.number(at: size, of: bytes) {
      results.violated(.boundaries, "packets \(number) and \(next) came as one datagram")
      note(number, &state)
      return note(next, &state)
    } else {
      results.violated(
        .boundaries, "packet \(number) of \(size) bytes came with \(bytes.readableBytes)")
      let packet = packets.packet(number, size: size)
      state.rest = packet.getSlice(
        at: bytes.readableBytes, length: max(0, size - bytes.readableBytes))
    }
    note(number, &state)
  }

  private func note(_ number: Int, _ state: inout Collected) {
    let track = tracks.withLock { $0[number] ?? 0 }
    if state.track != track {
      results.violated(
        .tracks, "packet \(number), sent on track \(track), came as one of track \(state.track)")
    }
    while state.isSeen.count <= number { state.isSeen.append(false) }
    if state.isSeen[number] {
      results.violated(.completeness, "packet \(number) came twice")
      return
    }
    state.isSeen[number] = true
    state.received += 1
    if number < state.highest {
      results.violated(.order, "packet \(number) came after packet \(state.highest)")
    }
    state.highest = max(number, state.highest)
  }
}
