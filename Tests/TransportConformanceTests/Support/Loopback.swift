import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import TransportConformance
import Transports

/// A transport inside of one process that keeps the contract: the kit's own yardstick.
final class LoopbackTransport: RTPTransport {
  let eventLoop: any EventLoop
  let clock = ArrivalClock.monotonic
  let isPassive = false
  let longestSilence: Duration? = nil
  let takesReports = true
  let feedback = Mutex<[ByteBuffer]>([])
  private let state: NIOLoopBoundBox<State>

  private struct State {
    var sink: (any DatagramSink)?
    var hasOpened = false
    var isHeld = false
    var waiting: [Step] = []
    var counters = TransportCounters()
  }

  /// A step of the far end, and the promise to complete after it.
  struct Step: Sendable {
    var packets: [ByteBuffer] = []
    var end: TransportEnd?
    let isDone: EventLoopPromise<Void>
  }

  enum Fault: Error { case opened, broken }

  init(on eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
    state = .makeBoxSendingValue(State(), eventLoop: eventLoop)
  }

  func open(delivering sink: any DatagramSink) async throws {
    try await eventLoop.submit { [state] in
      if state.value.hasOpened { throw Fault.opened }
      state.value.hasOpened = true
      state.value.sink = sink
      sink.describe([MediaDescription()])
    }.get()
  }

  /// Performs the far end's step when the transport is not held.
  func perform(_ packets: [ByteBuffer], _ end: TransportEnd? = nil) async throws {
    let step = Step(packets: packets, end: end, isDone: eventLoop.makePromise())
    eventLoop.execute { [self] in
      state.value.waiting.append(step)
      act()
    }
    try await step.isDone.futureResult.get()
  }

  private func act() {
    while !state.value.isHeld, !state.value.waiting.isEmpty {
      let step = state.value.waiting[0]
      if let packet = step.packets.first {
        state.value.waiting[0].packets.removeFirst()
        deliver(packet)
        continue
      }
      state.value.waiting.removeFirst()
      if let sink = state.value.sink {
        sink.readCompleted(at: Instant(NIODeadline.now()))
        if let end = step.end { finish(end) }
      }
      step.isDone.succeed()
    }
  }

  private func deliver(_ packet: ByteBuffer) {
    guard let sink = state.value.sink else { return }
    state.value.counters.delivered += 1
    state.value.counters.deliveredBytes += UInt64(packet.readableBytes)
    sink.receive(Datagram(bytes: packet, arrival: Instant(NIODeadline.now())))
  }

  private func finish(_ end: TransportEnd) {
    let sink = state.value.sink
    state.value.sink = nil
    state.value.isHeld = false
    sink?.transportEnded(end)
  }

  func sendFeedback(_ bytes: ByteBuffer, track: Int) {
    feedback.withLock { $0.append(bytes) }
  }

  func holdReading(_ isHeld: Bool) {
    guard state.value.sink != nil else { return }
    state.value.isHeld = isHeld
    if !isHeld { act() }
  }

  func counters() async -> TransportCounters {
    (try? await eventLoop.submit { [state] in state.value.counters }.get()) ?? TransportCounters()
  }

  func close() {
    guard eventLoop.inEventLoop else { return eventLoop.execute { self.close() } }
    state.value.hasOpened = true
    finish(.closed)
    eventLoop.execute { self.act() }
  }
}

/// The far end of a loopback, whose transport may be wrapped into a broken one.
final class LoopbackEnd: FarEnd {
  private let defect: Defect?
  private let behaviour: FarEndBehaviour
  private let inner = Mutex<LoopbackTransport?>(nil)

  init(_ behaviour: FarEndBehaviour, _ defect: Defect?) {
    self.behaviour = behaviour
    self.defect = defect
  }

  func makeTransport(on eventLoop: any EventLoop) -> any RTPTransport {
    let transport = LoopbackTransport(on: eventLoop)
    inner.withLock { $0 = transport }
    guard let defect else { return transport }
    return BrokenTransport(transport, defect, behaviour)
  }

  private func transport() throws -> LoopbackTransport {
    guard let transport = inner.withLock({ $0 }) else { throw LoopbackTransport.Fault.broken }
    return transport
  }

  func send(_ packets: [ByteBuffer]) async throws { try await transport().perform(packets) }
  func finish() async throws { try await transport().perform([], .ended) }
  func fail() async throws {
    try await transport().perform([], .failed(LoopbackTransport.Fault.broken))
  }
  var feedback: [ByteBuffer] { (try? transport())?.feedback.withLock { $0 } ?? [] }
  func close() async { inner.withLock { $0 = nil } }
}

struct Loopback: ConformanceSubject {
  var defect: Defect?

  var name: String { defect.map { "a loopback that \($0)" } ?? "a loopback" }

  var carrier: Carrier {
    var carrier = Carrier()
    guard let defect else { return carrier }
    // What a defect keeps from coming is waited for, most often where resources are counted. Those
    // are checked one by one; of the others, many keep the machine busy at once.
    let deadline = Duration.seconds(defect.clause == .resources ? 2 : 6)
    (carrier.deadline, carrier.endDeadline) = (deadline, deadline)
    // A defect shows at any size.
    carrier.packetSizes = 12...3000
    return carrier
  }

  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd {
    LoopbackEnd(behaviour, defect)
  }
}
