import NIOCore

/// How long the last bytes may take to leave, when nothing follows them.
enum Farewell {
  /// For what sockets and queues hold, some megabytes, a client that reads slowly takes long.
  private static let ofSource = TimeAmount.seconds(60)
  /// Whoever stops a program waits for it to end.
  private static let ofStop = TimeAmount.seconds(2)

  static func longest(after ending: SendReport.Ending) -> TimeAmount {
    ending == .sourceEnded ? ofSource : ofStop
  }
}
