import NIOCore

/// Tells a session that its source has something again.
struct SourceReady: Sendable {
  /// What a source calls, on any thread, for the session in `channel`.
  static func event(for channel: any Channel) -> @Sendable () -> Void {
    { channel.pipeline.fireUserInboundEventTriggered(SourceReady()) }
  }
}
