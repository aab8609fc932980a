public import NIOCore
public import RTPWire

/// What a stream is carried by: open it, take datagrams from it, send feedback back, close it.
///
/// The contract, the same for every transport:
/// - all calls into the sink come on ``eventLoop``, none before ``open(delivering:)`` is called;
/// - datagrams come as the far end framed them, byte for byte, in the order in which they were
///   carried, with arrival times that never decrease;
/// - ``DatagramSink/transportEnded(_:)`` comes exactly once of a transport that was opened, and
///   nothing comes after it;
/// - ``close()`` may be called in any state, from any thread, any number of times, also inside of a
///   call into the sink; when it returns on ``eventLoop``, nothing but the end comes any more, and
///   an ``open(delivering:)`` that is under way comes to its end;
/// - bytes that were handed over do not change, however long the sink keeps them.
///
/// `checkConformance(of:)` of `TransportConformance` checks all of it.
public protocol RTPTransport: Sendable {
  /// The loop on which the sink is called.
  var eventLoop: any EventLoop { get }

  /// What the arrival times of its datagrams are taken from.
  var clock: ArrivalClock { get }

  /// Whether the far end begins when it likes, so that its silence at the start is no fault.
  var isPassive: Bool { get }

  /// How long the stream may pause before the transport ends by itself; `nil` where it never does.
  ///
  /// A transport does not know one packet of the stream from rubbish, so whoever knows watches too.
  var longestSilence: Duration? { get }

  /// Whether RTCP is expected back: true where the signalling agreed on RTP with the far end, false
  /// where datagrams go to whoever happens to send.
  var takesReports: Bool { get }

  /// Begins to deliver to `sink`.
  ///
  /// A transport opens once. That the task is cancelled changes nothing: ``close()`` ends an
  /// opening.
  ///
  /// - Throws: what kept the transport from opening; the sink is then never called.
  func open(delivering sink: any DatagramSink) async throws

  /// Sends an RTCP compound about a track to the far end of its media, if that is known by now.
  ///
  /// `track` is that of ``Datagram/track``; about one that there is not, nothing is sent.
  func sendFeedback(_ bytes: ByteBuffer, track: Int)

  /// Has the far end wait while `isHeld`, where the carrier can make it; elsewhere nothing happens.
  ///
  /// A little more may still be delivered. Called on ``eventLoop``.
  func holdReading(_ isHeld: Bool)

  /// What the transport itself has counted so far, by name; callable from any thread, in any state,
  /// and the same after the end as at it.
  func counters() async -> TransportCounters

  /// Ends the transport; the sink hears ``TransportEnd/closed`` unless it has heard an end before.
  func close()
}

/// What arrival times are taken from, which is what all waiting for packets goes by.
public enum ArrivalClock: Sendable, Hashable {
  /// The machine's monotonic clock, at the time of the read: packets that do not come are late.
  case monotonic
  /// A recording, in nanoseconds since 1970 where that is known: what comes next is behind the last
  /// packet whenever that is delivered, and nothing is missed by waiting.
  case recorded
}

/// Who takes what a transport delivers, on the transport's event loop.
public protocol DatagramSink: AnyObject, Sendable {
  /// What the far end says about the media; comes before any datagram, or not at all.
  func describe(_ media: [MediaDescription])

  func receive(_ datagram: Datagram)

  /// Whether the sink can tell genuine datagrams from others, so that a transport need not judge by
  /// their looks whom it listens to. Whoever wraps a sink passes its answer on.
  var authenticates: Bool { get }

  /// Takes a datagram as ``receive(_:)`` does, and says whether it was genuine; a sink that cannot
  /// tell answers true.
  func admit(_ datagram: Datagram) -> Bool

  /// A read has been delivered whole; a good time to pass on what became complete in it.
  func readCompleted(at now: Instant)

  /// The last call: the carrier has ended, has failed, or was closed from this side.
  func transportEnded(_ end: TransportEnd)
}

/// How a transport came to its end.
public enum TransportEnd: Sendable {
  /// The far end finished in order: end of file, TEARDOWN answered, last chunk.
  case ended
  /// The carrier failed; a person can read the reason.
  case failed(any Error)
  /// ``RTPTransport/close()`` was called.
  case closed
}
