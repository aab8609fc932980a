import NIOCore
import RTPWire

/// Recordings, whose clock is the arrival times of their packets and nothing else: what comes out
/// is the same on every machine, however fast or slow it is read.
extension Reception {
  /// What a recording has brought, and has to wait until what came before is worked off.
  ///
  /// The carrier is held meanwhile, so that no more waits than one read brings.
  struct Recording: Sendable {
    var datagrams = CircularBuffer<Datagram>()
    /// Whether its clock has begun to run.
    var hasBegun = false

    var isEmpty: Bool { datagrams.isEmpty }

    mutating func append(_ datagram: Datagram) { datagrams.append(datagram) }
  }

  /// Goes on to what comes next, which is what is due, the end of the run, or a packet; false when
  /// nothing is left.
  mutating func advanceRecording() -> Bool {
    guard let datagram = recording.datagrams.first else { return false }
    if !recording.hasBegun {
      recording.hasBegun = true
      now = datagram.arrival
      clock.start(at: now)
    }
    // What is due before the packet comes before it.
    let due = video.deadline.flatMap { now < $0 && $0 <= datagram.arrival ? $0 : nil }
    let next = due ?? datagram.arrival
    if let ending, ending.at <= next {
      now = ending.at
      // What comes behind the end is nobody's.
      actions.append(.holdReading(true))
      recording.datagrams.removeAll()
      end(ending.end)
      return true
    }
    now = next
    for index in others.indices { others[index].drain(at: now) }
    guard due == nil else { return true }
    recording.datagrams.removeFirst()
    take(datagram)
    noteLife(at: datagram.arrival)
    if case .unrecognized(let payloadTypes) = video.phase {
      end(.connection(.unrecognizedMedia(payloadTypes: payloadTypes)))
    }
    return true
  }

  /// Ends the connection when its carrier has, and nothing of it waits any more.
  mutating func endIfCarrierEnded() {
    guard phase == .running, let carrierEnd, recording.isEmpty, waiting.isEmpty, gate.isOpen else {
      return
    }
    let types = video.unrecognizedPayloadTypes
    if carrier.time == .recorded, case .recognizing = video.phase, !types.isEmpty {
      // A recording that has ended will not bring what tells its codec.
      return end(.connection(.unrecognizedMedia(payloadTypes: types)))
    }
    switch carrierEnd {
    case .ended: end(.connection(.ended))
    case .failed(let error): end(.connection(.transportFailed(error)))
    case .closed: break
    }
  }
}
