import Bitstream
import BlockingIO
import Decode
import Defragment
public import RTPWire
import Synchronization

/// The counters of an output; `offered` is the sum of the others and of the items that still wait.
public struct OutputCounters: Counted, Hashable {
  /// Items handed over: frames or access units.
  public var offered: UInt64 = 0
  /// Items written whole.
  public var written: UInt64 = 0
  /// Items dropped because the queue was full.
  public var dropped: UInt64 = 0
  /// Items that become nothing, as intended: access units before the first random-access point,
  /// where no elementary stream may begin, and frames between pictures.
  public var skipped: UInt64 = 0
  /// Items that came after the end of the output, or that its reader did not take in time.
  public var discarded: UInt64 = 0
  /// Bytes of whole records.
  public var bytes: UInt64 = 0

  public init() {}

  public static let counters: [Counter<OutputCounters>] = [
    Counter(
      "offered", .units, \.offered, .incoming,
      metric: Metric(
        "output_items_offered", "Frames, access units or other items that an output was given.")),
    Counter(
      "written", .units, \.written, .outcome,
      metric: Metric("output_items_written", "Items that the output wrote whole.")),
    Counter(
      "dropped", .units, \.dropped, .outcome,
      metric: Metric("output_items_dropped", "Items dropped because the output was too slow.")),
    Counter(
      "skipped", .units, \.skipped, .outcome,
      metric: Metric("output_items_skipped", "Items that become nothing, as intended.")),
    Counter(
      "discarded", .units, \.discarded, .outcome,
      metric: Metric("output_items_discarded", "Items that came after the end of the output.")),
    Counter(
      "bytes", .bytes, \.bytes, metric: Metric("output_bytes", "Bytes that the output wrote.")),
  ]
}

/// How an output ended.
public struct OutputSummary: Sendable {
  public let counters: OutputCounters
  /// The written files; none for a descriptor.
  public let files: WrittenFiles
  /// What ended it early, if anything did.
  public let error: (any OutputFault)?
  /// Remarks for those who read the files.
  public let notes: [OutputNote]
}

/// The counters and the deadline of an output, shared by its thread and its producers.
final class OutputAccount: Sendable {
  private struct State {
    var counters = OutputCounters()
    var files = WrittenFiles()
    var error: (any OutputFault)?
    var notes: [OutputNote] = []
    var figures: [OutputFigure] = []
    var events = OutputEvents()
    /// When the write began that is going on.
    var busySince: Instant?
    var awaitsReader = false
    var isFile = false
    var isAbandoned = false
    /// True after coded items were dropped, until the next one at which decoding can begin.
    var awaitsEntry = false
  }

  /// When to give up on the reader; none while the output is not finishing.
  let deadline = WriteDeadline()
  private let state = Mutex(State())

  var counters: OutputCounters { state.withLock { $0.counters } }

  /// What only this kind of output counts.
  var figures: [OutputFigure] { state.withLock { $0.figures } }

  /// What happened to the files.
  var events: OutputEvents { state.withLock { $0.events } }

  /// When the write began that is going on; `nil` while nothing is written.
  var busySince: Instant? { state.withLock { $0.busySince } }

  /// What ended the output, if an error did.
  var fault: (any OutputFault)? { state.withLock { $0.error } }

  /// Whether a disk takes what is written.
  var isFile: Bool { state.withLock { $0.isFile } }

  func note(isFile: Bool) { state.withLock { $0.isFile = isFile } }

  /// Whether it was to end at once, whatever waits.
  var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

  func abandon() { state.withLock { $0.isAbandoned = true } }

  func noteBusy(since time: Instant?) { state.withLock { $0.busySince = time } }

  /// Whether a named pipe has had no reader for some time.
  var awaitsReader: Bool { state.withLock { $0.awaitsReader } }

  func noteWait(forReader awaitsReader: Bool) {
    state.withLock { $0.awaitsReader = awaitsReader }
  }

  var summary: OutputSummary {
    state.withLock {
      OutputSummary(
        counters: $0.counters, files: $0.files, error: $0.error, notes: $0.notes)
    }
  }

  /// Counts an item handed over, and the items evicted for it.
  func count(_ outcome: SubmitOutcome, evicted: Int = 0) {
    state.withLock { state in
      state.counters.offered += 1
      state.counters.dropped += UInt64(evicted)
      switch outcome {
      case .queued: break
      case .full: state.counters.dropped += 1
      case .closed: state.counters.discarded += 1
      }
    }
  }

  /// Whether an item can be decoded after the written ones, given what was dropped; `isEntry` says
  /// that decoding can begin at it.
  func admits(isEntry: Bool) -> Bool {
    state.withLock { state in
      if isEntry { state.awaitsEntry = false }
      return !state.awaitsEntry
    }
  }

  func awaitEntry() { state.withLock { $0.awaitsEntry = true } }

  func report(_ progress: OutputProgress) {
    state.withLock { state in
      state.counters.written = UInt64(clamping: progress.written)
      state.counters.bytes = UInt64(clamping: progress.bytes)
      state.counters.skipped = UInt64(clamping: progress.skipped)
      state.files = progress.files
      state.notes = progress.notes
      state.figures = progress.figures
      state.events = progress.events
    }
  }

  func discard(_ count: Int) { state.withLock { $0.counters.discarded += UInt64(max(0, count)) } }

  /// Records what ended the output; the first reason is kept.
  func end(with error: any OutputFault) { state.withLock { $0.error = $0.error ?? error } }
}
