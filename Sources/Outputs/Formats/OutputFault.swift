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

  /// What else may help, for which a program has words of its own; `nil` if there is nothing.
  var advice: OutputAdvice? { get }
}

extension OutputFault {
  public var outcome: OutputOutcome { .cannotWrite }

  public var description: String { words(about: "the output") }

  public var advice: OutputAdvice? { nil }
}

/// What may help against an error of an output, if the program at hand has an option for it.
public enum OutputAdvice: Sendable, Hashable {
  /// Keep the size of the first pictures, or write a file instead of a pipe.
  case steadySize
  /// Write samples in a format that holds them all.
  case plainSamples
  /// Wait for an intact picture, or take any.
  case damagedPictures
  /// Make the pictures smaller.
  case smallerPictures
}

/// What an error means for an output, in terms of exit statuses.
public enum OutputOutcome: Sendable, Hashable, CaseIterable {
  /// The output could not be opened or written.
  case cannotWrite
  /// The reader of the pipe went away.
  case readerGone
  /// The pictures, their parameter sets or the sound changed, which the output cannot express.
  case formatChanged
  /// No picture came that it was to hold.
  case nothingIntact
}
