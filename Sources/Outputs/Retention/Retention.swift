import BlockingIO
import Glibc
import RTPWire
import Synchronization

/// Deletes old files of a recording, or old pictures, on a thread of its own: a folder may have
/// many files, and a disk may stall.
///
/// It looks when it is told to, and from time to time: files get old while nothing is recorded.
final class Retention: Sendable {
  /// What was deleted so far.
  struct Totals: Sendable, Hashable {
    var files = 0
    var bytes: Int64 = 0
    /// `errno` of a file that could not be deleted.
    var failure: Int32?
    /// Whether the rules have no room for the newest file, which stayed.
    var lacksRoom = false
  }

  private struct Request {
    var isWanted = false
    var isClosed = false
    /// Whether the thread has ended.
    var isDone = false
  }

  /// From one look to the next where nobody asks for one.
  private static let pause = Duration.seconds(600)
  /// In seconds since 1970: a date in the year 2255.
  private static let greatestDate: Int64 = 9_000_000_000
  /// How long an end waits for the last look.
  private static let patience = Duration.seconds(1)

  private let request = Monitor(Request())
  /// The path of the file that is being written, if any.
  private let open = Mutex<String?>(nil)
  private let result = Mutex(Totals())
  /// How long the last look took.
  private let lookTime = Mutex(Duration.zero)
  /// What was said of that.
  private let said = Mutex(Totals())
  /// What is free where a folder is.
  private let room: @Sendable (_ folder: String) -> FileSystemRoom

  /// Begins to look after the files of `name`, at least after each `pause`.
  ///
  /// - Throws: ``ThreadError``.
  init(
    of name: NamePattern, keeping rules: [RetentionRule], pause: Duration = pause,
    room: @escaping @Sendable (_ folder: String) -> FileSystemRoom = FileSystemRoom.at
  ) throws(ThreadError) {
    self.room = room
    _ = try WorkerThread { [request, weak self] in
      while Self.waits(for: request, atMost: pause) {
        let start = Instant.now
        self?.delete(name, rules)
        self?.lookTime.withLock { $0 = start.duration(to: .now) }
      }
      request.update { $0.isDone = true }
    }
  }

  deinit { request.update { $0.isClosed = true } }

  /// Begins to look after the files of `name`, and looks at once; `nil` where all of them stay.
  static func begin(
    of name: NamePattern, keeping rules: [RetentionRule]
  ) throws(OutputError) -> Retention? {
    guard !rules.isEmpty else { return nil }
    do throws(ThreadError) {
      let retention = try Retention(of: name, keeping: rules)
      retention.look()
      return retention
    } catch {
      throw .failed(reason: "no thread to delete old files: \(OutputError.reason(error.code))")
    }
  }

  var totals: Totals { result.withLock(\.self) }

  /// What has happened since the last call.
  func takeEvents() -> [OutputEvent] {
    let totals = totals
    return said.withLock { said in
      defer { said = totals }
      var events: [OutputEvent] = []
      if totals.files > said.files {
        events.append(
          .filesDeleted(count: totals.files - said.files, bytes: totals.bytes - said.bytes))
      }
      if totals.lacksRoom, !said.lacksRoom { events.append(.noRoomForFiles) }
      if let error = totals.failure, said.failure == nil {
        events.append(.filesNotDeleted(errno: error))
      }
      return events
    }
  }

  /// Notes which file is written from now on, before it is made.
  func note(open path: String?) { open.withLock { $0 = path } }

  /// How long to wait before the next look, so that looking takes a twentieth of the time at most.
  var rest: Duration { lookTime.withLock { $0 * 20 } }

  /// Has the thread look for files to delete; one look is as good as several.
  func look() { request.update { $0.isWanted = true } }

  /// Ends the thread after a last look, for which it waits, until `deadline` at the latest, unless
  /// the disk stalls.
  func finish(until deadline: Instant? = nil) {
    request.update { ($0.isWanted, $0.isClosed) = (true, true) }
    let end = Instant.now.advanced(by: Self.patience)
    request.wait(until: min(end, deadline ?? end)) { $0.isDone ? () : nil }
  }

  /// Blocks the thread until it is to look; `false` when there is nothing more to look after.
  private static func waits(for request: Monitor<Request>, atMost pause: Duration) -> Bool {
    let isWanted = request.wait(until: .now.advanced(by: pause)) { request -> Bool? in
      defer { request.isWanted = false }
      return request.isWanted || request.isClosed ? request.isWanted : nil
    }
    return isWanted != false
  }

  private func delete(_ name: NamePattern, _ rules: [RetentionRule]) {
    let folder = name.folder.isEmpty ? "." : name.folder
    // A file that is begun after this is not among them.
    let names = name.present
    let open = open.withLock(\.self)
    let files = names.compactMap {
      Self.file(at: name.folder + $0, except: open)
    }
    guard !files.isEmpty else { return }
    var surplus = SurplusFiles(of: files, by: rules, at: WallClock.system.time(of: .now))
    let room = room(folder)
    while room.takeTurn(
      in: folder, { free in surplus.next(free: free).map { deleted($0, of: name) } })
    {}
    if surplus.lacksRoom { result.withLock { $0.lacksRoom = true } }
  }

  /// Deletes `file`, which is one of `name`; how many bytes that was.
  private func deleted(_ file: StoredFile, of name: NamePattern) -> Int64 {
    let isDeleted = unsafe unlink(file.path) == 0
    let failure = errno
    if isDeleted { name.removeEmptyFolders(of: file.path) }
    result.withLock { totals in
      if isDeleted {
        totals.files += 1
        totals.bytes += file.bytes
      } else if failure != ENOENT {
        totals.failure = failure
      }
    }
    return isDeleted ? file.bytes : 0
  }

  private static func file(at path: String, except open: String?) -> StoredFile? {
    var status = stat()
    guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    // File systems hold dates that nanoseconds do not.
    let seconds = min(max(Int64(status.st_mtim.tv_sec), -greatestDate), greatestDate)
    let end = WallClockTime(
      nanoseconds: seconds * 1_000_000_000 + Int64(status.st_mtim.tv_nsec))
    return StoredFile(
      path: path, end: end, bytes: Int64(status.st_blocks) * 512,
      isOpen: open.map { $0.utf8.elementsEqual(path.utf8) } == true)
  }
}
