import BlockingIO
import Defragment
import Foundation
import Glibc
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import Outputs

/// The files of a recording on a real disk.
@Suite struct RecordingFilesTests {
  private static func lane(
    _ path: String, segment: Duration? = nil, keeping retention: [RetentionRule] = [],
    among place: LivingOutputs.Place? = nil,
    onNews: @escaping @Sendable () -> Void = {},
    onError: @escaping @Sendable (any OutputFault) -> Void = { _ in }
  ) throws -> OutputLane {
    let format = try #require(catalogue.format(named: "mp4"))
    var configuration = OutputLane.Configuration(target: .path(path), format: format)
    configuration.policy = .block
    configuration.place = place
    configuration.recording.segment = segment
    configuration.recording.retention = retention
    if NamePattern.isPattern(path) || (segment == nil && NamePattern.isInTimedFolder(path)) {
      configuration.recording.name = try NamePattern(path, allowsNumbers: false)
    } else if segment != nil {
      configuration.recording.name = NamePattern(piecesOf: path)
    }
    return try OutputLane(configuration, onError: onError, onNews: onNews)
  }

  /// `count` times two seconds with two key pictures.
  private static func units(_ count: Int) throws -> [[AccessUnit]] {
    let clip = Clip(name: "GOPs", frames: 60, encoder: ["-g", "30", "-sc_threshold", "0"])
    let units = try clip.timedUnits(of: clip.encoded())
    return (0..<count).map { number in units.map { $0.moved(by: .seconds(2 * number)) } }
  }

  private static func write(_ units: [AccessUnit], to lane: OutputLane) {
    for unit in units { #expect(lane.write(unit) != .full) }
  }

  @Test("the end of each file is news, and where it goes on, and nothing else is")
  func news() async throws {
    let folder = try TemporaryFolder()
    let told = Mutex(0)
    let lane = try Self.lane(folder("a.mp4")) { told.withLock { $0 += 1 } }
    for (number, units) in try Self.units(3).enumerated() {
      if number > 0 { lane.interrupt() }
      Self.write(units, to: lane)
    }
    _ = await lane.finish()
    #expect(lane.events.count == 5)
    // Several may be told at once.
    #expect((1...5).contains(told.withLock(\.self)))
  }

  /// A crash of the program costs what has not come; a capture can be played again.
  @Test("what comes now is written with what it comes with", arguments: ["mp4", "mkv", "ts"])
  func liveFragments(container: String) throws {
    let folder = try TemporaryFolder()
    for isLive in [true, false] {
      let format = try #require(catalogue.format(named: container))
      var configuration = OutputLane.Configuration(
        target: .path(folder("\(isLive).\(container)")), format: format)
      configuration.wallClock = isLive ? .system : .arrivals
      let files = format.makeDestination(configuration, WriteDeadline())
      try files.open {}
      var behind: [Int] = []
      let units = try Self.units(4).flatMap { $0 }
      for start in stride(from: 0, to: units.count, by: 15) {
        try files.write(units[start..<start + 15].map { .unit($0) })
        behind.append(start + 15 - files.progress.written)
      }
      // The first ones wait until it is known whether there is sound.
      let most = behind.dropFirst(2).max()
      #expect(most == (isLive || container == "ts" ? 0 : 30), "\(behind)")
      try files.finish()
      files.close()
      #expect(files.progress.written == units.count)
    }
  }

  @Test("what follows an outage takes the next free name, and replaces nothing")
  func continuation() async throws {
    let folder = try TemporaryFolder()
    for name in ["a.0001.mp4", "a.0002.mp4"] {
      try Data("precious".utf8).write(to: folder.url(name))
    }
    let lane = try Self.lane(folder("a.mp4"))
    for (number, units) in try Self.units(3).enumerated() {
      if number > 0 { lane.interrupt() }
      Self.write(units, to: lane)
    }
    let summary = await lane.finish()
    #expect(summary.error == nil)
    #expect(summary.files == [folder("a.mp4"), folder("a.0003.mp4"), folder("a.0004.mp4")])
    for name in ["a.0001.mp4", "a.0002.mp4"] {
      #expect(try folder.contents(name) == Array("precious".utf8))
    }
  }

  @Test("a name that is free again is not taken for a later file")
  func freedName() async throws {
    let folder = try TemporaryFolder()
    let lane = try Self.lane(folder("a-%Y.mp4"))
    for (number, units) in try Self.units(3).enumerated() {
      if number > 0 { lane.interrupt() }
      Self.write(units, to: lane)
      let name = try await eventualValue { folder.names.first }
      if number < 2 { try FileManager.default.removeItem(atPath: folder(name)) }
    }
    let summary = await lane.finish()
    #expect(summary.error == nil)
    let names = summary.files.last
    #expect(Set(names).count == 3, "\(names)")
    #expect(names.sorted() == names)
  }

  @Test(
    "folders of the time are made, and go with their last file",
    arguments: ["%Y/%s/a.mp4", "%Y/a-%s.mp4", "%s/%f.mp4"])
  func timedFolders(_ name: String) async throws {
    let folder = try TemporaryFolder()
    // What lies in such a folder beside the recording keeps it.
    try FileManager.default.createDirectory(
      at: folder.url("1970/0"), withIntermediateDirectories: true)
    try Data().write(to: folder.url("1970/0/notes.txt"))
    let lane = try Self.lane(folder(name), segment: .seconds(1), keeping: [.bytes(1)])
    let units = try Self.units(3)
    for unit in units.joined() { Self.write([unit], to: lane) }
    let summary = await lane.finish()
    #expect(summary.error == nil)
    #expect(summary.files.count == 6)
    // No limit has room for the newest file, which stays.
    let newest = try #require(summary.files.last.last)
    func left() -> [String] {
      (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
    }
    try await eventually {
      left().filter { $0.hasSuffix(".mp4") }.map { folder($0) } == [newest]
        && left().filter { !$0.contains(".") && !newest.hasPrefix(folder($0) + "/") }.sorted()
          == ["1970", "1970/0"]
    }
  }

  @Test("a percent sign in the folder is one", arguments: ["a.mp4", "a-%H.mp4"])
  func percentSign(_ name: String) async throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      at: folder.url("my%20dir"), withIntermediateDirectories: false)
    let lane = try Self.lane(folder("my%20dir/" + name), segment: .seconds(10))
    Self.write(try Self.units(1)[0], to: lane)
    let summary = await lane.finish()
    #expect(summary.error == nil && summary.files.count == 1)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder("my%20dir"))
    #expect(names.count == 1)
  }

  @Test(
    "a folder that comes late gets its files while other outputs go on, and loses none",
    arguments: [("a-%Y.mp4", nil), ("a.mp4", "a.0001.mp4")])
  func lateFolder(name: String, continuation: String?) async throws {
    let folder = try TemporaryFolder()
    let hasEnded = Mutex(false)
    let outputs = LivingOutputs(count: 2) { hasEnded.withLock { $0 = true } }
    let lane = try Self.lane(folder("late/" + name), among: outputs.place(0))
    try await eventually { lane.events.count == 1 }
    guard case .fileFailed(folder("late/" + name), .cannotOpen(_, ENOENT))? = lane.events.last.first
    else { throw TimedOut(description: "\(lane.events.last)") }
    #expect(lane.fault == nil)

    // An earlier run has been here.
    let earlier = "late/a.mp4"
    try FileManager.default.createDirectory(
      at: folder.url("late"), withIntermediateDirectories: false)
    try Data("precious".utf8).write(to: folder.url(earlier))
    Self.write(try Self.units(1)[0], to: lane)
    try await eventually { lane.counters.written > 0 }
    // It has begun, and so the run goes on without the other.
    outputs.place(1).leave()
    #expect(!hasEnded.withLock { $0 })
    let summary = await lane.finish()
    #expect(summary.counters.written == 60)
    #expect(summary.files.count == 1)
    if let continuation { #expect(summary.files == [folder("late/" + continuation)]) }
    #expect(try folder.contents(earlier) == Array("precious".utf8))
    guard case .incomplete(holes: 1, .cannotOpen)? = summary.error as? RecordingError else {
      Issue.record("\(String(describing: summary.error))")
      return
    }
  }

  @Test(
    "a folder that never comes ends the output at once, or the run with the last other output",
    arguments: [1, 2], ["a-%Y.mp4", "a.mp4"])
  func noFolder(count: Int, name: String) async throws {
    let folder = try TemporaryFolder()
    let ends = Mutex(0)
    let outputs = LivingOutputs(count: count) { ends.withLock { $0 += 1 } }
    let place = outputs.place(0)
    let lane = try Self.lane(
      folder("never/" + name), among: place, onError: { _ in place.leave() })
    if count > 1 {
      try await eventually { lane.events.count == 1 }
      for unit in try Self.units(1)[0] { lane.write(unit) }
      #expect(lane.fault == nil)
      outputs.place(1).leave()
    }
    try await eventually { ends.withLock { $0 } == 1 }
    let summary = await lane.finish()
    let path = folder(name == "a.mp4" ? "never/a.mp4" : "never/")
    #expect(summary.error as? OutputError == .cannotOpen(path: path, errno: ENOENT))
    #expect(summary.counters.written == 0 && summary.files.count == 0)
    #expect(lane.events.count == count - 1)
    #expect(ends.withLock { $0 } == 1)
  }

  @Test("where no file can be written, old ones are deleted, so that there is room again")
  func roomForTheNext() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let units = try Self.units(3)
      // No file may be longer than a second and a half; each fails, and none of them ends.
      let second = units[0].prefix(30).reduce(0) { $0 + $1.bytes.readableBytes }
      var limit = rlimit(rlim_cur: rlim_t(second * 3 / 2), rlim_max: rlim_t(second * 3 / 2))
      #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      let lane = try Self.lane(folder("a.mp4"), segment: .seconds(600), keeping: [.bytes(1)])
      for (number, units) in units.enumerated() {
        Self.write(units, to: lane)
        // What comes at once would be lost with one file.
        if number == 0 { try await eventually { lane.events.count > 0 } }
      }
      let summary = await lane.finish()
      #expect(summary.error is RecordingError)
      let made = summary.files.count
      #expect(made >= 2)
      try await eventually { folder.names.count < made }
    }
  }

  /// Writes `items` as they come from a capture, and does not end the last file.
  private static func record(
    _ items: [OutputItem], as container: Container, to path: String
  ) throws {
    let format = try #require(catalogue.format(named: container.name))
    var configuration = OutputLane.Configuration(target: .path(path), format: format)
    configuration.wallClock = .arrivals
    let files = RecordingFiles(container, configuration: configuration, deadline: WriteDeadline())
    try files.open {}
    try files.write(items)
    files.close()
  }

  private static func number(_ bytes: some Collection<UInt8>) -> Int {
    bytes.reduce(0) { $0 << 8 | Int($1) }
  }

  @Test("a file that breaks off on a full disk says how long it has become")
  func lengthsOfBrokenFiles() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let pictures = Array(try Self.units(3).joined())
      // No file may be longer than three fragments of a second and a part of the fourth.
      let size = pictures.prefix(105).reduce(0) { $0 + $1.bytes.readableBytes }
      let sound = RecordedSoundTests.clicks(seconds: size / 16_000 + 2)
      let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
      var limit = rlimit()
      let result = unsafe getrlimit(resource, &limit)
      #expect(result == 0)
      limit.rlim_cur = rlim_t(size)
      #expect(unsafe setrlimit(resource, &limit) == 0)
      signal(SIGXFSZ, SIG_IGN)
      try Self.record(pictures.map { .unit($0) }, as: .mp4, to: folder("a.mp4"))
      try Self.record(sound.map { .sound($0) }, as: .wave, to: folder("a.wav"))
      limit.rlim_cur = limit.rlim_max
      #expect(unsafe setrlimit(resource, &limit) == 0)

      let movie = try folder.contents("a.mp4")
      let header = try #require(MovieHeader(in: ByteBuffer(bytes: movie)))
      let field = movie[header.offset..<header.offset + (header.isLong ? 8 : 4)]
      let duration = Double(Self.number(field)) / Double(header.timescale)
      let shown = try FFmpeg.frameHashes(of: folder("a.mp4")).count
      #expect(shown >= 30 && abs(duration * 30 - Double(shown)) < 3, "\(duration) \(shown)")

      let wave = try folder.contents("a.wav")
      let start = try #require(WaveHeader(in: ByteBuffer(bytes: wave))).length
      #expect(String(decoding: wave[start - 8..<start - 4], as: UTF8.self) == "data")
      #expect((size / 2...size).contains(wave.count))
      #expect(Self.number(wave[4..<8].reversed()) == wave.count - 8)
      #expect(Self.number(wave[start - 4..<start].reversed()) == wave.count - start)
    }
  }

  @Test("a recording whose old files cannot be deleted does not begin")
  func noThread() async {
    await #expect(processExitsWith: .success) {
      let folder = try TemporaryFolder()
      let format = try #require(catalogue.format(named: "mp4"))
      var configuration = OutputLane.Configuration(target: .path(folder("a.mp4")), format: format)
      configuration.recording.name = NamePattern(piecesOf: folder("a.mp4"))
      configuration.recording.retention = [.bytes(1)]
      let files = RecordingFiles(.mp4, configuration: configuration, deadline: WriteDeadline())
      // The process is as large as it may be, so that no thread gets a stack.
      let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
      let size = rlim_t(pages.split(separator: " ")[0]).map { $0 * 4096 + (1 << 20) } ?? 0
      var limit = rlimit(rlim_cur: size, rlim_max: size)
      #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
      var words = ""
      do {
        try files.open {}
      } catch { words = "\(error)" }
      #expect(words.contains("no thread to delete old files"), "\(words)")
    }
  }

  @Test("of many files, the last are listed, and all are counted")
  func manyFiles() {
    var files = WrittenFiles()
    for number in 0..<250 { files.append("\(number)") }
    #expect(files.count == 250)
    #expect(files.last == (150..<250).map { "\($0)" })
    files.removeLast()
    #expect(files.count == 249 && files.last.last == "248")
  }
}
