import Foundation
import NIOCore
import TestSupport
import Testing

@testable import RTPSend

@Suite struct FileNamesTests {
  @Test(arguments: [
    ("cam.mp4", "cam.mp4", true), ("cam.mp4", "cam.mp4.tmp", false),
    ("cam-%05d.mp4", "cam-00017.mp4", true), ("cam-%05d.mp4", "cam-.mp4", false),
    ("cam-%05d.mp4", "cam-a.mp4", false),
    ("cam-%Y%m%d-%H%M%S.mp4", "cam-20260704-120000.mp4", true),
    ("*.h264", "a.h264", true), ("*.h264", ".h264", true), ("*.h264", "a.h265", false),
    ("a?c", "abc", true), ("a?c", "ac", false), ("100%%-%d", "100%-5", true),
    ("**a*", "bcaxx", true), ("%F.mp4", "2026-07-04.mp4", true), ("a?c", "aéc", true),
    ("a%dc%d", "a12c3", true), ("a%dc%d", "a12c", false), ("", "", true), ("", "a", false),
  ]) func patternsFitNames(pattern: String, name: String, fits: Bool) {
    #expect(FileNames("/x/" + pattern).matches(name) == fits)
  }

  @Test func namesAreCounted() {
    let names = ["cam-2.mp4", "cam-10.mp4", "cam-009.mp4", "cam.mp4", "cam-2a.mp4"]
    #expect(
      names.sorted { FileNames.isOrdered($0, before: $1) }
        == ["cam-2.mp4", "cam-2a.mp4", "cam-009.mp4", "cam-10.mp4", "cam.mp4"])
    #expect(FileNames("a/b/c-*.mp4").directory == "a/b")
    #expect(FileNames("/c").directory == "/")
    #expect(FileNames("c").directory == ".")
    #expect(FileNames("a/100%%.h264").onlyName == "100%.h264")
    #expect(FileNames("cam-%d").onlyName == nil)
  }

  private func entry(_ name: String, _ inode: UInt64, _ modified: Int64) -> FileChoice.Entry {
    FileChoice.Entry(name: name, inode: inode, modified: modified)
  }

  @Test func theNextFileIsTheNextNameThatWasWrittenLater() {
    var choice = FileChoice(hasOneName: false)
    let old = [entry("3", 13, 5), entry("1", 11, 20), entry("0", 10, 10)]
    #expect(choice.begin(in: old, areNew: false)?.name == "1")
    #expect(choice.successor(in: old) == nil)
    let more = old + [entry("4", 14, 30), entry("2", 12, 40)]
    let next = choice.successor(in: more)
    #expect(next?.name == "2")
    choice.goOn(to: entry("2", 12, 40), after: 39)
    // What is over is not begun again, but for a name that is.
    #expect(choice.successor(in: [entry("1", 11, 39)]) == nil)
    #expect(choice.successor(in: [entry("1", 11, 50), entry("0", 15, 60)])?.name == "1")
  }

  @Test func ofNewFilesTheFirstComesFirst() {
    var choice = FileChoice(hasOneName: false)
    let new = [entry("2", 12, 10), entry("1", 11, 10), entry("10", 20, 30)]
    #expect(choice.begin(in: new, areNew: true)?.name == "1")
    #expect(choice.successor(in: new)?.name == "2")
  }

  @Test func aNameIsTakenByAnotherFile() {
    var choice = FileChoice(hasOneName: true)
    #expect(choice.begin(in: [entry("a", 1, 50)], areNew: false)?.inode == 1)
    #expect(choice.successor(in: [entry("a", 1, 60)]) == nil)
    #expect(choice.successor(in: [entry("a", 2, 10)])?.inode == 2)
  }
}

/// Files on the disk, which a test writes while they are followed.
@Suite struct FollowTests {
  private func following(
    _ path: String, _ parameterSets: String? = nil
  ) throws -> LiveStream {
    var configuration = FollowConfiguration(path: path)
    configuration.parameterSets = parameterSets
    return try LiveStream.following(configuration, for: .one)
  }

  /// Follows what is not there yet, and returns when that has been noticed.
  private func awaiting(
    _ path: String, _ parameterSets: String? = nil, _ events: Record<FollowEvent> = Record()
  ) async throws -> LiveStream {
    var configuration = FollowConfiguration(path: path)
    configuration.parameterSets = parameterSets
    let stream = try LiveStream.following(configuration, for: .one) { events.append($0) }
    #expect(try await events.first(1) == [.waiting(name: path)])
    return stream
  }

  /// The slices of the next pictures.
  private func take(_ count: Int, from reader: LiveVideo) async throws -> [ByteBuffer?] {
    let (wakes, continuation) = AsyncStream.makeStream(of: Void.self)
    reader.notify { continuation.yield() }
    var slices: [ByteBuffer?] = []
    while slices.count < count {
      switch try reader.next() {
      case .next(let unit): slices.append(unit.units.last)
      case .nothingYet: _ = try await withDeadline { await wakes.first { true } }
      case .end: return slices
      }
    }
    return slices
  }

  private func append(_ bytes: some Sequence<UInt8>, to path: String) throws {
    if !FileManager.default.fileExists(atPath: path) {
      _ = FileManager.default.createFile(atPath: path, contents: nil)
    }
    let file = try #require(FileHandle(forWritingAtPath: path))
    try file.seekToEnd()
    try file.write(contentsOf: Data(bytes))
    try file.close()
  }

  private func sidecar(_ clip: Growing.Clip, in folder: TemporaryFolder) throws -> String {
    let path = folder("sets.h264")
    let stream = ByteBuffer(
      bytes: clip.known.ordered.flatMap { [0, 0, 0, 1] + Array($0.readableBytesView) })
    try append(stream.readableBytesView, to: path)
    return path
  }

  @Test func picturesComeAsTheyAreWritten() async throws {
    let clip = try await Growing.plain()
    let folder = try TemporaryFolder()
    let path = folder("cam.mp4")
    let stream = try await awaiting(path, try sidecar(clip, in: folder))
    defer { stream.stop() }
    try append(clip.bytes[..<clip.ends[0]], to: path)
    _ = try await withDeadline { try await stream.contents() }
    let reader = try LiveVideo(stream)
    for index in clip.ends.indices {
      let slices = try await take(1, from: reader)
      #expect(slices == [clip.pictures[index].last])
      if index + 1 < clip.ends.count {
        try append(clip.bytes[clip.ends[index]..<clip.ends[index + 1]], to: path)
      }
    }
  }

  /// A writer that goes from file to file, and dies in the middle of some.
  @Test(arguments: ["cam-%03d.mp4", "cam.mp4"]) func theStreamGoesOnFromFileToFile(
    name: String
  ) async throws {
    let clip = try await Growing.fragmented("empty_moov+frag_every_frame+default_base_moof")
    let folder = try TemporaryFolder()
    let stream = try await awaiting(folder(name))
    defer { stream.stop() }
    var dice = SeededGenerator(seed: 5)
    var expected: [ByteBuffer?] = []
    var reader: LiveVideo?
    for number in 0..<30 {
      let end = number % 3 == 0 ? clip.bytes.count : dice.integer(below: clip.bytes.count)
      let path = folder(name.replacingOccurrences(of: "%03d", with: String(format: "%03d", number)))
      if name == "cam.mp4" {
        // The new file is made elsewhere, and takes the name.
        try append(clip.bytes[..<min(end, 100)], to: folder("new"))
        #expect(rename(folder("new"), path) == 0)
        try append(clip.bytes[min(end, 100)..<end], to: path)
      } else {
        try append(clip.bytes[..<end], to: path)
      }
      let whole = clip.ends.filter { $0 <= end }.count
      expected = clip.pictures.prefix(whole).map(\.last)
      if reader == nil {
        _ = try await withDeadline { try await stream.contents() }
        reader = try LiveVideo(stream)
      }
      let present = try #require(reader)
      let slices = try await take(whole, from: present)
      #expect(slices == expected, "file \(number)")
    }
  }

  /// Whoever is behind the writer skips nothing.
  @Test(arguments: Growing.Form.allCases) func filesThatWereWrittenMeanwhileAreAllSent(
    form: Growing.Form
  ) async throws {
    let clip = try await Growing.clip(form)
    let folder = try TemporaryFolder()
    let sets = form == .plain ? try sidecar(clip, in: folder) : nil
    let stream = try await awaiting(folder("cam-%d.\(form == .annexB ? "h264" : "mp4")"), sets)
    defer { stream.stop() }
    func name(_ number: Int) -> String {
      folder("cam-\(number).\(form == .annexB ? "h264" : "mp4")")
    }
    for number in 0..<50 { try append(clip.bytes, to: name(number)) }
    // The last one breaks off behind its sixth picture, and none follows.
    try append(clip.bytes[..<(clip.ends[5] + 7)], to: name(50))
    _ = try await withDeadline { try await stream.contents() }
    let reader = try LiveVideo(stream)
    for number in 0..<50 {
      #expect(try await take(Growing.frames, from: reader) == clip.slices, "file \(number)")
    }
    #expect(try await take(6, from: reader) == Array(clip.slices[..<6]))
  }

  @Test func whatIsThereAlreadyIsSentFromItsNewestKeyPictureOn() async throws {
    let clip = try await Growing.plain()
    let folder = try TemporaryFolder()
    let path = folder("cam.mp4")
    try append(clip.bytes, to: path)
    let stream = try following(path, try sidecar(clip, in: folder))
    defer { stream.stop() }
    _ = try await withDeadline { try await stream.contents() }
    let slices = try await take(6, from: try LiveVideo(stream))
    #expect(slices == clip.pictures.suffix(6).map(\.last))
  }

  @Test func theIndexOfAnEarlierFileHasTheParameterSets() async throws {
    let clip = try await Growing.plain()
    let folder = try TemporaryFolder()
    try FFmpeg.makeClip(folder.url("cam-1.mp4"), frames: Growing.frames, Growing.options)
    let stream = try following(folder("cam-%d.mp4"))
    defer { stream.stop() }
    try append(clip.bytes, to: folder("cam-2.mp4"))
    _ = try await withDeadline { try await stream.contents() }
    let slices = try await take(3, from: try LiveVideo(stream))
    #expect(!slices.contains(nil))
  }

  /// It is the newest, whatever has been looked at before.
  @Test func theFileThatIsThereHasTheParameterSetsOfTheOneBefore() async throws {
    let clip = try await Growing.plain()
    let folder = try TemporaryFolder()
    try FFmpeg.makeClip(folder.url("cam-1.mp4"), frames: Growing.frames, Growing.options)
    try append(clip.bytes, to: folder("cam-2.mp4"))
    let stream = try following(folder("cam-%d.mp4"))
    defer { stream.stop() }
    _ = try await withDeadline { try await stream.contents() }
    let slices = try await take(6, from: try LiveVideo(stream))
    #expect(slices == clip.pictures.suffix(6).map(\.last))
  }

  /// Where whole pages end with a picture, more may belong to it, until its writer has gone or
  /// another file follows.
  @Test(arguments: [true, false]) func theLastPicturesComeWhenTheirWriterHasGone(
    isFollowed: Bool
  ) async throws {
    let clip = try Growing.annexB(try await Growing.plain(), fillsPages: true)
    // The end of the last but one is that of a NAL unit too.
    let (most, last) = (Array(clip.slices.dropLast(2)), Array(clip.slices.suffix(2)))
    let folder = try TemporaryFolder()
    let events = Record<FollowEvent>()
    let stream = try await awaiting(folder("cam-%d.h264"), nil, events)
    defer { stream.stop() }
    let writer = try openNew(folder("cam-1.h264"))
    try writer.write(contentsOf: Data(clip.bytes))
    _ = try await withDeadline { try await stream.contents() }
    let reader = try LiveVideo(stream)
    #expect(try await take(most.count, from: reader) == most)
    // Longer than pauses within a picture, so that the close is news by itself.
    if !isFollowed { try await Task.sleep(for: .milliseconds(50)) }
    try writer.close()
    if isFollowed { try append(clip.bytes, to: folder("cam-2.h264")) }
    #expect(try await take(2, from: reader) == last)
    if isFollowed {
      #expect(try await take(most.count, from: reader) == most)
    }
    let leftOut = events.elements.filter { if case .leftOut = $0 { true } else { false } }
    #expect(leftOut.isEmpty)
  }

  @Test func aFileThatBeginsAgainIsSentAgainAndNothingOfItIsLost() async throws {
    let clip = try Growing.annexB(try await Growing.plain(), fillsPages: true)
    // The end of the last but one is that of a NAL unit too.
    let (most, last) = (Array(clip.slices.dropLast(2)), Array(clip.slices.suffix(2)))
    let folder = try TemporaryFolder()
    let events = Record<FollowEvent>()
    let stream = try await awaiting(folder("cam.h264"), nil, events)
    defer { stream.stop() }
    let writer = try openNew(folder("cam.h264"))
    try writer.write(contentsOf: Data(clip.bytes))
    _ = try await withDeadline { try await stream.contents() }
    let reader = try LiveVideo(stream)
    #expect(try await take(most.count, from: reader) == most)
    try writer.truncate(atOffset: 0)
    try await eventually { events.elements.contains(.restarted(name: "cam.h264")) }
    #expect(try await take(2, from: reader) == last)
    try writer.write(contentsOf: Data(clip.bytes))
    #expect(try await take(most.count, from: reader) == most)
    try writer.close()
  }

  /// Other files in the directory, however many, are nobody's business.
  @Test func filesOfOtherNamesAreNoNews() throws {
    let folder = try TemporaryFolder()
    let inotify = try #require(Inotify())
    inotify.watch(FileNames(folder("cam-%d.h264")))
    try append([1], to: folder("dog-1.h264"))
    #expect(inotify.take().isEmpty)
    try append([1], to: folder("cam-1.h264"))
    #expect(inotify.take() == .directory)
  }

  @Test func itIsKnownWhichFilesWereClosedBefore() throws {
    let folder = try TemporaryFolder()
    let inotify = try #require(Inotify())
    inotify.watch(FileNames(folder("cam-%d.h264")))
    try append([1], to: folder("cam-1.h264"))
    let writer = try openNew(folder("cam-2.h264"))
    try writer.write(contentsOf: Data([1]))
    _ = inotify.take()
    #expect(inotify.takeClosed("cam-1.h264"))
    #expect(!inotify.takeClosed("cam-1.h264"))
    // It was made by somebody who has closed it, and then replaced by a new one.
    try append([1], to: folder("cam-3.h264"))
    try append([1], to: folder("new"))
    #expect(rename(folder("new"), folder("cam-3.h264")) == 0)
    _ = inotify.take()
    #expect(!inotify.takeClosed("cam-3.h264"))
    try writer.close()
  }

  @Test func whatIsWrittenAfterACloseIsNotClosed() throws {
    let folder = try TemporaryFolder()
    let path = folder("cam.h264")
    let inotify = try #require(Inotify())
    try append([1], to: path)
    let file = try OpenFile(path: path)
    inotify.watch(file: file.descriptor)
    let writer = try #require(FileHandle(forWritingAtPath: path))
    try append([2], to: path)
    try writer.write(contentsOf: Data([3]))
    #expect(inotify.take() == .file)
    try writer.close()
    #expect(inotify.take() == [.file, .closed])
  }

  private func openNew(_ path: String) throws -> FileHandle {
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    return try #require(FileHandle(forWritingAtPath: path))
  }

  @Test func whatIsNoVideoEndsIt() async throws {
    let folder = try TemporaryFolder()
    let path = folder("text.mp4")
    try append(Array("this is no video, and will be none".utf8), to: path)
    let stream = try following(path)
    await #expect(throws: SendError.self) { try await withDeadline { try await stream.contents() } }
    #expect(throws: SendError.self) { try following(path, path) }
    // A file that is not there yet is waited for, but not its directory.
    #expect(throws: SendError.self) { try following(folder("none/cam.mp4")) }
    #expect(throws: SendError.self) { try following(folder.path) }
  }
}
