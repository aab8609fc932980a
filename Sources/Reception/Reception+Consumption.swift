import Defragment
import NIOCore
import RTPWire

/// What is handed on, as the consumer has room for it.
extension Reception {
  /// Queues the complete access units and the sound as actions.
  mutating func pull(at now: Instant) {
    while video.isReady(at: now), let unit = nextPicture(at: now) { wait(with: .picture(unit)) }
    for index in others.indices { others[index].drain(at: now) }
    takeSound()
    endIfUnrecognized()
  }

  /// Queues what a live stream hands on.
  mutating func wait(with unit: WaitingUnits.Unit) {
    if !waiting.append(unit), gate.giveUp() { goOn() }
  }

  mutating func nextUnit() -> WaitingUnits.Unit? {
    guard gate.isOpen else { return nil }
    guard carrier.packetsWait else { return waiting.popFirst() }
    return nextPicture(at: now).map { .picture($0) }
      ?? recordedSound.popFirst().map { .sound($0) }
  }

  mutating func nextPicture(at now: Instant) -> AccessUnit? {
    guard let unit = video.next(at: now) else { return nil }
    if unit.beginsOtherSource { alignment.restartPictures() }
    alignment.notePicture(unit.time, arrival: unit.firstArrival)
    return unit
  }

  /// Lets the far end continue once what it sent has been consumed.
  mutating func settleGate() {
    guard waiting.isEmpty, recordedSound.isEmpty, recording.isEmpty, gate.settle() else { return }
    goOn()
  }

  /// Lets the far end continue; what follows the end of a recording's session is not read.
  mutating func goOn() {
    guard !carrier.packetsWait || phase == .running else { return }
    actions.append(.holdReading(false))
    excuseSilence()
  }

  /// Counts the silence while the far end is held from now on: this side causes it.
  mutating func excuseSilence() {
    guard carrier.timePasses, lastMedia != nil else { return }
    (lastMedia, lastArrival) = (now, now)
    clock.noteMedia(at: now)
  }
}
