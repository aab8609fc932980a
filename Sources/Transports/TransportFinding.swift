/// What a transport finds out on a connection beside what it counts: for the next connection of the
/// run (``TransportKind/learn``), for hints (``TransportHint``), or for whoever shows the run.
///
/// A transport declares its findings in its own folder; ``TransportCounters`` has one value for
/// each type.
public protocol TransportFinding: Sendable {
  /// What is known before anything has been found out.
  init()

  /// What is known after this connection and those before it, which have found `earlier`.
  func joined(after earlier: Self) -> Self
}
