import Bitstream
import Defragment
import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Outputs

@Suite struct RecorderTests {
  static let clips = [
    Clip(name: "no B pictures", frames: 48, encoder: ["-bf", "0", "-g", "12"]),
    Clip(name: "a pyramid", frames: 60, encoder: ["-bf", "3", "-g", "20", "-sc_threshold", "0"]),
    Clip(
      name: "an open group", frames: 60, encoder: ["-bf", "2", "-g", "15"],
      h264Parameters: "open-gop=1"),
    Clip(name: "odd and interlaced size", width: 174, height: 98, frames: 30),
    Clip(
      name: "full range BT.709", frames: 30,
      encoder: [
        "-color_range", "pc", "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc",
        "bt709",
      ]),
    Clip(name: "10 bit", frames: 30, pixelFormat: "yuv420p10le"),
    Clip(name: "H.265", codec: .testH265, frames: 48, codecParameters: "keyint=12:open-gop=0"),
    Clip(
      name: "H.265, an open group", codec: .testH265, frames: 48,
      codecParameters: "keyint=12:min-keyint=12:scenecut=0:open-gop=1"),
  ]

  @Test("every container has each picture, at its time", arguments: clips, Container.recordings)
  func pictures(_ clip: Clip, _ container: Container) throws {
    let folder = try TemporaryFolder()
    let stream = try clip.encoded()
    try Data(stream).write(to: folder.url("stream"))
    let units = try clip.timedUnits(of: stream)
    let disk = try VirtualDisk.record(units, as: container)
    #expect(disk.files.count == 1)
    let file = try #require(disk.files.first)
    #expect(
      file.ending
        == FileEnding(
          reason: .end, duration: Double(clip.frames) / 30, frames: clip.frames))
    let path = folder("a." + container.name)
    try Data(file.bytes).write(to: URL(fileURLWithPath: path))

    let expected = try FFmpeg.frameHashes(
      of: folder("stream"), options: ["-f", clip.codec == .testH264 ? "h264" : "hevc"])
    #expect(try FFmpeg.frameHashes(of: path) == expected)
    #expect(expected.count == clip.frames)

    let probe = try Probe(path)
    let times = try probe.packets.map { try #require(Double($0["pts_time"] ?? "")) }
    let start = container.name == "ts" ? try #require(times.first) : 0
    let shown = units.map { Double($0.time.ticks) / 90_000 }
    #expect(times.count == shown.count)
    for (time, asked) in zip(times, shown) {
      // Matroska counts milliseconds.
      #expect(abs(time - start - asked) < 0.0011)
    }
    #expect(probe.stream["codec_name"] == clip.codec.decoderName)
    #expect(probe.stream["width"] == "\(clip.width)")
    if container.name != "ts" {
      #expect(
        abs(try #require(Double(probe.format["duration"] ?? "")) - Double(clip.frames) / 30) < 0.04)
      let start = try #require(probe.format["TAG:creation_time"])
      #expect(start.hasPrefix("2026-11-23T10:15:00"))
    }
    if container.name == "mp4" {
      #expect(probe.stream["codec_tag_string"] == (clip.codec == .testH264 ? "avc1" : "hvc1"))
    }
    if clip.name.contains("709") {
      #expect(probe.stream["color_range"] == "pc")
      #expect(probe.stream["color_space"] == "bt709")
    }
  }

  @Test(
    "Matroska says the rate of the pictures, in each file", arguments: [nil, 30, 50] as [UInt32?])
  func rate(said: UInt32?) throws {
    let clip = Clip(
      name: "GOPs", frames: 90, encoder: ["-bf", "2", "-g", "30", "-sc_threshold", "0"])
    let units = try clip.timedUnits(of: clip.encoded(), rate: said.flatMap { Rational($0, 1) })
    let disk = try VirtualDisk.record(units, as: .matroska, segment: .seconds(1))
    #expect(disk.files.count == 3)
    let folder = try TemporaryFolder()
    for (number, file) in disk.files.enumerated() {
      try Data(file.bytes).write(to: folder.url("\(number).mkv"))
      #expect(try Probe(folder("\(number).mkv")).stream["avg_frame_rate"] == "30/1")
    }
  }

  @Test(
    "pictures keep their times where they come sooner or later than the ones before",
    arguments: Container.recordings, [-20, 25] as [Int64])
  func unevenRhythm(_ container: Container, milliseconds: Int64) throws {
    let clip = Clip(
      name: "GOPs", frames: 90, encoder: ["-bf", "0", "-g", "15", "-sc_threshold", "0"])
    // The first of each group, with which a fragment begins.
    let units = try clip.timedUnits(of: clip.encoded()).enumerated().map {
      $0 > 0 && $0.isMultiple(of: 15) ? $1.moved(by: .milliseconds(milliseconds)) : $1
    }
    let disk = try VirtualDisk.record(units, as: container)
    #expect(disk.files.map(\.ending?.frames) == [90])
    try Self.expectTimes(of: units, in: disk.files[0], container)
  }

  /// Whether the pictures of a file are shown when `units` are.
  private static func expectTimes(
    of units: [AccessUnit], in file: VirtualDisk.File, _ container: Container
  ) throws {
    let folder = try TemporaryFolder()
    let path = folder("a." + container.name)
    try Data(file.bytes).write(to: URL(fileURLWithPath: path))
    let times = try Probe(path).packets.map { try #require(Double($0["pts_time"] ?? "")) }
    #expect(times.count == units.count)
    for (time, unit) in zip(times, units) {
      // Matroska counts milliseconds.
      #expect(abs(time - times[0] - Double(unit.time.ticks) / 90_000) < 0.0011)
    }
  }

  @Test("what is on the disk after each fragment plays", arguments: Container.recordings)
  func prefixes(_ container: Container) throws {
    let folder = try TemporaryFolder()
    let clip = Clip(name: "long", frames: 150, encoder: ["-bf", "2", "-g", "45"])
    let stream = try clip.encoded()
    try Data(stream).write(to: folder.url("stream"))
    let hashes = try FFmpeg.frameHashes(of: folder("stream"), options: ["-f", "h264"])
    let disk = try VirtualDisk.record(try clip.timedUnits(of: stream), as: container)
    let file = try #require(disk.files.first)
    let prefixes = file.lengths.dropLast().filter { $0.items > 0 }
    #expect(prefixes.count >= 4)
    for (number, prefix) in prefixes.enumerated() where number % (prefixes.count / 4) == 0 {
      let path = folder("\(number)." + container.name)
      try Data(file.unpatched.prefix(prefix.bytes)).write(to: URL(fileURLWithPath: path))
      let found = try FFmpeg.frameHashes(of: path)
      // The order of the last pictures depends on ones that are not there.
      #expect(found.count == prefix.items)
      #expect(
        Array(found.prefix(max(0, prefix.items - 3)))
          == Array(hashes.prefix(max(0, prefix.items - 3))))
    }
  }

  @Test("files of a segment time hold every picture once", arguments: Container.recordings)
  func segments(_ container: Container) throws {
    let folder = try TemporaryFolder()
    let clip = Clip(
      name: "GOPs", frames: 150, encoder: ["-bf", "2", "-g", "30", "-sc_threshold", "0"])
    let stream = try clip.encoded()
    try Data(stream).write(to: folder.url("stream"))
    let disk = try VirtualDisk.record(
      try clip.timedUnits(of: stream), as: container, segment: .seconds(1.5))
    #expect(disk.files.map(\.ending?.frames) == [60, 60, 30])
    #expect(disk.files.map(\.ending?.reason) == [.time, .time, .end])
    var hashes: [String] = []
    for (number, file) in disk.files.enumerated() {
      let path = folder("\(number)." + container.name)
      try Data(file.bytes).write(to: URL(fileURLWithPath: path))
      hashes += try FFmpeg.frameHashes(of: path)
    }
    #expect(try hashes == FFmpeg.frameHashes(of: folder("stream"), options: ["-f", "h264"]))
  }

  @Test("the last picture of a file lasts until the next one begins", arguments: [0, 2])
  func lastPicture(reordering: Int) throws {
    let folder = try TemporaryFolder()
    let clip = Clip(
      name: "GOPs", frames: 60,
      encoder: ["-bf", "\(reordering)", "-g", "30", "-sc_threshold", "0"],
      h264Parameters: "open-gop=0")
    var units = try clip.timedUnits(of: clip.encoded())
    units = units[..<30] + units[30...].map { $0.moved(by: .milliseconds(50)) }
    let disk = try VirtualDisk.record(units, as: .mp4, segment: .seconds(0.9))
    #expect(disk.files.map(\.ending?.frames) == [30, 30])
    try Data(disk.files[0].bytes).write(to: folder.url("0.mp4"))
    // All its pictures together, and what the header says.
    let probe = try Probe(folder("0.mp4"))
    #expect(probe.stream["duration"] == "1.050000")
    #expect(probe.format["duration"] == "1.050000")
    #expect(abs(try #require(disk.files[0].ending?.duration) - 1.05) < 0.001)
  }

  /// Its first pictures are two places apart, and a later file begins when it has three of them.
  @Test("each file of a pyramid is as long as what it shows", arguments: [30, 10] as [UInt32])
  func lengthOfPyramids(said: UInt32) throws {
    let folder = try TemporaryFolder()
    let clip = Clip(
      name: "GOPs", frames: 90, encoder: ["-bf", "3", "-g", "30", "-sc_threshold", "0"],
      h264Parameters: "open-gop=0:b-adapt=0:b-pyramid=normal")
    let units = try clip.timedUnits(of: clip.encoded(), depth: 2, rate: Rational(said, 1))
    let disk = try VirtualDisk.record(units, as: .mp4, segment: .seconds(0.9))
    #expect(disk.files.map(\.ending?.frames) == [30, 30, 30])
    for (number, file) in disk.files.enumerated() {
      try Data(file.bytes).write(to: folder.url("\(number).mp4"))
      #expect(try Probe(folder("\(number).mp4")).stream["duration"] == "1.000000")
    }
  }

  @Test("B pictures seconds before the picture that they refer to are no leap of the clock")
  func slowPyramids() throws {
    let folder = try TemporaryFolder()
    let clip = Clip(
      name: "a picture a second", frames: 24,
      encoder: ["-bf", "3", "-g", "12", "-sc_threshold", "0"],
      h264Parameters: "open-gop=0:b-adapt=0:b-pyramid=normal")
    let units = try clip.timedUnits(
      of: clip.encoded(), depth: 2, rate: Rational(1, 1), interval: 90_000)
    let disk = try VirtualDisk.record(units, as: .mp4)
    #expect(disk.files.map(\.ending?.frames) == [24])
    try Data(try #require(disk.files.first).bytes).write(to: folder.url("slow.mp4"))
    #expect(try Probe(folder("slow.mp4")).stream["duration"] == "24.000000")
  }

  @Test("the first file may be shorter than the others")
  func firstSegment() throws {
    let clip = Clip(
      name: "GOPs", frames: 150, encoder: ["-bf", "2", "-g", "30", "-sc_threshold", "0"])
    let disk = try VirtualDisk.record(
      try clip.timedUnits(of: clip.encoded()), as: .mp4, segment: .seconds(1.5),
      firstSegment: .seconds(1))
    #expect(disk.files.map(\.ending?.frames) == [30, 60, 60])
    #expect(disk.files.map(\.ending?.segment) == [.seconds(1), .seconds(1.5), .seconds(1.5)])
  }

  @Test(
    "pictures that refer to the file before are left out and counted",
    arguments: [
      clips[2], clips[7],
    ])
  func openGroups(_ clip: Clip) throws {
    let folder = try TemporaryFolder()
    let units = try clip.timedUnits(of: clip.encoded())
    let disk = try VirtualDisk.record(units, as: .mp4, segment: .seconds(0.1))
    #expect(disk.files.count >= 4)
    let leftOut = disk.files.reduce(0) { $0 + ($1.ending?.leftOut ?? 0) }
    #expect(leftOut > 0)
    #expect(disk.skipped == leftOut)
    #expect(disk.files.reduce(leftOut) { $0 + ($1.ending?.frames ?? 0) } == clip.frames)
    for (number, file) in disk.files.enumerated() {
      let path = folder("\(number).mp4")
      try Data(file.bytes).write(to: URL(fileURLWithPath: path))
      #expect(try FFmpeg.frameHashes(of: path).count == file.ending?.frames)
      #expect(try Probe(path).packets.first?["pts_time"] == "0.000000")
    }
  }

  @Test("a stream that changes its size goes on in another file")
  func parameters() throws {
    let small = try Self.clips[0].timedUnits(of: Self.clips[0].encoded())
    var clip = Self.clips[0]
    (clip.width, clip.height) = (320, 240)
    let large = try clip.timedUnits(of: clip.encoded(), startingAt: 48)
    let disk = try VirtualDisk.record(small + large, as: .mp4)
    #expect(disk.files.map(\.ending?.frames) == [48, 48])
    #expect(disk.files.map(\.ending?.reason) == [.parameters, .end])
  }

  static let closedGroups = [
    Clip(
      name: "closed groups", frames: 48, encoder: ["-bf", "0", "-g", "12", "-sc_threshold", "0"]),
    Clip(
      name: "closed groups of H.265", codec: .testH265, frames: 48,
      codecParameters: "keyint=12:min-keyint=12:scenecut=0:open-gop=0"),
  ]

  /// Where they would be in the header alone, nothing can be decoded up to the next whole one.
  ///
  /// The first file has begun, or it still waits for more pictures.
  @Test(
    "new parameter sets that come with a damaged key picture are not lost",
    arguments: [
      (closedGroups[1], Container.mp4, 48, 12), (closedGroups[1], .mp4, 24, 12),
      (closedGroups[1], .matroska, 48, 0), (closedGroups[0], .mp4, 48, 0),
    ])
  func damagedChange(_ clip: Clip, _ container: Container, count: Int, leftOut: Int) throws {
    var clip = clip
    clip.frames = count
    let small = try clip.timedUnits(of: clip.encoded())
    (clip.width, clip.height) = (320, 240)
    var large = try clip.timedUnits(of: clip.encoded(), startingAt: count)
    large[0] = large[0].damaged
    let disk = try VirtualDisk.record(small + large, as: container)
    #expect(disk.files.map(\.ending?.frames) == [count + 12 - leftOut, count - 12])
    #expect(disk.files.map(\.ending?.reason) == [.parameters, .end])
    #expect(disk.skipped == leftOut)
    guard leftOut > 0 else { return }
    let folder = try TemporaryFolder()
    for (number, file) in disk.files.enumerated() {
      try Data(file.bytes).write(to: folder.url("\(number).mp4"))
      #expect(try FFmpeg.frameHashes(of: folder("\(number).mp4")).count == file.ending?.frames)
    }
  }

  @Test("a damaged key picture whose parameter sets are those of the file costs nothing else")
  func damagedKey() throws {
    let clip = Self.closedGroups[1]
    var units = try clip.timedUnits(of: clip.encoded())
    for index in [12, 24] { units[index] = units[index].damaged }
    units[24] = units[24].withoutSets
    #expect(try VirtualDisk.record(units, as: .mp4).files.map(\.ending?.frames) == [48])
  }

  @Test(
    "behind a leap of the sender's clock, a file goes on up to the next key picture",
    arguments: [100, -100, 3600], [Duration.seconds(1), nil])
  func leapWithinAGroup(seconds: Int, segment: Duration?) throws {
    let clip = Clip(
      name: "leap", frames: 90, encoder: ["-bf", "0", "-g", "30", "-sc_threshold", "0"])
    let units = try clip.timedUnits(of: clip.encoded()).enumerated().map { number, unit in
      number < 40 ? unit : unit.moved(by: .seconds(seconds), arriving: .zero)
    }
    let disk = try VirtualDisk.record(units, as: .mp4, segment: segment)
    #expect(disk.skipped == 0)
    #expect(disk.files.map(\.ending?.frames) == (segment == nil ? [60, 30] : [30, 30, 30]))
    #expect(disk.files.map(\.ending?.reason) == (segment == nil ? [] : [.time]) + [.clock, .end])
    for file in disk.files {
      let ending = try #require(file.ending)
      #expect(abs(ending.duration - Double(ending.frames) / 30) < 0.05, "\(ending.duration)")
    }
    var recordable = RecordableUnits(inFiles: true)
    #expect(units.count { recordable.takes($0) } == units.count)
  }

  @Test("a pipe ends where the parameter sets change")
  func pipe() throws {
    let small = try Self.clips[0].timedUnits(of: Self.clips[0].encoded())
    var clip = Self.clips[0]
    (clip.width, clip.height) = (320, 240)
    let large = try clip.timedUnits(of: clip.encoded(), startingAt: 48)
    #expect(throws: RecordingError.cannotChange(.parameters)) {
      try VirtualDisk.record(small + large, as: .mp4, isPipe: true)
    }
  }

  @Test("what comes before a change of the parameter sets is in the pipe")
  func wholePipe() async throws {
    let small = try Self.clips[0].timedUnits(of: Self.clips[0].encoded())
    var clip = Self.clips[0]
    (clip.width, clip.height) = (320, 240)
    let large = try clip.timedUnits(of: clip.encoded(), startingAt: 48)
    let folder = try TemporaryFolder()
    let descriptor = open(folder("a.mp4"), O_WRONLY | O_CREAT, 0o600)
    var configuration = OutputLane.Configuration(
      target: .descriptor(descriptor), format: try #require(catalogue.format(named: "mp4")))
    configuration.policy = .block
    let lane = try OutputLane(configuration)
    for unit in small + large { lane.write(unit) }
    let summary = await lane.finish()
    #expect(summary.error as? RecordingError == .cannotChange(.parameters))
    #expect(summary.counters.written == small.count)
    #expect(try Probe(folder("a.mp4")).packets.count == small.count)
  }

  @Test("sets that are repeated with zeros behind them change nothing")
  func paddedSets() throws {
    var units = try Self.clips[0].timedUnits(of: Self.clips[0].encoded())
    units = units.enumerated().map { $0 > 0 ? $1.withZeros : $1 }
    #expect(try VirtualDisk.record(units, as: .mp4).files.count == 1)
  }

  @Test(
    "sets that come only once are in every file", arguments: Container.recordings,
    [clips[1], clips[6]])
  func setsOnce(_ container: Container, _ clip: Clip) throws {
    let folder = try TemporaryFolder()
    let units = try clip.timedUnits(of: clip.encoded()).enumerated().map {
      $0 > 0 ? $1.withoutSets : $1
    }
    let disk = try VirtualDisk.record(units, as: container, segment: .seconds(0.3))
    #expect(disk.files.count >= 3)
    for (number, file) in disk.files.enumerated() {
      let path = folder("\(number)." + container.name)
      try Data(file.bytes).write(to: URL(fileURLWithPath: path))
      #expect(try FFmpeg.frameHashes(of: path).count == file.ending?.frames)
    }
  }

  /// `intra-refresh=1` of x264 sends no IDR picture but the first; whoever comes later has none.
  @Test(
    "a stream that is refreshed bit by bit is cut where a refresh begins",
    arguments: [(0, [90, 90, 90, 30]), (15, [90, 90, 30])])
  func refreshes(missed: Int, frames: [Int]) throws {
    let clip = Clip(
      name: "refreshed", width: 64, height: 48, frames: 300,
      encoder: ["-bf", "0", "-g", "30", "-sc_threshold", "0"])
    let units = try clip.timedUnits(of: clip.encoded()).enumerated().map { number, unit in
      number > 0 && unit.isRandomAccess ? unit.asPartOfARefresh : unit
    }
    let disk = try VirtualDisk.record(
      Array(units[missed...]), as: .mp4, segment: .seconds(2.5))
    #expect(disk.files.map(\.ending?.frames) == frames)
    #expect(disk.skipped == clip.frames - missed - frames.reduce(0, +))
  }

  @Test("an outage and a lost connection each begin a file at the next key picture")
  func outages() throws {
    let clip = Clip(
      name: "GOPs", frames: 90, encoder: ["-bf", "0", "-g", "30", "-sc_threshold", "0"])
    let units = try clip.timedUnits(of: clip.encoded())
    // Five seconds are missing before the 40th picture.
    var late = units.enumerated().map { $0 < 40 ? $1 : $1.moved(by: .seconds(5)) }
    late[40] = late[40].damaged
    let disk = try VirtualDisk.record(late, as: .matroska)
    #expect(disk.files.map(\.ending?.frames) == [40, 30])
    #expect(disk.files.map(\.ending?.reason) == [.outage, .end])
    #expect(disk.skipped == 20)
    var recordable = RecordableUnits(inFiles: true)
    #expect(late.filter { recordable.takes($0) }.count == 70)
    recordable = RecordableUnits(inFiles: false)
    #expect(late.filter { recordable.takes($0) }.count == 90)

    let items =
      units.prefix(40).map { OutputItem.unit($0) } + [.interruption]
      + units.dropFirst(60).map { .unit($0) }
    let broken = try VirtualDisk.record(items: items, as: .matroska)
    #expect(broken.files.map(\.ending?.frames) == [40, 30])
    #expect(broken.files.map(\.ending?.reason) == [.outage, .end])
  }

  @Test("a sender that sends nothing while nothing moves loses no picture")
  func pauses() throws {
    let clip = Clip(
      name: "GOPs", frames: 90, encoder: ["-bf", "0", "-g", "30", "-sc_threshold", "0"])
    let units = try clip.timedUnits(of: clip.encoded()).enumerated().map {
      $0 < 40 ? $1 : $1.moved(by: .seconds(5))
    }
    let disk = try VirtualDisk.record(units, as: .matroska)
    #expect(disk.files.map(\.ending?.frames) == [60, 30])
    #expect(disk.files.map(\.ending?.reason) == [.outage, .end])
    #expect(disk.skipped == 0)
    for isInFiles in [true, false] {
      var recordable = RecordableUnits(inFiles: isInFiles)
      #expect(units.allSatisfy { recordable.takes($0) })
    }
  }

  @Test("no file begins with a picture that lacks something")
  func damagedStart() throws {
    let clip = Clip(
      name: "GOPs", frames: 60, encoder: ["-bf", "0", "-g", "20", "-sc_threshold", "0"])
    let units = try clip.timedUnits(of: clip.encoded())
    let damaged = units.enumerated().map { $0 == 0 ? $1.damaged : $1 }
    let disk = try VirtualDisk.record(damaged, as: .mp4)
    #expect(disk.files.map(\.ending?.frames) == [40])
    #expect(disk.skipped == 20)
    var recordable = RecordableUnits(inFiles: true)
    #expect(damaged.filter { recordable.takes($0) }.count == 40)
  }

  @Test("a damaged picture within a file costs nothing else")
  func damageInside() throws {
    let units = try Self.clips[0].timedUnits(of: Self.clips[0].encoded())
    let damaged = units.enumerated().map { $0 == 5 || $0 == 12 ? $1.damaged : $1 }
    #expect(try VirtualDisk.record(damaged, as: .mp4).files.map(\.ending?.frames) == [48])
  }

  @Test("a clock that is set begins a new file")
  func clockSet() throws {
    let units = try Self.clips[0].timedUnits(of: Self.clips[0].encoded())
    let disk = try VirtualDisk.record(units, as: .mp4, clockStep: (after: 14, by: .seconds(86_400)))
    #expect(disk.files.map(\.ending?.reason) == [.clockSet, .end])
    #expect(disk.files.map(\.ending?.frames) == [24, 24])
    let start = disk.files.last?.beginning.start.description
    #expect(start?.hasPrefix("2026-11-24T10:15:01") == true)
  }

  @Test("a stream that reorders further than it says costs one picture's time, not the recording")
  func reordering() throws {
    let clip = Clip(
      name: "GOPs", frames: 90, encoder: ["-bf", "2", "-g", "30", "-sc_threshold", "0"])
    let units = try clip.timedUnits(of: clip.encoded(), depth: 0)
    let disk = try VirtualDisk.record(units, as: .mp4)
    #expect(disk.files.reduce(0) { $0 + ($1.ending?.frames ?? 0) } == 90)
    #expect(disk.files.first?.ending?.reason == .reordering)
    #expect(disk.files.count <= 4)
  }
  @Test(
    "a pause follows the first picture of a stream that does not say how it reorders",
    arguments: Container.recordings)
  func pauseBehindTheFirst(_ container: Container) throws {
    let clip = Clip(
      name: "GOPs", frames: 60, encoder: ["-bf", "2", "-g", "30", "-sc_threshold", "0"],
      h264Parameters: "open-gop=0:b-adapt=0")
    let units = try clip.timedUnits(of: clip.encoded()).enumerated().map {
      $0 > 0 ? $1.moved(by: .seconds(2)) : $1
    }
    let disk = try VirtualDisk.record(units, as: container)
    #expect(disk.files.map(\.ending?.frames) == [60])
    try Self.expectTimes(of: units, in: disk.files[0], container)
  }
}
