public import RTPWire

/// Where the items of one output go: files and pipes, or something that the output makes itself.
///
/// All calls come from the output's thread, in this order: ``begin(reporting:)``,
/// ``open(whenReaderIsLate:)``, any number of ``write(_:)``, ``finish()`` unless something failed,
/// ``close()``.
public protocol OutputDestination: AnyObject {
  /// What has been done so far.
  var progress: OutputProgress { get }

  /// What is missing although writing goes on, if anything is; by default, nothing.
  var failure: OutputError? { get }

  /// Whether a disk takes what is written: items that come fast are then gathered, and at the end a
  /// disk has longer than a reader.
  ///
  /// It is asked before ``open(whenReaderIsLate:)``, too, which a disk may hold up.
  var isFile: Bool { get }

  /// Whether nothing more is wanted; the output then ends as if no more items came.
  var isComplete: Bool { get }

  /// How long such items gather where they come faster than this: waking up for each would cost
  /// more than writing it.
  var gatheringTime: Duration { get }

  /// The most items that it is given at once, unless they are frames.
  var largestBatch: Int { get }

  /// Says where to report a change of ``progress`` that comes while nothing is being written; on
  /// the output's thread.
  ///
  /// By default, nothing is reported.
  func begin(reporting report: @escaping (OutputProgress) -> Void)

  /// Makes ready to write.
  ///
  /// - Parameter noteDelay: to be called when a reader without whom nothing can be written has not
  ///   come for some time.
  /// - Throws: an ``OutputFault``; any other error becomes ``OutputError/failed(reason:)``.
  func open(whenReaderIsLate noteDelay: () -> Void) throws

  /// Writes `items`: frames one at a time, others up to ``largestBatch``.
  ///
  /// - Throws: why this and later items cannot be written, as above.
  func write(_ items: [OutputItem]) throws

  /// Writes what is left, when no more items will come.
  func finish() throws

  /// Ends the output, whatever has happened.
  func close()
}

extension OutputDestination {
  public func begin(reporting report: @escaping (OutputProgress) -> Void) {}

  public var failure: OutputError? { nil }

  public var isFile: Bool { false }

  public var isComplete: Bool { false }

  public var gatheringTime: Duration { .milliseconds(10) }

  /// As many access units as are written well with one system call.
  public var largestBatch: Int { 64 }
}

/// What an output has done so far.
public struct OutputProgress: Sendable {
  /// Items written whole.
  public var written = 0
  /// Items that produce no output, as intended.
  public var skipped = 0
  /// Bytes of the items written.
  public var bytes = 0
  /// The written files.
  public var files = WrittenFiles()
  /// Remarks for those who read the files.
  public var notes: [OutputNote] = []
  /// What happened to the files.
  public var events = OutputEvents()
  /// What the output counts beyond the above.
  public var figures: [OutputFigure] = []

  public init() {}
}

/// A figure that only one kind of output has.
public struct OutputFigure: Sendable, Hashable {
  /// In lower case with underscores, as programs read it.
  public let name: String
  public let value: UInt64
  /// What it is called in metrics, if it is one.
  public let metric: Metric?
  /// Whether it only grows.
  public let isTotal: Bool

  public init(_ name: String, _ value: UInt64, metric: Metric? = nil, isTotal: Bool = false) {
    self.name = name
    self.value = value
    self.metric = metric
    self.isTotal = isTotal
  }
}
