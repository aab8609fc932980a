import Bitstream
public import BlockingIO
public import Decode
public import Defragment
import NIOCore
import RTPWire
import Synchronization

/// One output on a thread of its own, behind a bounded queue: a slow or broken target affects
/// neither the other outputs nor the receiving.
///
/// An output that fails ends and reports that once; items given to it afterwards are counted and
/// dropped.
public final class OutputLane: Sendable {
  /// Frames wait uncompressed: room for a second of 720p while a reader starts, and for four
  /// seconds of small pictures, which the count limits.
  public static let defaultFrameLimits = QueueLimits(count: 120, bytes: 32 << 20)
  /// Frames that wait for their time: half a second of 2160p, and four of 720p.
  public static let pacedFrameLimits = QueueLimits(count: 120, bytes: 192 << 20)
  /// Several seconds of access units, enough while a disk stalls.
  ///
  /// Above what is crowded, the far end is held: enough that threads seldom wake for each other,
  /// and little enough for a processor's cache, from which the writing thread takes it.
  public static let defaultUnitLimits = QueueLimits(
    count: 512, bytes: 32 << 20, crowdedBytes: 1 << 20)
  /// The longest that a reader may take with a time limit.
  public static let longestFinish = Duration.seconds(2)
  /// The longest that a disk may take with a time limit.
  public static let longestStoring = FileWriter.longestStoring

  /// How far a write may exceed the deadline before it counts as one that never returns.
  static let stallPatience = Duration.milliseconds(500)

  /// How long a write to a file may take before it counts as stalled.
  static let longestWrite = Duration.seconds(2)

  /// What happens when the queue is full.
  public enum Policy: Sendable, Hashable {
    /// The oldest frames are dropped, or the coded items up to the next at which decoding can
    /// begin.
    ///
    /// This suits a live stream, which does not wait.
    case dropOldest
    /// The producer of the next item waits. This suits a recording.
    case block
  }

  /// How an output is set up.
  public struct Configuration: Sendable {
    public var target: OutputTarget
    public var format: OutputFormat
    public var policy = Policy.dropOldest
    /// What the frames are converted to.
    public var shape = FrameShape()
    /// Which frames become pictures, in the formats of pictures.
    public var pictures = PictureSelection()
    /// Scale later pictures to the first one's size and sample layout, instead of beginning a new
    /// file or ending the pipe.
    public var scaleToFirst = false
    public var queueLimits: QueueLimits
    /// How a recording is divided into files; without effect on other formats.
    public var recording = RecordingPlan()
    /// Turns arrivals into UTC.
    public var wallClock = WallClock.system
    /// By whose clock the items leave; `nil` lets them leave as they come, as do formats that
    /// cannot be paced.
    public var playout: Playout? {
      didSet {
        guard playout != nil, format.inputs.contains(.frames) else { return }
        queueLimits = OutputLane.pacedFrameLimits
      }
    }

    /// How long a disk may take at the end of a live stream.
    var storingTime = OutputLane.longestStoring
    /// Where it is among the outputs of its run; `nil` if it is alone.
    package var place: LivingOutputs.Place?

    public init(target: OutputTarget, format: OutputFormat) {
      self.target = target
      self.format = format
      queueLimits =
        format.inputs.contains(.frames)
        ? OutputLane.defaultFrameLimits : OutputLane.defaultUnitLimits
    }
  }

  private let configuration: Configuration
  private let queue: BoundedQueue<QueuedItem>
  private let account = OutputAccount()
  /// Whether coded pictures came.
  private let hasPictures = Atomic(false)
  private let thread: WorkerThread

  /// Starts the output's thread, which opens the target.
  ///
  /// - Parameters:
  ///   - configuration: what to write, and where.
  ///   - onError: called at most once, on the output's thread, when the output ends early.
  ///   - onCompletion: called at most once, on the output's thread, when the output has all it
  ///     wants.
  ///   - onNews: called on the output's thread when ``awaitsReader`` becomes true, and when there
  ///     are new ``events``.
  /// - Throws: `ThreadError` when the thread cannot be started.
  public init(
    _ configuration: Configuration,
    onError: @escaping @Sendable (any OutputFault) -> Void = { _ in },
    onCompletion: @escaping @Sendable () -> Void = {},
    onNews: @escaping @Sendable () -> Void = {}
  ) throws(ThreadError) {
    self.configuration = configuration
    queue = BoundedQueue(limits: configuration.queueLimits)
    let worker = OutputWorker(
      configuration: configuration, queue: queue, account: account, onNews: onNews)
    thread = try WorkerThread { worker.run(onError: onError, onCompletion: onCompletion) }
  }

  deinit { end(within: Self.longestFinish) }

  /// The counters so far; callable from any thread.
  public var counters: OutputCounters { account.counters }

  /// What only this kind of output counts; callable from any thread.
  public var figures: [OutputFigure] { account.figures }

  /// What ended it, if an error did; callable from any thread.
  public var fault: (any OutputFault)? { account.fault }

  /// What happened to the files; callable from any thread.
  public var events: OutputEvents { account.events }

  /// How long a file has not been writable, if that is longer than a disk should take: two seconds;
  /// callable from any thread.
  public var stall: Duration? {
    guard let start = account.busySince else { return nil }
    let time = start.duration(to: .now)
    return time > Self.longestWrite ? time : nil
  }

  /// Whether what it writes is a regular file, once that is open; callable from any thread.
  package var isFile: Bool { account.isFile }

  /// Whether the target is a named pipe that nobody has opened to read for two seconds.
  public var awaitsReader: Bool { account.awaitsReader }

  /// Whether producers should back off: more waits than `QueueLimits.crowdedBytes`, or than half
  /// of the limit's count.
  public var isCrowded: Bool { queue.isCrowded }

  /// Calls `body` once, from any thread, when there is room again; at once if there is room now.
  public func whenRoom(_ body: @escaping @Sendable () -> Void) { queue.whenRoom(body) }

  /// Whether what is handed over waits for ``release()``.
  ///
  /// The output's thread then wakes once for all of it, or earlier if the queue is crowded.
  public var awaitsRelease: Bool {
    get { queue.awaitsRelease }
    set { queue.awaitsRelease = newValue }
  }

  /// Has what was handed over written now.
  public func release() { queue.release() }

  /// Hands over a frame; it is ignored if the format is not made from frames.
  ///
  /// With ``Policy/block`` this blocks the calling thread while the queue is full.
  ///
  /// - Parameters:
  ///   - frame: the frame.
  ///   - ticket: from ``Configuration/playout``; without it, the frame leaves at once.
  public func write(_ frame: RawFrame, at ticket: PlayoutClock.Ticket? = nil) {
    guard configuration.format.inputs.contains(.frames) else { return }
    queueDecoded(.frame(frame), ticket)
  }

  /// Hands over what became of a picture, in the same way; it is ignored if the format is not made
  /// from that.
  public func write(_ report: PictureReport) {
    guard configuration.format.inputs.contains(.reports) else { return }
    queueDecoded(.report(report))
  }

  /// Queues an item that is of use whatever came before it; with ``Policy/block``, waits for room.
  private func queueDecoded(_ item: OutputItem, _ ticket: PlayoutClock.Ticket? = nil) {
    let queued = QueuedItem(item: item, ticket: ticket)
    switch configuration.policy {
    case .block: account.count(queue.put(queued, bytes: item.byteCount))
    case .dropOldest: _ = queueDroppingOldest(queued, isEntry: true)
    }
  }

  /// Tells the output, after the items before, that the connection has ended and another will
  /// follow.
  ///
  /// While the output takes nothing, many failed attempts are one interruption.
  public func interrupt() {
    _ = queue.offerBeyondLimits(QueuedItem(item: .interruption), unlessLast: \.item.isInterruption)
  }

  /// Hands over an access unit without waiting; it is ignored if the format is not made from them.
  ///
  /// - Returns: `.queued` even for a unit that ``Policy/dropOldest`` dropped and counted; `.full`
  ///   only with ``Policy/block``: the unit was not taken, and ``whenRoom(_:)`` says when there is
  ///   room.
  @discardableResult
  public func write(_ unit: AccessUnit) -> SubmitOutcome {
    guard configuration.format.inputs.contains(.units) else { return .queued }
    hasPictures.store(true, ordering: .relaxed)
    return queueCoded(.unit(unit))
  }

  /// Hands over coded sound, in the same way; it is ignored if the format is not made from it.
  ///
  /// - Parameters:
  ///   - unit: the sound.
  ///   - ticket: from ``Configuration/playout``; without it, the sound leaves at once.
  /// - Returns: as for access units.
  @discardableResult
  public func write(_ unit: SoundUnit, at ticket: PlayoutClock.Ticket? = nil) -> SubmitOutcome {
    guard configuration.format.inputs.contains(.sound) else { return .queued }
    return queueCoded(.sound(unit), ticket)
  }

  /// Queues an item that may be of no use without the ones before it; never waits.
  private func queueCoded(
    _ item: OutputItem, _ ticket: PlayoutClock.Ticket? = nil
  ) -> SubmitOutcome {
    let queued = QueuedItem(item: item, ticket: ticket)
    switch configuration.policy {
    case .block:
      let outcome = queue.offer(queued, bytes: item.byteCount)
      if outcome != .full { account.count(outcome) }
      return outcome
    case .dropOldest:
      let isEntry = isEntry(item)
      guard account.admits(isEntry: isEntry) else {
        account.count(.full)
        return .queued
      }
      let outcome = queueDroppingOldest(queued, isEntry: isEntry)
      guard outcome == .full else { return outcome }
      account.awaitEntry()
      return .queued
    }
  }

  /// Queues an item in place of the oldest ones, where there is no room for both, and counts it.
  ///
  /// - Returns: `.full` where nothing is left of what an item that is no entry refers to.
  private func queueDroppingOldest(_ queued: QueuedItem, isEntry: Bool) -> SubmitOutcome {
    var evicted = 0
    let (outcome, _) = queue.offer(queued, bytes: queued.item.byteCount) { waiting in
      evicted += evict(from: &waiting)
      return isEntry || waiting.contains { !$0.element.item.isInterruption }
    }
    account.count(outcome, evicted: evicted)
    return outcome
  }

  /// Whether the output can go on with `item` after others were dropped; beside pictures, sound
  /// waits for one.
  private func isEntry(_ item: OutputItem) -> Bool {
    switch item {
    case .frame, .report, .interruption: true
    case .unit(let unit): unit.isRandomAccess
    case .sound: !hasPictures.load(ordering: .relaxed)
    }
  }

  /// Removes the oldest item and those that are of no use without it; returns how many.
  ///
  /// An interruption stays while there is anything else to remove.
  private func evict(from waiting: inout BoundedQueue<QueuedItem>.Line) -> Int {
    let kept = waiting.prefix { $0.element.item.isInterruption }.count
    waiting.removeFirst(kept)
    guard !waiting.isEmpty else { return 0 }
    defer { for _ in 0..<kept { waiting.prepend((QueuedItem(item: .interruption), 0)) } }
    var count = 0
    repeat {
      waiting.removeFirst()
      count += 1
    } while waiting.first.map { !isEntry($0.element.item) } ?? false
    return count
  }

  /// Writes the waiting items, ends on a whole record and closes the target.
  ///
  /// - Parameter time: how long to wait for a slow reader, at most ``longestFinish``; items that
  ///   it has not taken by then are counted as discarded. A disk has ``longestStoring``, unless
  ///   this is zero; what it has not stored by then is an error. `nil` waits as long as the reader
  ///   needs, as `cat` does, until another call sets a time.
  /// - Returns: what was written, and what ended the output early.
  public func finish(within time: Duration? = OutputLane.longestFinish) async -> OutputSummary {
    let limit = end(within: time)
    // A write to a vanished disk may never return.
    if await thread.join(within: limit.map { $0 + Self.stallPatience }) == .released {
      account.end(with: account.isFile ? OutputError.diskTooSlow : .readerTooSlow)
    }
    return account.summary
  }

  /// Sets the time to give up; returns how long that is from now.
  @discardableResult
  private func end(within time: Duration?) -> Duration? {
    defer { queue.close() }
    guard let time else { return nil }
    if time <= .zero { account.abandon() }
    let limit =
      account.isFile && time > .zero
      ? configuration.storingTime : min(max(time, .zero), Self.longestFinish)
    account.deadline.set(Instant.now.advanced(by: limit))
    return limit
  }
}
