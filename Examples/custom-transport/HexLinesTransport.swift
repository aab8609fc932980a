import Foundation
import NIOCore
import NIOPosix
import RTPWire
import Transports

/// RTP from a text file of hexadecimal lines, one packet in each: all that a transport has to be.
final class HexLinesTransport: RTPTransport {
  private enum Phase { case idle, opening, open(any DatagramSink), ended }
  private struct State {
    var phase = Phase.idle
    var lines: ArraySlice<Substring> = []
    var isHeld = false
    var counters = TransportCounters()
  }

  let eventLoop: any EventLoop
  let clock = ArrivalClock.monotonic
  let isPassive = false
  let longestSilence: Duration? = nil
  let takesReports = false
  private let path: String
  private let state: NIOLoopBoundBox<State>

  init(path: String, on eventLoop: any EventLoop) {
    (self.path, self.eventLoop) = (path, eventLoop)
    state = .makeBoxSendingValue(State(), eventLoop: eventLoop)
  }

  func open(delivering sink: any DatagramSink) async throws {
    try await eventLoop.submit { [state] in
      guard case .idle = state.value.phase else { throw TransportError.alreadyOpened }
      state.value.phase = .opening
    }.get()
    // What blocks is not done on the event loop.
    let lines = try await NIOThreadPool.singleton.runIfActive { [path] in
      try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    }
    try await eventLoop.submit { [self] in
      guard case .opening = state.value.phase else { throw TransportError.closed }
      (state.value.phase, state.value.lines) = (.open(sink), lines[...])
      eventLoop.execute { self.deliver() }
    }.get()
  }

  /// Delivers one packet, then gives others on the event loop a turn.
  private func deliver() {
    guard case .open(let sink) = state.value.phase, !state.value.isHeld else { return }
    guard let line = state.value.lines.popFirst() else { return end(.ended) }
    do {
      let packet = try ByteBuffer(plainHexEncodedBytes: String(line))
      let now = Instant(NIODeadline.now())
      state.value.counters.delivered += 1
      state.value.counters.deliveredBytes += UInt64(packet.readableBytes)
      sink.receive(Datagram(bytes: packet, arrival: now))
      if case .open = state.value.phase { sink.readCompleted(at: now) }
      eventLoop.execute { self.deliver() }
    } catch { end(.failed(error)) }
  }

  private func end(_ end: TransportEnd) {
    let phase = state.value.phase
    state.value.phase = .ended
    if case .open(let sink) = phase { sink.transportEnded(end) }
  }

  func close() {
    if eventLoop.inEventLoop { end(.closed) } else { eventLoop.execute { self.end(.closed) } }
  }

  func holdReading(_ isHeld: Bool) {
    state.value.isHeld = isHeld
    if !isHeld { eventLoop.execute { self.deliver() } }
  }

  func sendFeedback(_ bytes: ByteBuffer) {}

  func counters() async -> TransportCounters {
    (try? await eventLoop.submit { [state] in state.value.counters }.get()) ?? TransportCounters()
  }
}
