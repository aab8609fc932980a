/// How a recording is divided into files, and how long they are kept.
public struct RecordingPlan: Sendable {
  /// How long a file is at least; it ends before the first key picture after that.
  public var segment: Duration?
  /// The same for the first file of a run; `nil` for ``segment``.
  ///
  /// Recordings that begin together would otherwise all begin their files together.
  public var firstSegment: Duration?
  /// The names of the files; `nil` for one file, and others numbered behind it where need be.
  public var name: NamePattern?
  /// What is deleted, after each file and at the start.
  public var retention: [RetentionRule] = []

  public init() {}
}
