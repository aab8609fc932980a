import Foundation
import Glibc
import RTPWire
import TestSupport
import Testing

@testable import Decode
@testable import Outputs

/// Frames of any size, and folders that others can write to.
@Suite struct HostileFrameTests {
  @Test("sizes that change with each picture do not make a file each")
  func changingSizes() async throws {
    let folder = try TemporaryFolder()
    let small = try await Clip(name: "small", width: 64, height: 48, frames: 1).decodedFrames()
    let large = try await Clip(name: "large", width: 96, height: 64, frames: 1).decodedFrames()
    let format = try #require(catalogue.format(named: "yuv"))
    var configuration = OutputLane.Configuration(target: .path(folder("a.yuv")), format: format)
    configuration.policy = .block
    let lane = try OutputLane(configuration)
    for number in 0..<300 { lane.write(number % 2 == 0 ? small[0] : large[0]) }
    let summary = await lane.finish()
    #expect(summary.error == nil)
    #expect((30...80).contains(summary.files.count), "\(summary.files.count)")
    #expect(summary.counters.written + summary.counters.skipped == 300)
    // Those of the last file go on.
    #expect(summary.counters.written > 150)
    #expect(lane.events.last.contains(.changesTooOften))
  }

  @Test(
    "a live clock that leaps does not make a picture of each frame; a recording's is what it is",
    arguments: [true, false])
  func leapingClock(isLive: Bool) async throws {
    let folder = try TemporaryFolder()
    let clip = Clip(name: "small", width: 64, height: 48, frames: 1)
    let frame = try #require(try await clip.decodedFrames().first)
    let format = try #require(catalogue.format(named: "jpg"))
    var configuration = OutputLane.Configuration(target: .path(folder("a%d.jpg")), format: format)
    configuration.policy = .block
    configuration.pictures = PictureSelection(interval: .seconds(10), takesDamaged: true)
    configuration.wallClock = isLive ? .system : .arrivals
    let lane = try OutputLane(configuration)
    // Many at once, and then five in 50 seconds.
    for number in 0..<205 as Range<Int64> {
      var unit = frame.record
      unit.time = MediaTime(ticks: number * 11 * 90_000, timescale: 90_000)
      unit.lastArrival = Instant(nanoseconds: max(0, number - 199) * 10_000_000_000)
      lane.write(try #require(RawFrame(repeating: frame, for: unit)))
    }
    let summary = await lane.finish()
    #expect(summary.error == nil)
    #expect(summary.counters.written == (isLive ? 64 + 5 : 205))
    #expect(summary.counters.written + summary.counters.skipped == 205)
    #expect(UInt64(folder.names.count) == summary.counters.written)
    #expect(lane.events.last.contains(.picturesTooOften) == isLive)
  }

  @Test("a picture is not written through a link that somebody else has put there")
  func plantedLink() async throws {
    let folder = try TemporaryFolder()
    let victim = folder.url("precious")
    try Data("precious".utf8).write(to: victim)
    try FileManager.default.createSymbolicLink(
      atPath: folder(".a.png.\(getpid()).part"), withDestinationPath: victim.path)
    let summary = try await writePicture(to: folder("a.png"))
    #expect(try folder.contents("precious") == Array("precious".utf8))
    #expect(summary.error == nil)
    #expect(try folder.contents("a.png").count > 100)
    #expect(folder.names.sorted() == ["a.png", "precious"])
  }

  @Test(
    "a picture does not go where a link of another user leads, in a folder that all may write to",
    .enabled(if: geteuid() == 0, "links of other users need a privilege"))
  func linkOfAnotherUser() async throws {
    let folder = try TemporaryFolder()
    let victim = folder.url("precious")
    try Data("precious".utf8).write(to: victim)
    try #require(chmod(folder.path, 0o1777) == 0)
    try #require(symlink(victim.path, folder("a.png")) == 0)
    let somebody: uid_t = 65_534
    try #require(lchown(folder("a.png"), somebody, somebody) == 0)
    let error = OutputError.cannotOpen(path: folder("a.png"), errno: EACCES)
    #expect(try await writePicture(to: folder("a.png")).error as? OutputError == error)
    #expect(try folder.contents("precious") == Array("precious".utf8))
    #expect(folder.names == ["a.png", "precious"])
  }

  private func writePicture(to path: String) async throws -> OutputSummary {
    let frame = try #require(
      try await Clip(name: "small", width: 64, height: 48, frames: 1).decodedFrames().first)
    let format = try #require(catalogue.format(named: "png"))
    let lane = try OutputLane(OutputLane.Configuration(target: .path(path), format: format))
    lane.write(frame)
    return await lane.finish()
  }

  @Test(
    "no size or layout is written beyond its memory", arguments: fuzzSeeds, ["yuv420p", "yuv444p"])
  func conversions(_ seed: UInt64, _ pixelFormat: String) async throws {
    var random = SeededGenerator(seed: seed)
    let clip = Clip(name: "odd", width: 98, height: 66, frames: 1, pixelFormat: pixelFormat)
    let first = try #require(try await clip.decodedFrames().first)
    let formats = PixelFormat.targets.map(\.value)
    func shape() throws -> FrameShape {
      FrameShape(
        pixelFormat: formats[random.integer(below: formats.count)],
        size: FrameShape.Size(width: random.number(upTo: 150), height: random.number(upTo: 90)))
    }
    let page = Int(getpagesize())
    for _ in 0..<20 {
      let layouts: [PixelFormat] = [.yuv420p, .yuv420p10, .gray8]
      let sources = FrameShape(
        pixelFormat: layouts[random.integer(below: layouts.count)], size: try shape().size)
      let source = try FrameConverter(to: sources).converted(first)
      var wanted = try shape()
      if random.integer(below: 2) == 0 { wanted.size = nil }
      let converter = FrameConverter(to: wanted)
      let layout = converter.layout(for: source)
      // A page that nobody may touch follows the memory, and another one precedes it.
      let room = (layout.byteCount + page - 1) / page * page
      let memory = try #require(
        unsafe mmap(
          nil, room + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
      defer { unsafe munmap(memory, room + 2 * page) }
      unsafe mprotect(memory, page, PROT_NONE)
      unsafe mprotect(memory + page + room, page, PROT_NONE)
      let start = unsafe memory + page + room - layout.byteCount
      _ = try unsafe converter.convert(source, into: start, as: layout)
    }
  }
}
