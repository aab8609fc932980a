import Foundation
import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import TestSupport
import TransportConformance
import Transports

/// A transport that keeps the contract, with one defect around it.
final class BrokenTransport: RTPTransport {
  private let inner: any RTPTransport
  private let defect: Defect
  private let behaviour: FarEndBehaviour
  private let state = Mutex(State())

  private struct State {
    var sink: BrokenSink?
    var isClosed = false
    var isOpening = false
  }

  init(_ inner: any RTPTransport, _ defect: Defect, _ behaviour: FarEndBehaviour) {
    self.inner = inner
    self.defect = defect
    self.behaviour = behaviour
  }

  var eventLoop: any EventLoop { inner.eventLoop }
  var clock: ArrivalClock { inner.clock }
  var isPassive: Bool { inner.isPassive }
  var takesReports: Bool { inner.takesReports }
  var longestSilence: Duration? { defect == .neverTiresOfSilence ? .milliseconds(200) : nil }

  func open(delivering sink: any DatagramSink) async throws {
    let broken = BrokenSink(sink, defect, behaviour, on: eventLoop)
    let (former, wasClosed) = state.withLock { state in
      defer { state.isOpening = true }
      return (state.sink, state.isClosed)
    }
    if defect == .opensTwice, former != nil, !wasClosed { return }
    if defect == .opensAfterClose, wasClosed {
      return try await eventLoop.submit { sink.transportEnded(.closed) }.get()
    }
    if defect == .hangsWhenClosedWhileOpening, !wasClosed {
      // Time in which it can be closed; most openings are not.
      try? await eventually(within: .milliseconds(30)) { state.withLock(\.isClosed) }
      if state.withLock(\.isClosed) { await forever() }
    }
    if former == nil, !wasClosed { state.withLock { $0.sink = broken } }
    do { try await inner.open(delivering: broken) } catch {
      try? await eventLoop.submit { broken.letGo() }.get()
      if defect == .endsAlthoughOpenThrew {
        try? await eventLoop.submit { sink.transportEnded(.failed(error)) }.get()
      }
      throw error
    }
    switch defect {
    case .leaksADescriptor: Leaks.all.withLock { $0.descriptors.append(Glibc.dup(2)) }
    case .leaksAThread:
      Leaks.all.withLock { $0.groups.append(MultiThreadedEventLoopGroup(numberOfThreads: 1)) }
    case .keepsTheSink: Leaks.all.withLock { $0.objects.append(sink) }
    default: break
    }
  }

  private func forever() async {
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
  }

  func sendFeedback(_ bytes: ByteBuffer, track: Int) {
    if defect != .losesFeedback { inner.sendFeedback(bytes, track: track) }
  }

  func holdReading(_ isHeld: Bool) {
    switch defect {
    case .ignoresHold: break
    case .keepsWhileHeld: state.withLock { $0.sink }?.hold(isHeld)
    case .losesWhileHeld:
      state.withLock { $0.sink }?.loseOne(isHeld)
      inner.holdReading(isHeld)
    default: inner.holdReading(isHeld)
    }
  }

  func counters() async -> TransportCounters {
    var counters = await inner.counters()
    // What comes out of the defect is counted, unless that is the defect.
    let (count, bytes) = state.withLock { $0.sink?.delivered } ?? (0, 0)
    (counters.delivered, counters.deliveredBytes) = (count, bytes)
    if defect == .countsWrongly, counters.delivered > 2 { counters.delivered += 3 }
    if defect == .forgetsItsCounters, state.withLock({ $0.isClosed }) {
      counters = TransportCounters()
    }
    return counters
  }

  func close() {
    let isOpen = state.withLock { state in
      state.isClosed = true
      return state.sink != nil
    }
    switch defect {
    case _ where !isOpen: inner.close()
    case .closesOnlyOnTheLoop: if eventLoop.inEventLoop { inner.close() }
    case .closesLater: eventLoop.scheduleTask(in: .milliseconds(5)) { self.inner.close() }
    default: inner.close()
    }
  }
}

/// What lies between the transport and the sink, and makes it wrong; used on the event loop.
final class BrokenSink: DatagramSink, @unchecked Sendable {
  /// Datagrams and bytes that were handed to the sink.
  var delivered: (UInt64, UInt64) { count.withLock { $0 } }

  private let count = Mutex<(UInt64, UInt64)>((0, 0))
  private var sink: (any DatagramSink)?
  private let defect: Defect
  private let behaviour: FarEndBehaviour
  private let eventLoop: any EventLoop
  private var number = 0
  private var earlier: Datagram?
  private var isHeld = false
  private var hasEnded = false
  private var hasCut = false
  private var losesNext = false
  private var kept: [Datagram] = []
  private var end: TransportEnd?
  /// The storage that datagrams are written to in turn.
  private var slab = ByteBuffer()

  init(
    _ sink: any DatagramSink, _ defect: Defect, _ behaviour: FarEndBehaviour,
    on eventLoop: any EventLoop
  ) {
    (self.sink, self.defect) = (sink, defect)
    (self.behaviour, self.eventLoop) = (behaviour, eventLoop)
  }

  func describe(_ media: [MediaDescription]) {
    if defect != .neverDescribes { sink?.describe(media) }
  }

  func hold(_ isHeld: Bool) {
    guard !hasEnded else { return }
    self.isHeld = isHeld
    guard !isHeld else { return }
    for datagram in kept { hand(datagram) }
    kept.removeAll()
    sink?.readCompleted(at: Instant(NIODeadline.now()))
    if let end { transportEnded(end) }
  }

  func loseOne(_ isHeld: Bool) { if !isHeld { losesNext = true } }

  func receive(_ datagram: Datagram) {
    number += 1
    if isHeld { return kept.append(datagram) }
    if losesNext {
      losesNext = false
      return
    }
    if let earlier {
      self.earlier = nil
      return receive(datagram, behind: earlier)
    }
    switch defect {
    case .losesAPacket where number == 3: break
    case .losesWhatComesSlowly where behaviour == .byteByByte && number == 3: break
    case .swapsTwo where number == 3, .gluesTwo where number == 3: earlier = datagram
    case .repeatsAPacket where number == 3:
      hand(datagram)
      hand(datagram)
    case .changesAByte where number > 3 && datagram.bytes.readableBytes > 20:
      hand(datagram.withOtherLastByte)
    case .cutsADatagram where !hasCut && datagram.bytes.readableBytes > 40: cut(datagram)
    case .saysAnotherTrack where number == 3:
      var other = datagram
      other.track = 1
      hand(other)
    case .goesBackInTime where number == 3: hand(datagram.earlier(by: 1_000_000_000))
    case .usesAnotherClock: hand(datagram.at(Int64(number)))
    case .describesLate where number == 2:
      sink?.describe([MediaDescription()])
      hand(datagram)
    case .callsOnAnotherThread where number == 3: receiveElsewhere(datagram)
    case .reusesTheBuffer: receiveInSlab(datagram)
    case .remembersGarbage where datagram.bytes.readableBytes == 32 << 10:
      // Filled, so that it takes memory and not only addresses.
      Leaks.all.withLock { $0.bytes.append([UInt8](repeating: 1, count: 1 << 20)) }
      hand(datagram)
    default: hand(datagram)
    }
  }

  var authenticates: Bool { false }

  func admit(_ datagram: Datagram) -> Bool {
    receive(datagram)
    return true
  }

  private func receive(_ datagram: Datagram, behind earlier: Datagram) {
    guard defect == .gluesTwo else {
      hand(datagram.at(earlier.arrival.nanoseconds))
      hand(earlier)
      return
    }
    var both = earlier
    both.bytes.writeImmutableBuffer(datagram.bytes)
    hand(both)
  }

  private func hand(_ datagram: Datagram) {
    // Closed inside of the call before.
    guard !hasEnded else { return }
    count.withLock { $0 = ($0.0 + 1, $0.1 + UInt64(datagram.bytes.readableBytes)) }
    sink?.receive(datagram)
  }

  private func cut(_ datagram: Datagram) {
    hasCut = true
    var (first, second) = (datagram, datagram)
    let half = datagram.bytes.readableBytes / 2
    first.bytes = datagram.bytes.getSlice(at: datagram.bytes.readerIndex, length: half) ?? .init()
    second.bytes.moveReaderIndex(forwardBy: half)
    hand(first)
    hand(second)
  }

  private func receiveElsewhere(_ datagram: Datagram) {
    let isDone = DispatchSemaphore(value: 0)
    Thread { [self] in
      hand(datagram)
      isDone.signal()
    }.start()
    isDone.wait()
  }

  private func receiveInSlab(_ datagram: Datagram) {
    if slab.capacity == 0 { slab = ByteBuffer(repeating: 0, count: 1 << 17) }
    let count = datagram.bytes.readableBytes
    // As a reader in C would do it, even if somebody holds a slice of the slab.
    slab.withUnsafeReadableBytes { slab in
      datagram.bytes.withUnsafeReadableBytes { bytes in
        UnsafeMutableRawBufferPointer(mutating: slab).copyMemory(from: bytes)
      }
    }
    var copy = datagram
    copy.bytes = slab.getSlice(at: 0, length: count) ?? .init()
    hand(copy)
  }

  func readCompleted(at now: Instant) {
    if defect != .neverCompletesReads, !isHeld { sink?.readCompleted(at: now) }
  }

  func transportEnded(_ end: TransportEnd) {
    if isHeld {
      self.end = end
      return
    }
    hasEnded = true
    switch (defect, end) {
    case (.neverEnds, _): break
    case (.saysEndedWhenItFailed, .failed): sink?.transportEnded(.ended)
    case (.saysFailedWhenItEnded, .ended):
      sink?.transportEnded(.failed(LoopbackTransport.Fault.broken))
    case (.saysEndedWhenClosed, .closed): sink?.transportEnded(.ended)
    case (.endsTwice, _):
      sink?.transportEnded(end)
      sink?.transportEnded(end)
    case (.callsBehindTheEnd, _):
      sink?.transportEnded(end)
      sink?.readCompleted(at: Instant(NIODeadline.now()))
    default: sink?.transportEnded(end)
    }
    letGo()
  }

  /// Holds the sink no longer.
  func letGo() { if defect != .holdsTheSinkThatHoldsIt { sink = nil } }
}

extension Datagram {
  fileprivate var withOtherLastByte: Datagram {
    var other = self
    let last = bytes.writerIndex - 1
    let byte = bytes.getInteger(at: last, as: UInt8.self) ?? 0
    other.bytes.setInteger(~byte, at: last)
    return other
  }

  fileprivate func earlier(by nanoseconds: Int64) -> Datagram {
    at(arrival.advanced(byNanoseconds: -nanoseconds).nanoseconds)
  }

  fileprivate func at(_ nanoseconds: Int64) -> Datagram {
    var other = self
    other.arrival = Instant(nanoseconds: nanoseconds)
    return other
  }
}

/// What broken transports have leaked, so that it can be given back when their leak was seen.
enum Leaks {
  struct All {
    var descriptors: [CInt] = []
    var groups: [MultiThreadedEventLoopGroup] = []
    var objects: [any DatagramSink] = []
    var bytes: [[UInt8]] = []
  }

  static let all = Mutex(All())

  static func giveBack() async throws {
    let all = self.all.withLock { all in
      defer { all = All() }
      return all
    }
    for descriptor in all.descriptors { Glibc.close(descriptor) }
    for group in all.groups { try await group.shutdownGracefully() }
  }
}
