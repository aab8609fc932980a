internal import NIOCore

/// A receiver of one track's datagrams, on its event loop.
protocol TrackReceiver: AnyObject {
  var counters: TransportCounters { get }
  /// Hears each diagnostic when it arises, and those of the opening at once.
  var onDiagnostic: ((TransportDiagnostic) -> Void)? { get set }
  func start() -> EventLoopFuture<Void>
  func sendFeedback(_ bytes: ByteBuffer)
  /// From now on lets media gather in the kernel, as far as it has room.
  func gather(for time: Duration)
  /// Stops silently; returns the sink if it has not been notified.
  func stop() -> (any DatagramSink)?
}
