import NIOCore
import RTPProcessor
import RTPWire
import Transports

/// Recordings, whose clock is the arrival times of their packets and nothing else: what comes out is
/// the same on every machine, however fast or slow it is read.
extension StreamDriver {
  /// What a recording has brought and has to wait, because what came before is being worked off.
  struct Backlog {
    fileprivate var datagrams = CircularBuffer<Datagram>()
    /// How the transport ended behind these.
    var end: TransportEnd?
    /// What the time is, once there was a packet.
    fileprivate var latest: Instant?
    fileprivate(set) var isWaiting = false

    var isEmpty: Bool { datagrams.isEmpty }
    var time: Instant { latest ?? Instant(nanoseconds: 0) }
  }

  /// Whether time is what the packets of a recording say.
  var isRecorded: Bool { transport.clock == .recorded }

  func receiveRecorded(_ datagram: Datagram) {
    backlog.datagrams.append(datagram)
    guard !backlog.isWaiting else { return }
    workOff()
    if backlog.isWaiting { transport.holdReading(true) }
  }

  /// Takes packets in until none is left, or until what comes out of them has to be waited for.
  private func workOff() {
    while !isOver {
      guard pullWhileThereIsRoom() else { return waitForRoom() }
      guard let datagram = backlog.datagrams.first else { return endIfOver() }
      if backlog.latest == nil {
        backlog.latest = datagram.arrival
        clock.start(at: datagram.arrival)
      }
      // What is due before the packet comes before it.
      let due = stream.deadline.flatMap {
        backlog.time < $0 && $0 <= datagram.arrival ? $0 : nil
      }
      let next = due ?? datagram.arrival
      if let ending, ending.at <= next {
        backlog.latest = ending.at
        // What comes behind the end is nobody's.
        transport.holdReading(true)
        return finish(with: ending.end)
      }
      backlog.latest = next
      guard due == nil else { continue }
      backlog.datagrams.removeFirst()
      let before = stream.reception.delivered
      stream.receive(datagram)
      let isRoom = pullWhileThereIsRoom()
      if stream.reception.delivered != before { noteLife(datagram) }
      if endIfUnrecognized() { return }
      guard isRoom else { return waitForRoom() }
    }
  }

  /// Passes on the access units that are complete; false when the next one has to wait.
  func pullWhileThereIsRoom() -> Bool {
    while !setup.isCrowded() {
      guard let unit = stream.next(at: backlog.time) else { return true }
      // Nobody can be asked for anything.
      _ = setup.deliver(unit)
    }
    return false
  }

  private func waitForRoom() {
    backlog.isWaiting = true
    eventLoop.scheduleTask(in: TimeAmount(Self.holdStep)) { [self] in
      guard !isOver else { return }
      guard !setup.isCrowded() else { return waitForRoom() }
      backlog.isWaiting = false
      workOff()
      if !backlog.isWaiting, !isOver { transport.holdReading(false) }
    }
  }

  private func endIfOver() {
    guard let end = backlog.end else { return }
    backlog.end = nil
    transportEnded(end)
  }

  /// A recording that has ended will not bring what tells its codec; says whether that was missing.
  func endIfNothingWasRecognized() -> Bool {
    let types = stream.unrecognizedPayloadTypes
    guard case .recognizing = stream.phase, !types.isEmpty else { return false }
    finish(with: .connection(.unrecognizedMedia(payloadTypes: types)))
    return true
  }
}
