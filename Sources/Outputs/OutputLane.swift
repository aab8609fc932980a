import Bitstream
public import Decode
public import Defragment
import NIOCore
import RTPWire
import Synchronization

/// One output on a thread of its own, behind a bounded queue: however slow or broken its far end is,
/// neither the other outputs nor the receiving notice.
///
/// An output that fails ends and says so once; what is given to it afterwards is counted and dropped.
public final class OutputLane: Sendable {
  /// Frames wait in their full size: a second of 720p for a reader that is slow to start, and four
  /// seconds of pictures so small that the bytes do not count.
  public static let defaultFrameLimits = QueueLimits(count: 120, bytes: 32 << 20)
  /// Several seconds of access units, enough for a disk that stalls.
  public static let defaultUnitLimits = QueueLimits(count: 512, bytes: 32 << 20)
  /// The longest that finishing may take, whatever is asked for.
  public static let longestFinish = Duration.seconds(2)

  /// What happens when the queue is full.
  public enum Policy: Sendable, Hashable {
    /// The oldest frames are dropped, or the access units up to the next random-access point. Right
    /// for a live stream, which does not wait.
    case dropOldest
    /// Whoever brings the next one waits. Right for a recording that is read from a file.
    case block
  }

  /// How an output is set up.
  public struct Configuration: Sendable {
    public var target: OutputTarget
    public var format: OutputFormat
    public var policy = Policy.dropOldest
    /// Scale later pictures to the first one's size and sample layout, instead of beginning a new
    /// file or ending the pipe.
    public var scaleToFirst = false
    public var hints = OutputFormat.Hints()
    public var queueLimits: QueueLimits

    public init(target: OutputTarget, format: OutputFormat) {
      self.target = target
      self.format = format
      queueLimits =
        format.input == .frames
        ? OutputLane.defaultFrameLimits : OutputLane.defaultUnitLimits
    }
  }

  private let configuration: Configuration
  private let queue: BoundedQueue<OutputItem>
  private let account = OutputAccount()
  private let worker: OutputWorker
  private let shortcut = Mutex(OutputShortcut())
  private let thread: WorkerThread

  /// Starts the output's thread, which opens the target.
  ///
  /// - Parameters:
  ///   - configuration: what to write, and where.
  ///   - onError: called at most once, on the output's thread, when the output ends early.
  /// - Throws: ``ThreadError``.
  public init(
    _ configuration: Configuration, onError: @escaping @Sendable (OutputError) -> Void = { _ in }
  ) throws(ThreadError) {
    self.configuration = configuration
    queue = BoundedQueue(limits: configuration.queueLimits)
    let worker = OutputWorker(configuration: configuration, queue: queue, account: account)
    self.worker = worker
    thread = try WorkerThread { worker.run(onError: onError) }
  }

  deinit { end(within: Self.longestFinish) }

  /// What has been counted so far; callable from any thread.
  public var counters: OutputCounters { account.counters }

  /// Whether more than half of what may wait does, so that who brings more should hold back.
  public var isCrowded: Bool { queue.isCrowded }

  /// Hands over a frame; one for a format made from access units is ignored.
  ///
  /// With ``Policy/block`` this blocks the calling thread while the queue is full.
  public func write(_ frame: RawFrame) {
    guard configuration.format.input == .frames else { return }
    let item = OutputItem.frame(frame)
    switch configuration.policy {
    case .block:
      account.count(queue.put(item, bytes: item.byteCount))
    case .dropOldest:
      let (outcome, evicted) = queue.offer(item, bytes: item.byteCount) { waiting in
        waiting.removeFirst()
        return true
      }
      account.count(outcome, evicted: evicted)
    }
  }

  /// Hands over an access unit without waiting; one for a format made from frames is ignored.
  ///
  /// - Returns: `.queued` also for a unit that ``Policy/dropOldest`` dropped and counted; `.full` only
  ///   with ``Policy/block``: the unit was not taken, and may be brought again by ``send(_:)``.
  @discardableResult
  public func write(_ unit: AccessUnit) -> SubmitOutcome {
    guard configuration.format.input == .units else { return .queued }
    let item = OutputItem.unit(unit)
    guard configuration.policy == .dropOldest else {
      let outcome = queue.offer(item, bytes: item.byteCount)
      if outcome != .full { account.count(outcome) }
      return outcome
    }
    guard account.admits(unit) else {
      account.count(.full)
      return .queued
    }
    if writeAtOnce(item, of: unit) { return .queued }
    let (outcome, evicted) = queue.offer(item, bytes: item.byteCount) { waiting in
      waiting.removeFirst()
      while let next = waiting.first, !next.element.isRandomAccess { waiting.removeFirst() }
      return !waiting.isEmpty || unit.isRandomAccess
    }
    if outcome == .full { account.awaitRandomAccess() }
    account.count(outcome, evicted: evicted)
    return outcome == .full ? .queued : outcome
  }

  private func writeAtOnce(_ item: OutputItem, of unit: AccessUnit) -> Bool {
    guard shortcut.withLock({ $0.isOpen(for: unit) }) else { return false }
    let start = Instant.now
    switch worker.writeAtOnce(item) {
    case .busy: return false
    case .refused:
      shortcut.withLock { $0.closeForever() }
      return false
    case .written:
      let end = Instant.now
      shortcut.withLock { $0.note(writeFrom: start, to: end) }
      account.count(.queued)
      return true
    }
  }

  /// Hands over an access unit, suspending while the queue is full under ``Policy/block``.
  ///
  /// - Throws: ``ClosedError`` when the output has ended, or `CancellationError`.
  public func send(_ unit: AccessUnit) async throws {
    guard configuration.format.input == .units else { return }
    guard configuration.policy == .block else {
      if write(unit) == .closed { throw ClosedError() }
      return
    }
    let item = OutputItem.unit(unit)
    do {
      try await queue.send(item, bytes: item.byteCount)
      account.count(.queued)
    } catch let error as ClosedError {
      account.count(.closed)
      throw error
    }
  }

  /// Writes what waits, ends on a whole record and closes the target.
  ///
  /// - Parameter time: how long a slow reader is waited for, at most ``longestFinish``; what it has
  ///   not taken by then is counted as discarded.
  /// - Returns: what was written, and what ended the output early.
  public func finish(within time: Duration = OutputLane.longestFinish) async -> OutputSummary {
    end(within: time)
    await thread.join()
    return account.summary
  }

  private func end(within time: Duration) {
    account.setDeadline(Instant.now.advanced(by: min(max(time, .zero), Self.longestFinish)))
    queue.close()
  }
}

extension OutputItem {
  fileprivate var isRandomAccess: Bool {
    switch self {
    case .frame: true
    case .unit(let unit): unit.isRandomAccess
    }
  }
}
