import Foundation
import NIOCore
import NIOPosix
import RTPWire
import Transports

/// RTP from a text file of hexadecimal lines, one packet in each: all that a transport has to be.
final class HexLinesTransport: RTPTransport {
  enum Fault: Error { case openedBefore, closed }
  private enum Phase { case idle, opening, open(any DatagramSink), ended }

  let eventLoop: any EventLoop
  let clock = ArrivalClock.monotonic
  let isPassive = false
  let longestSilence: Duration? = nil
  let takesReports = false
  private let path: String
  private let state: NIOLoopBoundBox<(phase: Phase, lines: ArraySlice<Substring>, isHeld: Bool)>
  private let count: NIOLoopBoundBox<TransportCounters>

  init(path: String, on eventLoop: any EventLoop) {
    (self.path, self.eventLoop) = (path, eventLoop)
    state = .makeBoxSendingValue((.idle, [], false), eventLoop: eventLoop)
    count = .makeBoxSendingValue(TransportCounters(), eventLoop: eventLoop)
  }

  func open(delivering sink: any DatagramSink) async throws {
    try await eventLoop.submit { [state] in
      guard case .idle = state.value.phase else { throw Fault.openedBefore }
      state.value.phase = .opening
    }.get()
    // What blocks is not done on the event loop.
    let lines = try await NIOThreadPool.singleton.runIfActive { [path] in
      try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    }
    try await eventLoop.submit { [self] in
      guard case .opening = state.value.phase else { throw Fault.closed }
      (state.value.phase, state.value.lines) = (.open(sink), lines[...])
      eventLoop.execute { self.deliver() }
    }.get()
  }

  /// Delivers a few packets, then gives others on the event loop a turn.
  private func deliver() {
    let now = Instant(NIODeadline.now())
    for _ in 0..<32 {
      guard case .open(let sink) = state.value.phase, !state.value.isHeld else { return }
      guard let line = state.value.lines.popFirst() else {
        sink.readCompleted(at: now)
        return end(.ended)
      }
      do {
        let packet = try ByteBuffer(plainHexEncodedBytes: String(line))
        count.value.delivered += 1
        count.value.deliveredBytes += UInt64(packet.readableBytes)
        sink.receive(Datagram(bytes: packet, arrival: now))
      } catch { return end(.failed(error)) }
    }
    if case .open(let sink) = state.value.phase { sink.readCompleted(at: now) }
    eventLoop.execute { self.deliver() }
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
    (try? await eventLoop.submit { [count] in count.value }.get()) ?? TransportCounters()
  }
}
