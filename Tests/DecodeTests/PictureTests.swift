import Decode
import Foundation
import Glibc
import Outputs
import RTPWire
import Synchronization
import TestSupport
import Testing

/// Pictures in files: their samples, their names, and which frames they show.
@Suite struct PictureTests {
  static let plain = Clip(name: "4:2:0", frames: 24, encoder: ["-tune", "zerolatency"])
  static let clips = [
    plain,
    Clip(name: "BT.709", frames: 3, encoder: ["-colorspace", "bt709", "-color_range", "tv"]),
    Clip(name: "full range", frames: 3, pixelFormat: "yuvj420p"),
    Clip(name: "4:2:2", frames: 3, pixelFormat: "yuv422p"),
    Clip(name: "4:4:4 odd", width: 175, height: 97, frames: 3, pixelFormat: "yuv444p"),
    Clip(name: "10 bit", frames: 3, pixelFormat: "yuv420p10le"),
    Clip(name: "monochrome", codec: .testH265, frames: 3, pixelFormat: "gray"),
    Clip(
      name: "interlaced", frames: 3, encoder: ["-flags", "+ildct+ilme", "-x264-params", "tff=1"]),
  ]

  /// The first frame as RGB of 8 bits, made as well as possible.
  private func rgb(_ frame: RawFrame, size: FrameShape.Size? = nil) throws -> [UInt8] {
    let shape = FrameShape(pixelFormat: .rgb24, size: size)
    return try FrameConverter(to: shape, quality: .exact).converted(frame).packed
  }

  private func decoded(_ path: String) throws -> [UInt8] {
    try run(
      ["-i", path, "-vf", "scale=flags=bilinear+full_chroma_int+accurate_rnd"]
        + ["-pix_fmt", "rgb24", "-f", "rawvideo", "-"])
  }

  private func signalToNoise(_ left: [UInt8], _ right: [UInt8]) -> Double {
    guard left.count == right.count, !left.isEmpty else { return 0 }
    let sum = zip(left, right).reduce(0) { $0 + (Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1)) }
    return 10 * log10(255 * 255 * Double(left.count) / Double(max(sum, 1)))
  }

  @Test("a PNG holds the first frame in RGB, and nothing is lost", arguments: clips)
  func png(_ clip: Clip) async throws {
    let folder = try TemporaryFolder()
    let frames = try await clip.decodedFrames()
    let lane = try lane(.path(folder("a.png")), "png")
    for frame in frames { lane.write(frame) }
    let summary = await lane.finish()
    #expect(summary.error == nil && summary.files == [folder("a.png")])
    #expect(summary.counters.written == 1)
    let expected = try rgb(frames[0])
    let found = try decoded(folder("a.png"))
    #expect(found.count == expected.count)
    let depth = try folder.contents("a.png")[24]
    // FFmpeg rounds once more where it makes 8 bits of 16.
    let tolerance = depth == 16 ? 2 : 1
    #expect(zip(found, expected).allSatisfy { abs(Int($0) - Int($1)) <= tolerance })
    #expect(depth == (clip.pixelFormat.contains("10") ? 16 : 8))
  }

  @Test("a JPEG looks like the first frame, in its colours", arguments: clips)
  func jpeg(_ clip: Clip) async throws {
    let folder = try TemporaryFolder()
    var soft = clip
    // Chroma is coded at half the size, and in another place: edges of one sample cannot stay.
    soft.source = "testsrc2=size=\(clip.width)x\(clip.height):rate=30,gblur=sigma=4"
    let frames = try await soft.decodedFrames()
    let lane = try lane(.path(folder("a.jpg")), "jpg")
    for frame in frames { lane.write(frame) }
    #expect(await lane.finish().error == nil)
    let quality = signalToNoise(try decoded(folder("a.jpg")), try rgb(frames[0]))
    #expect(quality > 34, "\(clip.name): \(quality) dB")
    // The format has one matrix and one range, so that flat colours come out as they were.
    let flat = Clip(
      name: "flat", source: "color=c=0xC04020:size=64x64:rate=30", width: 64, height: 64, frames: 1,
      pixelFormat: clip.pixelFormat, encoder: clip.encoder)
    guard clip.codec == .testH264, let frame = try await flat.decodedFrames().first else { return }
    let other = try DecodeTests.lane(.path(folder("flat.jpg")), "jpg")
    other.write(frame)
    #expect(await other.finish().error == nil)
    let evenness = signalToNoise(try decoded(folder("flat.jpg")), try rgb(frame))
    #expect(evenness > 40, "\(clip.name): \(evenness) dB")
  }

  @Test("a natural picture keeps more than 40 dB")
  func jpegQuality() async throws {
    let folder = try TemporaryFolder()
    // Soft shapes and some grain, as a camera's picture has them.
    let clip = Clip(
      name: "soft", source: "mandelbrot=size=320x240:rate=30,gblur=sigma=2,noise=alls=4:all_seed=1",
      width: 320, height: 240, frames: 1)
    let frame = try #require(try await clip.decodedFrames().first)
    let lane = try lane(.path(folder("a.jpeg")), "jpeg")
    lane.write(frame)
    #expect(await lane.finish().error == nil)
    #expect(signalToNoise(try decoded(folder("a.jpeg")), try rgb(frame)) > 40)
  }

  @Test("a picture is scaled to the wanted size", arguments: ["jpg", "png"])
  func size(_ name: String) async throws {
    let folder = try TemporaryFolder()
    let frame = try #require(try await Self.plain.decodedFrames().first)
    let size = FrameShape.Size(width: 101, height: 51)
    let lane = try lane(.path(folder("a." + name)), name, shape: FrameShape(size: size))
    lane.write(frame)
    #expect(await lane.finish().error == nil)
    #expect(try decoded(folder("a." + name)).count == 101 * 51 * 3)
  }

  @Test("a picture says the shape of its pixels", arguments: ["jpg", "png"])
  func aspect(_ name: String) async throws {
    let folder = try TemporaryFolder()
    let clip = Clip(name: "aspect", frames: 1, encoder: ["-vf", "setsar=12/11"])
    let lane = try lane(.path(folder("a." + name)), name)
    lane.write(try #require(try await clip.decodedFrames().first))
    #expect(await lane.finish().error == nil)
    let square = try run(
      ["-i", folder("a." + name), "-vf", "scale=iw*sar:ih", "-pix_fmt", "gray", "-f", "rawvideo"]
        + ["-"])
    #expect(square.count == 192 * 144)
  }

  // MARK: - Names

  @Test(
    "pictures are named by number or by time",
    arguments: [
      ("a.png", 0.2, ["a-000001.png", "a-000002.png", "a-000003.png", "a-000004.png"]),
      ("a-%d.png", 0.2, ["a-1.png", "a-2.png", "a-3.png", "a-4.png"]),
      ("a-%03d%%.png", 0.5, ["a-001%.png", "a-002%.png"]),
      ("a-%02d.png", nil, (1...24).map { "a-\($0 < 10 ? "0" : "")\($0).png" }),
    ] as [(String, Double?, [String])])
  func names(_ path: String, _ interval: Double?, _ expected: [String]) async throws {
    let folder = try TemporaryFolder()
    let selection = PictureSelection(interval: interval.map { .seconds($0) })
    let lane = try lane(.path(folder(path)), "png", pictures: selection)
    for frame in try await Self.plain.decodedFrames() { lane.write(frame) }
    let summary = await lane.finish()
    #expect(summary.error == nil)
    #expect(summary.files.last == expected.map { folder($0) })
    let found = try FileManager.default.contentsOfDirectory(atPath: folder(""))
    #expect(found.sorted() == expected.sorted())
  }

  @Test(
    "numbers go on behind those of an earlier run where that is wanted", arguments: [false, true])
  func numbersGoOn(goesOn: Bool) async throws {
    let folder = try TemporaryFolder()
    for name in ["a-7.png", "a-12.png", "a-x.png", "b-99.png", "a-9223372036854775807.png"] {
      try Data().write(to: folder.url(name))
    }
    var selection = PictureSelection(interval: .milliseconds(500))
    selection.goesOn = goesOn
    let lane = try lane(.path(folder("a-%d.png")), "png", pictures: selection)
    for frame in try await Self.plain.decodedFrames() { lane.write(frame) }
    let expected = goesOn ? ["a-13.png", "a-14.png"] : ["a-1.png", "a-2.png"]
    #expect(await lane.finish().files.last == expected.map { folder($0) })
  }

  @Test("a name that says a second is used once")
  func times() async throws {
    let folder = try TemporaryFolder()
    let selection = PictureSelection(interval: .milliseconds(300))
    let lane = try lane(.path(folder("a-%Y%m%dT%H%M%SZ.png")), "png", pictures: selection)
    for frame in try await Self.plain.decodedFrames() { lane.write(frame) }
    let names = await lane.finish().files.last.map { $0.split(separator: "/").last ?? "" }
    #expect(Set(names).count == 3)
    for name in names {
      #expect(name.wholeMatch(of: #/a-20\d{6}T\d{6}Z(x000\d)?\.png/#) != nil, "\(name)")
    }
  }

  @Test("folders of the time are made for pictures, too")
  func timedFolders() async throws {
    let folder = try TemporaryFolder()
    let selection = PictureSelection(interval: .milliseconds(300))
    let lane = try lane(.path(folder("%F/%H/a-%02d.png")), "png", pictures: selection)
    for frame in try await Self.plain.decodedFrames() { lane.write(frame) }
    let summary = await lane.finish()
    #expect(summary.error == nil)
    let names = summary.files.last.map { $0.dropFirst(folder("").count) }
    #expect(names.count == 3)
    for (number, name) in names.enumerated() {
      let expected = #/20\d\d-\d\d-\d\d/\d\d/a-0(\d)\.png/#
      #expect(name.wholeMatch(of: expected)?.1 == "\(number + 1)", "\(name)")
    }
  }

  @Test("a picture that says its time replaces none, one without replaces the last")
  func replaced() async throws {
    let folder = try TemporaryFolder()
    let frame = try #require(try await Self.plain.decodedFrames().first)
    for _ in 0..<3 {
      for name in ["a-%Y.png", "a.png"] {
        let lane = try lane(
          .path(folder(name)), "png", pictures: PictureSelection(takesDamaged: true))
        lane.write(frame)
        #expect(await lane.finish().error == nil)
      }
    }
    #expect(folder.names.count == 4 && folder.names.contains("a.png"), "\(folder.names)")
    #expect(folder.names.filter { $0.hasSuffix("x0002.png") }.count == 1)
  }

  @Test("an interval starts again where the clock went back, and a late picture moves no other")
  func clock() async throws {
    let folder = try TemporaryFolder()
    let frame = try #require(try await Self.plain.decodedFrames().first)
    let selection = PictureSelection(interval: .seconds(1), takesDamaged: true)
    let lane = try lane(.path(folder("a.png")), "png", pictures: selection)
    var taken: [UInt64] = []
    for seconds in [0, 0.5, 1.7, 1.9, 2.0, 9.1, 9.9, 10, 3, 3.5, 4] {
      let time = MediaTime(ticks: Int64(seconds * 90_000), timescale: 90_000)
      lane.write(try #require(RawFrame(repeating: frame, at: time)))
      try await eventually {
        lane.counters.written + lane.counters.skipped == lane.counters.offered
      }
      taken.append(lane.counters.written)
    }
    #expect(taken == [1, 1, 2, 2, 3, 4, 4, 5, 6, 6, 7])
    #expect(await lane.finish().error == nil)
  }

  @Test("a symbolic link stays, also one to a picture that is not there yet")
  func links() async throws {
    let folder = try TemporaryFolder()
    let frame = try #require(try await Self.plain.decodedFrames().first)
    try FileManager.default.createDirectory(atPath: folder("b"), withIntermediateDirectories: true)
    #expect(unsafe symlink("b/shot.png", folder("a.png")) == 0)
    #expect(unsafe symlink("missing/shot.png", folder("c.png")) == 0)
    for _ in 0..<2 {
      let lane = try lane(.path(folder("a.png")), "png")
      lane.write(frame)
      #expect(await lane.finish().error == nil)
      #expect(folder.names == ["a.png", "b", "c.png"])
      #expect(try folder.contents("b/shot.png") == folder.contents("a.png"))
    }
    let lane = try lane(.path(folder("c.png")), "png")
    let error = OutputError.cannotOpen(path: folder("c.png"), errno: ENOENT)
    #expect(await lane.finish().error as? OutputError == error)
  }

  // MARK: - What is kept

  private static func writeOld(_ names: [String], in folder: TemporaryFolder) throws {
    for (age, name) in names.enumerated() {
      try Data(count: 4096).write(to: folder.url(name))
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_577_836_800 - Double(age))],
        ofItemAtPath: folder(name))
    }
  }

  @Test(
    "of many pictures, the old ones are deleted, and nothing else",
    arguments: [
      ("a-%Y%m%dT%H%M%SZ.png", "a-20200101T000000Z.png"), ("a-%06d.png", "a-000900.png"),
      ("a.png", "a-000900.png"),
    ])
  func oldPictures(name: String, old: String) async throws {
    let folder = try TemporaryFolder()
    try Self.writeOld([old, "b-000900.png"], in: folder)
    var selection = PictureSelection(interval: .milliseconds(300))
    selection.retention = [.age(.seconds(3600))]
    let lane = try lane(.path(folder(name)), "png", pictures: selection)
    try await eventually { !folder.names.contains(old) }
    for frame in try await Self.plain.decodedFrames() { lane.write(frame) }
    let summary = await lane.finish()
    #expect(summary.error == nil)
    #expect(folder.names.count == 4 && folder.names.contains("b-000900.png"), "\(folder.names)")
    #expect(name.contains("%Y") || summary.files.last.first == folder("a-000901.png"))
    let counts = lane.events.last.map { event in
      if case .filesDeleted(let count, _) = event { count } else { 0 }
    }
    #expect(counts == [1])
  }

  @Test("a limit without room for a picture is said, and the newest one stays")
  func noRoomForPictures() async throws {
    let folder = try TemporaryFolder()
    try Self.writeOld(["a-1.png", "a-2.png"], in: folder)
    var selection = PictureSelection(takesDamaged: true)
    selection.retention = [.bytes(1)]
    let lane = try lane(.path(folder("a-%d.png")), "png", pictures: selection)
    let frame = try #require(try await Self.plain.decodedFrames().first)
    try await eventually {
      lane.write(frame)
      return lane.events.last.contains(.noRoomForFiles)
    }
    let newest = try #require(await lane.finish().files.last.last)
    #expect(FileManager.default.fileExists(atPath: newest))
    #expect(!folder.names.contains("a-2.png"))
  }

  // MARK: - What is shown

  @Test("a frame that is not intact is no picture unless that is wanted")
  func intact() async throws {
    let folder = try TemporaryFolder()
    let frame = try #require(try await Self.plain.decodedFrames().first)
    let again = try #require(RawFrame(repeating: frame, at: frame.time))
    let strict = try lane(.path(folder("a.jpg")), "jpg")
    strict.write(again)
    let summary = await strict.finish()
    #expect(summary.error as? OutputError == .noIntactPicture(of: 1))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder("")).isEmpty)
    let easy = try lane(
      .path(folder("a.jpg")), "jpg", pictures: PictureSelection(takesDamaged: true))
    easy.write(again)
    #expect(await easy.finish().error == nil)
    #expect(try !folder.contents("a.jpg").isEmpty)
  }

  @Test("an output with a name for one picture is complete with the first")
  func completion() async throws {
    let folder = try TemporaryFolder()
    try Data("old".utf8).write(to: folder.url("old.jpg"))
    #expect(unsafe symlink("old.jpg", folder("a.jpg")) == 0)
    let isComplete = Mutex(false)
    let lane = try lane(
      .path(folder("a.jpg")), "jpg", onCompletion: { isComplete.withLock { $0 = true } })
    let frames = try await Self.plain.decodedFrames()
    lane.write(frames[0])
    try await eventually { isComplete.withLock { $0 } }
    for frame in frames[1...] { lane.write(frame) }
    let summary = await lane.finish()
    #expect(summary.error == nil)
    let counters = summary.counters
    #expect(counters.written == 1 && counters.discarded == 23 && counters.offered == 24)
    // The link stays, and nothing else is left.
    #expect(try folder.contents("old.jpg").starts(with: [0xFF, 0xD8]))
    let names = try FileManager.default.contentsOfDirectory(atPath: folder(""))
    #expect(names.sorted() == ["a.jpg", "old.jpg"])
  }

  @Test("a pipe gets pictures one after another")
  func pipe() async throws {
    let pipe = PipeReader()
    pipe.start()
    let lane = try lane(
      .descriptor(pipe.writeEnd), "jpg", pictures: PictureSelection(interval: .milliseconds(300)))
    for frame in try await Self.plain.decodedFrames() { lane.write(frame) }
    #expect(await lane.finishWhenRead().error == nil)
    let bytes = try await pipe.all()
    let decoded = try run(
      ["-f", "mjpeg", "-i", "pipe:0", "-pix_fmt", "gray", "-f", "rawvideo", "-"], input: bytes)
    #expect(decoded.count == 3 * 176 * 144)
  }

  @Test("a picture that cannot be stored is left out and named once, and the next one is tried")
  func missingFolder() async throws {
    let folder = try TemporaryFolder()
    let lane = try lane(.path(folder("a-%d.png")), "png")
    let frame = try #require(try await Self.plain.decodedFrames().first)
    func write(_ count: UInt64) async throws {
      for _ in 0..<count { lane.write(frame) }
      try await eventually {
        lane.counters.written + lane.counters.skipped == lane.counters.offered
      }
    }
    try await write(1)
    try FileManager.default.moveItem(atPath: folder.path, toPath: folder.path + ".away")
    defer { try? FileManager.default.removeItem(atPath: folder.path + ".away") }
    try await write(3)
    #expect(lane.events.count == 1 && lane.fault == nil)
    let error = OutputError.cannotOpen(path: folder("a-2.png"), errno: ENOENT)
    #expect(lane.events.last == [.fileFailed(path: folder("a-2.png"), error)])
    try FileManager.default.moveItem(atPath: folder.path + ".away", toPath: folder.path)
    try await write(2)
    let summary = await lane.finish()
    #expect(folder.names == ["a-1.png", "a-2.png", "a-3.png"])
    #expect(summary.counters.written == 3 && summary.counters.skipped == 3)
    #expect(summary.error as? OutputError == error)
  }

  @Test("a picture that a full disk does not take is named, and nothing of it is left")
  func fullDisk() async {
    await #expect(processExitsWith: .success) {
      let frame = try #require(try await PictureTests.plain.decodedFrames().first)
      let folder = try TemporaryFolder()
      // No file may be as long as the picture.
      var limit = rlimit(rlim_cur: 1000, rlim_max: 1000)
      #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0)
      for (name, picture) in [("a.jpg", "a.jpg"), ("a-%d.jpg", "a-1.jpg")] {
        let lane = try lane(.path(folder(name)), "jpg")
        lane.write(frame)
        let error = OutputError.pictureLeftOut(path: folder(picture), errno: EFBIG)
        #expect(await lane.finish().error as? OutputError == error)
        #expect(folder.names.isEmpty)
      }
    }
  }

  @Test("pictures in a folder that comes late replace none of an earlier run")
  func lateFolder() async throws {
    let folder = try TemporaryFolder()
    let outputs = LivingOutputs(count: 2) {}
    var configuration = OutputLane.Configuration(
      target: .path(folder("late/a-%d.png")),
      format: try #require(catalogue.format(named: "png")))
    configuration.policy = .block
    configuration.pictures.goesOn = true
    configuration.place = outputs.place(0)
    let lane = try OutputLane(configuration)
    try await eventually { lane.events.count == 1 }
    try FileManager.default.createDirectory(
      at: folder.url("late"), withIntermediateDirectories: false)
    try Data("precious".utf8).write(to: folder.url("late/a-1.png"))
    lane.write(try #require(try await Self.plain.decodedFrames().first))
    let summary = await lane.finish()
    #expect(summary.files == [folder("late/a-2.png")])
    #expect(try folder.contents("late/a-1.png") == Array("precious".utf8))
    #expect(
      summary.error as? OutputError
        == .cannotOpen(path: folder("late/a-%d.png"), errno: ENOENT))
  }

  @Test(
    "what cannot be written says why",
    arguments: [
      ("/dev/full", OutputError.writeFailed(errno: ENOSPC)),
      ("/nonexistent/a.jpg", .cannotOpen(path: "/nonexistent/a.jpg", errno: ENOENT)),
      ("/dev/null/a-%d.jpg", .cannotOpen(path: "/dev/null/a-%d.jpg", errno: ENOTDIR)),
    ] as [(String, OutputError)])
  func failures(_ path: String, _ error: OutputError) async throws {
    let lane = try lane(.path(path), "jpg")
    for frame in try await Self.plain.decodedFrames() { lane.write(frame) }
    let summary = await lane.finish()
    #expect(summary.error as? OutputError == error)
    #expect(summary.counters.written == 0)
  }
}
