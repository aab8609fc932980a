import Foundation
import Glibc
import RTPWire
import Synchronization
import Testing

@testable import BlockingIO

/// Files, pipes and their readers, as those who write meet them.
struct FileWriterTests {
  private let folder = NSTemporaryDirectory() + "files-\(UUID().uuidString)"

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    // A closed pipe is an error of the write, as in every program that writes to pipes.
    signal(SIGPIPE, SIG_IGN)
  }

  private func path(_ name: String) -> String { "\(folder)/\(name)" }

  private func namedPipe() throws -> String {
    try #require(mkfifo(path("pipe"), 0o600) == 0)
    return path("pipe")
  }

  /// Descriptors of a pipe, to read from and to write to.
  private func pipe() throws -> (readEnd: Int32, writeEnd: Int32) {
    var ends: [Int32] = [-1, -1]
    try #require(Glibc.pipe(&ends) == 0)
    return (ends[0], ends[1])
  }

  /// Runs `body` on a thread of its own, and `meanwhile` when that is asleep.
  private func blocking<Result: Sendable>(
    _ body: @escaping @Sendable () -> Result, meanwhile: @Sendable () -> Void
  ) async throws -> Result {
    let monitor = Monitor<(thread: String?, result: Result?)>((nil, nil))
    _ = try WorkerThread {
      let thread = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
      monitor.update { $0.thread = thread ?? "" }
      let result = body()
      monitor.update { $0.result = result }
    }
    let limit = Instant.now.advanced(by: .seconds(10))
    let thread = try #require(monitor.wait(until: limit) { $0.thread })
    while try state(of: thread) != "S" {
      try #require(Instant.now < limit)
      await Task.yield()
    }
    meanwhile()
    return try #require(monitor.wait(until: limit) { $0.result })
  }

  /// What the kernel says a thread does: `S` when it sleeps.
  private func state(of thread: String) throws -> Character? {
    let line = try String(contentsOfFile: "/proc/\(thread)/stat", encoding: .utf8)
    return line.split(separator: ")").last?.trimmingPrefix(" ").first
  }

  /// Rotated away before anything came, and another program's file has the name now.
  @Test(arguments: [true, false])
  func anEmptyFileIsRemovedOnlyUnderItsOwnName(isRotated: Bool) throws {
    let writer = try FileWriter(opening: path("x"), until: WriteDeadline())
    if isRotated {
      try #require(rename(path("x"), path("y")) == 0)
      try Data("B".utf8).write(to: URL(fileURLWithPath: path("x")))
    }
    #expect(writer.finish() == nil)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(names.sorted() == (isRotated ? ["x", "y"] : []))
  }

  @Test func aNamedPipeIsOpenedWhenItsReaderComes() async throws {
    let path = try namedPipe()
    let failure: WriteFailure? = try await blocking {
      do throws(WriteFailure) {
        let file = try FileWriter(opening: path, until: WriteDeadline(in: .seconds(10)))
        return file.write("hello", until: WriteDeadline(in: .seconds(10)))
      } catch {
        return error
      }
    } meanwhile: {
      // `cat` and all others open it so, and wait for the writer.
      Thread.detachNewThread {
        let reader = open(path, O_RDONLY)
        var bytes = [UInt8](repeating: 0, count: 16)
        while read(reader, &bytes, 16) > 0 {}
        close(reader)
      }
    }
    #expect(failure == nil)
  }

  @Test func aNamedPipeThatNobodyReadsIsGivenUpWhenTimeIsUp() throws {
    let path = try namedPipe()
    let start = ContinuousClock.now
    for limit in [Duration.zero, .milliseconds(150)] {
      #expect(throws: WriteFailure.noReader) {
        try FileWriter(opening: path, until: WriteDeadline(in: limit))
      }
    }
    #expect((.milliseconds(150)..<(.seconds(5))).contains(ContinuousClock.now - start))
    // Nothing of the attempt is left: a reader finds no writer.
    let reader = open(path, O_RDONLY | O_NONBLOCK)
    var byte: UInt8 = 0
    if read(reader, &byte, 1) < 0 {
      // The thread that waited is just about to let go.
      var request = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
      #expect(poll(&request, 1, 5000) == 1)
    }
    #expect(read(reader, &byte, 1) == 0)
    close(reader)
  }

  @Test func theWaitForAReaderEndsWhenTheTimeIsNamedMeanwhile() async throws {
    let path = try namedPipe()
    let deadline = WriteDeadline()
    let failure: WriteFailure? = try await blocking {
      do throws(WriteFailure) {
        _ = try FileWriter(opening: path, until: deadline)
        return nil
      } catch {
        return error
      }
    } meanwhile: {
      deadline.set(Instant.now)
    }
    #expect(failure == .noReader)
  }

  @Test func aReaderThatStallsIsGivenUpWhenTheTimeIsNamedMeanwhile() async throws {
    let (readEnd, writeEnd) = try pipe()
    defer { for end in [readEnd, writeEnd] { close(end) } }
    let deadline = WriteDeadline()
    let failure: WriteFailure? = try await blocking {
      do throws(WriteFailure) {
        let file = try FileWriter(takingOver: writeEnd)
        return file.write(String(repeating: "x", count: 8 << 20), until: deadline)
      } catch {
        return error
      }
    } meanwhile: {
      // A later time does not move an earlier one.
      deadline.set(Instant.now.advanced(by: .milliseconds(50)))
      deadline.set(Instant.now.advanced(by: .seconds(60)))
    }
    #expect(failure == .readerTooSlow)
  }

  @Test func whatIsBorrowedKeepsItsMode() throws {
    let (readEnd, writeEnd) = try pipe()
    defer { close(writeEnd) }
    let flags = fcntl(writeEnd, F_GETFL)
    let file = FileWriter(borrowing: writeEnd)
    #expect(file.write("line\n", until: WriteDeadline(in: .seconds(5))) == nil)
    let long = String(repeating: "x", count: 1 << 20)
    #expect(file.write(long, until: WriteDeadline(in: .milliseconds(50))) == .readerTooSlow)
    #expect(fcntl(writeEnd, F_GETFL) == flags)
    close(readEnd)
    #expect(file.write("line\n", until: WriteDeadline(in: .seconds(5))) == .readerGone)
  }

  /// On a busy machine the time may be over before the first look.
  @Test func whatHasRoomIsWrittenHoweverLateItIs() throws {
    let (readEnd, writeEnd) = try pipe()
    defer {
      close(readEnd)
      close(writeEnd)
    }
    let file = FileWriter(borrowing: writeEnd)
    #expect(file.write("line\n", until: WriteDeadline(in: .zero)) == nil)
    let long = String(repeating: "x", count: 1 << 20)
    #expect(file.write(long, until: WriteDeadline(in: .zero)) == .readerTooSlow)
  }

  @Test func aFullDeviceIsNamed() throws {
    let file = try FileWriter(opening: "/dev/full", until: WriteDeadline(in: .zero))
    #expect(file.write("x", until: WriteDeadline(in: .zero)) == .failed(errno: ENOSPC))
  }

  @Test func aFileIsChangedByItsFirstWriteAndNotBefore() throws {
    let old = path("old")
    try Data(repeating: 7, count: 1000).write(to: URL(fileURLWithPath: old))
    for name in [old, path("new")] {
      _ = try FileWriter(opening: name, until: WriteDeadline(in: .zero))
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: old)).count == 1000)
    #expect(!FileManager.default.fileExists(atPath: path("new")))
    let file = try FileWriter(opening: old, until: WriteDeadline(in: .zero))
    file.empty()
    #expect(file.write("twelve bytes", until: WriteDeadline(in: .zero)) == nil)
    file.removeLast(6)
    #expect(try String(contentsOfFile: old, encoding: .utf8) == "twelve")
  }

  /// By its name and by another one.
  @Test(arguments: ["x", "y"])
  func aFileThatIsBeingWrittenIsRefusedAndLeftAlone(name: String) throws {
    let deadline = WriteDeadline(in: .zero)
    let first = try FileWriter(opening: path("x"), until: deadline)
    #expect(first.write("first", until: deadline) == nil)
    try #require(link(path("x"), path("y")) == 0)
    let failure = #expect(throws: WriteFailure.self) {
      try FileWriter(opening: path(name), until: deadline)
    }
    #expect(failure == .inUse)
    #expect(
      failure?.reason(opening: path(name))
        == "it is being written by another program; choose another name")
    #expect(try String(contentsOfFile: path("x"), encoding: .utf8) == "first")
    #expect(first.finish() == nil)
    let second = try FileWriter(opening: path(name), until: deadline)
    second.empty()
    #expect(second.write("second", until: deadline) == nil)
    #expect(try String(contentsOfFile: path("x"), encoding: .utf8) == "second")
  }

  @Test func onlyTheNewFilesThatOthersMayBeGivenAreLocked() throws {
    let deadline = WriteDeadline(in: .zero)
    for isLocked in [true, false] {
      let name = path("\(isLocked)")
      let first = try FileWriter(creating: name, isLocked: isLocked)
      let second = try? FileWriter(opening: name, until: deadline)
      #expect((second == nil) == isLocked)
      #expect(first.write("first", until: deadline) == nil)
    }
  }

  @Test func pipesAndDevicesHaveAnyNumberOfWriters() throws {
    let pipe = try namedPipe()
    let reader = open(pipe, O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    for name in [pipe, "/dev/null", "/dev/full"] {
      let writers = try (0..<2).map { _ in
        try FileWriter(opening: name, until: WriteDeadline(in: .seconds(5)))
      }
      #expect(writers.allSatisfy { $0.finish() == nil })
    }
  }

  /// Its first writer has received nothing, and ends when the second one has the file open, too.
  @Test func aFileThatItsWriterRemovesIsMadeAnew() throws {
    let name = path("x")
    let first = try FileWriter(opening: name, until: WriteDeadline(in: .zero))
    let limit = Instant.now.advanced(by: .seconds(20))
    let monitor = Monitor<(isDone: Bool, failure: WriteFailure?)>((false, nil))
    _ = try WorkerThread {
      var failure: WriteFailure? = .inUse
      // On a busy machine the first one may keep it for longer than a lock is waited for.
      while failure == .inUse, Instant.now < limit {
        do throws(WriteFailure) {
          let second = try FileWriter(opening: name, until: WriteDeadline(in: .zero))
          failure = second.write("second", until: WriteDeadline(in: .zero))
        } catch {
          failure = error
        }
      }
      monitor.update { $0 = (true, failure) }
    }
    while descriptors(of: name) < 2 { try #require(Instant.now < limit) }
    #expect(first.finish() == nil)
    let isDone = monitor.wait(until: limit) { $0.isDone ? true : nil }
    let failure = monitor.quietly { $0.failure }
    #expect(isDone == true && failure == nil)
    #expect(try String(contentsOfFile: name, encoding: .utf8) == "second")
  }

  /// How many descriptors of this process are of the file `name`.
  private func descriptors(of name: String) -> Int {
    let folder = "/proc/self/fd"
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return numbers.count { number in
      var (file, other) = (stat(), stat())
      return stat(name, &file) == 0 && stat("\(folder)/\(number)", &other) == 0
        && file.st_dev == other.st_dev && file.st_ino == other.st_ino
    }
  }

  @Test(arguments: [
    ("/nonexistent/file", ENOENT, "there is no folder /nonexistent"),
    ("/", EISDIR, "it is a folder; name a file in it"),
  ])
  func whatCannotBeOpenedSaysWhy(path: String, number: Int32, reason: String) {
    let failure = #expect(throws: WriteFailure.self) {
      try FileWriter(opening: path, until: WriteDeadline(in: .zero))
    }
    #expect(failure == .cannotOpen(errno: number))
    #expect(failure?.reason(opening: path) == reason)
  }

  @Test func aFileThatIsFinishedIsThereUnlessItIsEmpty() throws {
    for text in ["", "text"] {
      let file = try FileWriter(creating: path("file"))
      #expect(file.write(text, until: WriteDeadline(in: .seconds(1))) == nil)
      #expect(file.finish() == nil && file.finish() == nil)
      #expect(FileManager.default.fileExists(atPath: path("file")) == !text.isEmpty)
    }
  }
}
