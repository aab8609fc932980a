extension LiveStream {
  /// Follows files that are still being written, on a thread of its own, until ``stop()``.
  ///
  /// `onEvent` is called on that thread.
  ///
  /// - Throws: ``SendError`` when the parameter sets cannot be read, the directory is not there, or
  ///   the system grants no watch or thread; what is wrong with the files ends the stream.
  public static func following(
    _ configuration: FollowConfiguration, for readership: Readership,
    onEvent: @escaping @Sendable (FollowEvent) -> Void = { _ in }
  ) throws(SendError) -> LiveStream {
    let stream = LiveStream(
      name: configuration.path, for: readership, isLive: true, wanted: [.video])
    try FileFollower.start(configuration, into: stream, onEvent: onEvent)
    return stream
  }
}
