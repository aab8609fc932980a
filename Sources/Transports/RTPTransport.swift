public import NIOCore
public import RTPWire

/// The carrier of a stream: open it, take datagrams from it, send feedback back, close it.
///
/// The contract, the same for every transport:
/// - all calls into the sink are on ``eventLoop``, and none precedes ``open(delivering:)``;
/// - datagrams come as the far end framed them, byte for byte, in the order in which they were
///   carried, with arrival times that never decrease;
/// - ``DatagramSink/transportEnded(_:)`` is called exactly once for a transport that was opened,
///   and is the last call;
/// - ``close()`` may be called in any state, from any thread, any number of times, even inside a
///   call into the sink; once it returns on ``eventLoop``, only the end can still come, and a
///   pending ``open(delivering:)`` returns;
/// - the sink may hold its transport, so a transport lets go of it at the end, and when
///   ``open(delivering:)`` throws;
/// - bytes that were handed over do not change, however long the sink keeps them.
///
/// `checkConformance(of:)` of `TransportConformance` checks all of it.
public protocol RTPTransport: Sendable {
  /// The loop on which the sink is called.
  var eventLoop: any EventLoop { get }

  /// The source of its arrival times.
  var clock: ArrivalClock { get }

  /// Whether the far end begins when it likes, so that initial silence is no fault.
  var isPassive: Bool { get }

  /// The pause after which the transport ends by itself; `nil` if it never does.
  ///
  /// A transport cannot tell the stream's packets from garbage, so its owner watches too.
  var longestSilence: Duration? { get }

  /// Whether another transport for the same source can go on after the end of this one: `false` for
  /// a recording or an open pipe, which end once.
  ///
  /// By default, everything but a recording can. A transport that wraps another passes its answer
  /// on.
  var comesAgain: Bool { get }

  /// Whether RTCP is expected back: `true` if the signalling agreed on RTP, `false` if datagrams
  /// would go to whoever happens to send.
  var takesReports: Bool { get }

  /// Whether ``gather(for:)`` has any effect; by default it has none.
  var canGather: Bool { get }

  /// Starts delivering to `sink`.
  ///
  /// A transport opens once. Cancelling the task has no effect; ``close()`` ends an opening.
  ///
  /// - Throws: why the transport cannot be opened; the sink is then never called.
  func open(delivering sink: any DatagramSink) async throws

  /// Sends a compound RTCP packet about a track to the far end of its media, if that is known.
  ///
  /// `track` is that of `Datagram.track`; for an unknown one, nothing is sent.
  func sendFeedback(_ bytes: ByteBuffer, track: Int)

  /// Holds the far end while `isHeld`, if the carrier can; otherwise does nothing.
  ///
  /// A little more may still be delivered. Called on ``eventLoop``.
  func holdReading(_ isHeld: Bool)

  /// From now on lets what comes gather for up to `time` before it is delivered, as far as none is
  /// lost by that; zero delivers it at once again.
  ///
  /// By default, a transport delivers what comes at once, and ``canGather`` says so. Called on
  /// ``eventLoop``.
  func gather(for time: Duration)

  /// The transport's own counters by name; callable from any thread, in any state, and unchanged
  /// after the end.
  func counters() async -> TransportCounters

  /// Ends the transport; the sink gets `TransportEnd.closed` unless it has already ended.
  func close()
}

extension RTPTransport {
  public var comesAgain: Bool { clock.isLive }

  public var canGather: Bool { false }

  public func gather(for time: Duration) {}
}

/// The consumer of a transport's datagrams, called on the transport's event loop.
public protocol DatagramSink: AnyObject, Sendable {
  /// Takes the far end's description of the media, which comes before any datagram or not at all.
  func describe(_ media: [MediaDescription])

  func receive(_ datagram: Datagram)

  /// Whether the sink can tell genuine datagrams from others, so that a transport need not judge
  /// senders by appearance. A sink that wraps another passes its answer on.
  var authenticates: Bool { get }

  /// Like ``receive(_:)``, but returns whether the datagram was genuine; a sink that cannot tell
  /// returns `true`.
  func admit(_ datagram: Datagram) -> Bool

  /// Notes the end of a read: a good time to pass on what it completed.
  func readCompleted(at now: Instant)

  /// The last call: the carrier ended, failed, or was closed by this side.
  func transportEnded(_ end: TransportEnd)
}
