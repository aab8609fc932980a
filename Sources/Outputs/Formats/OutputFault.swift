/// An error of an output that says what follows from it.
///
/// Whatever an ``Output`` throws ends that output; the other outputs and the receiving go on.
public protocol OutputFault: Error, CustomStringConvertible {
  /// Its name in the statistics, in lower case with underscores, which does not change.
  var name: String { get }

  /// What became of the output, for exit statuses.
  var outcome: OutputOutcome { get }

  /// What happened and what to try, in one line; `output` is what a person calls the output.
  func words(about output: String) -> String
}

extension OutputFault {
  public var outcome: OutputOutcome { .cannotWrite }

  public var description: String { words(about: "the output") }
}

/// What an error means for an output, in terms of exit statuses.
public enum OutputOutcome: Sendable, Hashable, CaseIterable {
  /// The output could not be opened or written.
  case cannotWrite
  /// The reader of the pipe went away.
  case readerGone
  /// The pictures changed, which the output cannot express.
  case formatChanged
  /// No picture came that it was to hold.
  case nothingIntact
}
