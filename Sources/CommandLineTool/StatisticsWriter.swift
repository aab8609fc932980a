import BlockingIO
import Glibc
import Outputs
import Receiver

/// Writes one JSON object a line to a file, a pipe, standard output or an inherited descriptor.
///
/// The lines are written on a separate thread, so a stalled disk or reader delays nothing else.
/// A file on a full disk ends with a whole line, and goes on when there is room again. After a line
/// that a pipe does not take, no more are written: half a line would spoil the next one.
/// A file that reaches the limit is renamed to `NAME.1`, replacing an older one, and a new file
/// begins.
final class StatisticsWriter: Sendable {
  /// What a reader has for one line; well below the time that a run may take to end.
  private static let patience = Duration.milliseconds(500)
  /// What a reader has for the lines that wait at the end, and a disk at least.
  private static let longestFinish = Duration.seconds(1)
  /// How long a named pipe may have no reader at the start, in seconds.
  private static let readerPatience = 5
  /// Lines that may wait for a reader: those of four seconds.
  private static let limits = QueueLimits(count: 4, bytes: 4 << 20)
  /// Lines that may wait for a disk: those of longer than it may take at the end.
  private static let limitsOfDisks = QueueLimits(count: 15, bytes: 4 << 20)

  private struct Line {
    let text: String
    let hasReceived: Bool
  }

  private struct State {
    var failure: WriteFailure?
    var hasToldFailure = false
    var isLeftAsItWas = false
  }

  private let name: String
  private let isFile: Bool
  private let queue: BoundedQueue<Line>
  private let state: Monitor<State>
  private let thread: WorkerThread

  /// Opens `target`: a path, `-`, or `fd:N`; a file holds at most `limit` bytes.
  ///
  /// A named pipe is opened once somebody reads it, within five seconds.
  ///
  /// - Throws: ``CannotWrite``.
  init(_ target: String, limit: Int) throws(CannotWrite) {
    name = target
    let log = try StatisticsLog(target, limit: limit, readerPatience: Self.readerPatience)
    let isFile = log.isFile
    self.isFile = isFile
    let limits = isFile ? Self.limitsOfDisks : Self.limits
    let (queue, state) = (BoundedQueue<Line>(limits: limits), Monitor(State()))
    (self.queue, self.state) = (queue, state)
    do {
      thread = try WorkerThread {
        while let line = queue.take() {
          let failure = log.write(
            line.text, replacing: line.hasReceived, within: Self.patience)
          state.quietly { $0.isLeftAsItWas = log.isLeftAsItWas }
          guard let failure else { continue }
          Self.fail(failure, state)
          guard !isFile else { continue }
          queue.close()
          // What waits would come behind half a line.
          return
        }
      }
    } catch {
      throw CannotWrite(
        description: "--stats \(target): \(WriteFailure.cannotOpen(errno: error.code).reason)")
    }
  }

  deinit { queue.close() }

  /// Writes `line`, unless a reader did not take one before it.
  ///
  /// An existing file is replaced by the first line with `hasReceived`; those before it are left
  /// out there, because a run that receives nothing must not destroy the statistics of another.
  func write(_ line: JSONLine, hasReceived: Bool) {
    let text = line.text + "\n"
    let item = Line(text: text, hasReceived: hasReceived)
    if queue.offer(item, bytes: text.utf8.count) == .full {
      Self.fail(.readerTooSlow, state)
      if !isFile { queue.close() }
    }
  }

  /// Writes what waits, to a reader within a second and to a disk until `deadline`; accepts nothing
  /// more.
  func finish(until deadline: ContinuousClock.Instant) async {
    queue.close()
    // A write to a vanished disk may never return.
    let rest = isFile ? ContinuousClock.now.duration(to: deadline) : .zero
    if await thread.join(within: max(Self.longestFinish, rest)) == .released {
      Self.fail(.readerTooSlow, state)
    }
  }

  /// Whether nothing was written, because the file has the statistics of another run.
  var isLeftAsItWas: Bool { state.quietly(\.isLeftAsItWas) }

  /// Why the statistics ended early, or lack lines; returned only once.
  func takeComplaint() -> String? {
    let failure = state.quietly { state -> WriteFailure? in
      guard !state.hasToldFailure, let failure = state.failure else { return nil }
      state.hasToldFailure = true
      return failure
    }
    guard let failure else { return nil }
    switch failure {
    case .readerGone: return "the reader of --stats \(name) has gone away"
    case .readerTooSlow:
      return isFile
        ? "the disk of --stats \(name) is too slow" : "the reader of --stats \(name) does not read"
    case .cannotOpen, .inUse, .noReader, .failed:
      return "--stats \(name) cannot be written: \(failure.reason); "
        + (isFile ? "lines are left out until it can be" : "the run goes on without it")
    }
  }

  /// The exit status if the statistics ended early, or lack lines.
  var status: ExitStatus? {
    state.quietly(\.failure).map { $0 == .readerGone ? .readerGone : .outputFailed }
  }

  private static func fail(_ failure: WriteFailure, _ state: Monitor<State>) {
    state.quietly { $0.failure = $0.failure ?? failure }
  }
}

/// The file or pipe of the statistics, used by their thread.
private final class StatisticsLog {
  private static let permissions: mode_t = 0o644

  /// Where the file is, which links may lead to.
  private let path: String
  private let limit: Int
  /// `nil` while the file that follows a full one cannot be opened.
  private var file: FileWriter?
  private var hasBegun = false
  private(set) var isLeftAsItWas = false
  let isFile: Bool

  init(_ target: String, limit: Int, readerPatience: Int) throws(CannotWrite) {
    self.limit = limit
    path = (try? SymbolicLink.target(of: target)) ?? target
    let file: FileWriter
    if target == "-" {
      file = FileWriter(borrowing: STDOUT_FILENO)
    } else if target.hasPrefix("fd:") {
      guard let number = Int32(target.dropFirst(3)), fcntl(number, F_GETFD) >= 0,
        !StandardDescriptors.closed.contains(number)
      else {
        throw CannotWrite(description: "--stats \(target): no such descriptor is open")
      }
      file = FileWriter(borrowing: number)
    } else {
      do throws(WriteFailure) {
        file = try Self.open(target, until: WriteDeadline(in: .seconds(readerPatience)))
      } catch .noReader {
        throw CannotWrite(
          description: "--stats \(target): nobody has opened the pipe to read it within "
            + "\(readerPatience) s")
      } catch {
        throw CannotWrite(description: "--stats \(target): \(error.reason(opening: target))")
      }
    }
    self.file = file
    isFile = file.isFile
  }

  private static func open(
    _ path: String, until deadline: WriteDeadline
  ) throws(WriteFailure) -> FileWriter {
    try FileWriter(
      opening: path, permissions: permissions, isAppending: true, until: deadline)
  }

  /// Writes a line, in a new file if the old one is full; the first line replaces an existing file
  /// only if `replacing` is true.
  ///
  /// - Returns: why not; a file then ends with the line before, and may take the next one.
  func write(_ line: String, replacing: Bool, within patience: Duration) -> WriteFailure? {
    if !hasBegun, let file, file.isFile, !file.isEmpty {
      isLeftAsItWas = !replacing
      guard replacing else { return nil }
      file.empty()
    }
    do throws(WriteFailure) {
      // Others may have cut the file, as logrotate does.
      if hasBegun, let file, file.isFile, let length = file.length,
        length + line.utf8.count > limit
      {
        try endFullFile(file)
      }
      hasBegun = true
      try append(line, to: currentFile(), until: WriteDeadline(in: patience))
      return nil
    } catch { return error }
  }

  private func append(
    _ line: String, to file: FileWriter, until deadline: WriteDeadline
  ) throws(WriteFailure) {
    let (written, failure) = unsafe Array(line.utf8).withUnsafeBytes {
      unsafe file.write($0, until: deadline)
    }
    guard let failure else { return }
    if written > 0 { file.removeLast(written) }
    throw failure
  }

  /// The file that takes the next line, opened anew behind a full one.
  private func currentFile() throws(WriteFailure) -> FileWriter {
    if let file { return file }
    let next = try Self.open(path, until: WriteDeadline(in: .zero))
    file = next
    return next
  }

  /// Gives a full file the name behind which it is kept.
  private func endFullFile(_ full: FileWriter) throws(WriteFailure) {
    // Somebody may have removed it, or put another in its place, as logrotate does.
    guard unsafe !full.isNamed(path) || rename(path, path + ".1") == 0 || errno == ENOENT else {
      throw .failed(errno: errno)
    }
    // Somebody may have made a link to it in its place, and it is still locked.
    _ = full.finish()
    file = nil
  }
}
