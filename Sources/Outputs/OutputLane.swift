import Bitstream
public import Decode
public import Defragment
import NIOCore
import RTPWire

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

  /// How long a write may last beyond the deadline before it counts as one that never ends.
  static let stallPatience = Duration.milliseconds(500)

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
    thread = try WorkerThread { worker.run(onError: onError) }
  }

  deinit { end(within: Self.longestFinish) }

  /// What has been counted so far; callable from any thread.
  public var counters: OutputCounters { account.counters }

  /// Whether more than half of what may wait does, so that who brings more should hold back.
  public var isCrowded: Bool { queue.isCrowded }

  /// Calls `body` once, from any thread, when there is room again; at once where there is.
  public func whenRoom(_ body: @escaping @Sendable () -> Void) { queue.whenRoom(body) }

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
    let (outcome, evicted) = queue.offer(item, bytes: item.byteCount) { waiting in
      waiting.removeFirst()
      while let next = waiting.first, !next.element.isRandomAccess { waiting.removeFirst() }
      return !waiting.isEmpty || unit.isRandomAccess
    }
    if outcome == .full { account.awaitRandomAccess() }
    account.count(outcome, evicted: evicted)
    return outcome == .full ? .queued : outcome
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
  ///   not taken by then is counted as discarded. `nil` waits for as long as it reads, as `cat` does,
  ///   until another call sets a time.
  /// - Returns: what was written, and what ended the output early.
  public func finish(within time: Duration? = OutputLane.longestFinish) async -> OutputSummary {
    end(within: time)
    let patience = time.map { time in
      Task { [thread, account] in
        try await Task.sleep(for: time + Self.stallPatience)
        // A write to a disk that has gone away returns when it likes.
        account.end(with: .readerTooSlow)
        thread.release()
      }
    }
    await thread.join()
    patience?.cancel()
    return account.summary
  }

  private func end(within time: Duration?) {
    if let time {
      account.setDeadline(Instant.now.advanced(by: min(max(time, .zero), Self.longestFinish)))
    }
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
