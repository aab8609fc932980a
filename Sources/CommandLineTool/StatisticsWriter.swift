import BlockingIO
import Glibc
import Outputs
import Receiver

/// Writes one JSON object a line to a file, a pipe, standard output or an inherited descriptor.
///
/// The lines are written on a separate thread, so a stalled disk or reader delays nothing else.
/// After a line that cannot be written, no more are written: half a line would spoil the next one.
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
    isFile = log.isFile
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
          queue.close()
        }
      }
    } catch {
      throw CannotWrite(
        description: "--stats \(target): \(WriteFailure.cannotOpen(errno: error.code).reason)")
    }
  }

  deinit { queue.close() }

  /// Writes `line`, unless one before it could not be written.
  ///
  /// An existing file is replaced by the first line with `hasReceived`; those before it are left
  /// out there, because a run that receives nothing must not destroy the statistics of another.
  func write(_ line: JSONLine, hasReceived: Bool) {
    let text = line.text + "\n"
    let item = Line(text: text, hasReceived: hasReceived)
    if queue.offer(item, bytes: text.utf8.count) == .full {
      Self.fail(.readerTooSlow, state)
      queue.close()
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

  /// Why the statistics ended early; returned only once.
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
      return "--stats \(name) cannot be written: \(failure.reason); the run goes on without it"
    }
  }

  /// The exit status if the statistics ended early.
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
  private var file: FileWriter
  private var hasBegun = false
  private var failure: WriteFailure?
  private(set) var isLeftAsItWas = false

  var isFile: Bool { file.isFile }

  init(_ target: String, limit: Int, readerPatience: Int) throws(CannotWrite) {
    self.limit = limit
    path = (try? SymbolicLink.target(of: target)) ?? target
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
        file = try FileWriter(
          opening: target, permissions: Self.permissions, isAppending: true,
          until: WriteDeadline(in: .seconds(readerPatience)))
      } catch .noReader {
        throw CannotWrite(
          description: "--stats \(target): nobody has opened the pipe to read it within "
            + "\(readerPatience) s")
      } catch {
        throw CannotWrite(description: "--stats \(target): \(error.reason(opening: target))")
      }
    }
  }

  /// Writes a line, in a new file if the old one is full; the first line replaces an existing file
  /// only if `replacing` is true.
  ///
  /// - Returns: why not, from the first failure on.
  func write(_ line: String, replacing: Bool, within patience: Duration) -> WriteFailure? {
    if !hasBegun, file.isFile, !file.isEmpty {
      isLeftAsItWas = !replacing
      guard replacing else { return failure }
      file.empty()
    }
    // Others may have cut the file, as logrotate does.
    if hasBegun, failure == nil, file.isFile, let length = file.length,
      length + line.utf8.count > limit
    {
      rotate()
    }
    failure = failure ?? file.write(line, until: WriteDeadline(in: patience))
    hasBegun = true
    return failure
  }

  private func rotate() {
    // Somebody may have removed it, or put another in its place, as logrotate does.
    guard unsafe !file.isNamed(path) || rename(path, path + ".1") == 0 || errno == ENOENT else {
      failure = .failed(errno: errno)
      return
    }
    // Somebody may have made a link to it in its place, and it is still locked.
    _ = file.finish()
    do {
      file = try FileWriter(
        opening: path, permissions: Self.permissions, isAppending: true,
        until: WriteDeadline(in: .zero))
    } catch {
      failure = error
    }
  }
}
