import NIOCore
import RTPWire

/// Recordings. The arrival times of the packets are the only clock, so the output is the same on
/// every machine, however fast the recording is read.
extension Reception {
  /// What has been read from a recording and waits for what came before it.
  ///
  /// The carrier is held meanwhile, so no more waits than one read brings, unless the carrier goes
  /// on in spite of that.
  struct Recording: Sendable {
    /// Several times what a read brings: one of a capture in a pipe brings 32,768 datagrams at
    /// most.
    static let maximumDatagrams = 1 << 17
    static let maximumBytes = 64 << 20

    private var datagrams = CircularBuffer<Datagram>()
    private var bytes = 0
    /// Whether its clock has started.
    var hasBegun = false

    var isEmpty: Bool { datagrams.isEmpty }

    var first: Datagram? { datagrams.first }

    /// Adds `datagram`; `false` when the limit is exceeded.
    mutating func append(_ datagram: Datagram) -> Bool {
      datagrams.append(datagram)
      bytes += datagram.bytes.readableBytes
      return datagrams.count <= Self.maximumDatagrams && bytes <= Self.maximumBytes
    }

    mutating func removeFirst() {
      bytes -= datagrams.popFirst()?.bytes.readableBytes ?? 0
    }

    mutating func removeAll() {
      datagrams.removeAll()
      bytes = 0
    }
  }

  /// Takes in what was read; with too much waiting, the consumer is waited for no longer.
  mutating func append(recorded datagram: Datagram) {
    if !recording.append(datagram), gate.giveUp() { goOn() }
  }

  /// Moves on to what comes next: something due, the end of the run, or a packet; `false` when
  /// nothing is left.
  mutating func advanceRecording() -> Bool {
    guard let datagram = recording.first else { return false }
    if !recording.hasBegun {
      recording.hasBegun = true
      now = datagram.arrival
      clock.start(at: now)
    }
    // Whatever is due before the packet comes out before it.
    let due = video.deadline.flatMap { now < $0 && $0 <= datagram.arrival ? $0 : nil }
    let next = due ?? datagram.arrival
    if let ending, ending.at <= next {
      now = ending.at
      end(ending.end)
      return true
    }
    now = next
    for index in others.indices { others[index].drain(at: now) }
    takeSound()
    guard due == nil else { return true }
    recording.removeFirst()
    take(datagram)
    takeSound()
    noteLife(at: datagram.arrival, arrival: datagram.arrival)
    endIfUnrecognized()
    return true
  }

  /// Ends the connection once its carrier has ended and nothing waits any more.
  mutating func endIfCarrierEnded() {
    guard phase == .running, let carrierEnd, recording.isEmpty, waiting.isEmpty,
      recordedSound.isEmpty, gate.isOpen
    else { return }
    let types = video.unrecognizedPayloadTypes
    if !carrier.comesAgain, case .recognizing = video.phase, !types.isEmpty,
      soundDelivered == 0
    {
      // The codec cannot be learned any more.
      return end(.connection(.unrecognizedMedia(payloadTypes: types)))
    }
    switch carrierEnd {
    case .ended: end(.connection(.ended))
    case .failed(let error): end(.connection(.transportFailed(error)))
    case .closed: break
    }
  }
}
