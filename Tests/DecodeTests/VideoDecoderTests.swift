import Bitstream
import BlockingIO
import CFFmpeg
import Decode
import Defragment
import Dispatch
import NIOCore
import Outputs
import RTPWire
import Synchronization
import TestSupport
import Testing

@Suite struct VideoDecoderTests {
  static let clips: [Clip] = [
    Clip(name: "baseline", encoder: ["-profile:v", "baseline"]),
    Clip(name: "B pyramid", encoder: ["-bf", "3", "-g", "12"]),
    Clip(
      name: "open GOP", frames: 40, encoder: ["-bf", "3", "-g", "10", "-x264-params", "open-gop=1"]),
    Clip(name: "zero latency, slices", encoder: ["-tune", "zerolatency", "-slices", "4"]),
    Clip(name: "H.264 10 bit", pixelFormat: "yuv420p10le"),
    Clip(name: "H.264 4:2:2", pixelFormat: "yuv422p"),
    Clip(name: "H.264 4:2:2 10 bit", pixelFormat: "yuv422p10le"),
    Clip(name: "H.264 4:4:4", pixelFormat: "yuv444p"),
    Clip(name: "H.264 monochrome", pixelFormat: "gray"),
    Clip(name: "H.264 full range", pixelFormat: "yuvj420p"),
    Clip(name: "MBAFF", encoder: ["-flags", "+ildct+ilme", "-x264-params", "tff=1"]),
    Clip(name: "H.264 odd size", width: 174, height: 98),
    Clip(
      name: "periodic intra refresh", frames: 40,
      encoder: ["-x264-params", "intra-refresh=1:keyint=20"]),
    Clip(name: "H.265", codec: .testH265),
    Clip(name: "H.265 open GOP", codec: .testH265, frames: 40, encoder: ["-g", "10"]),
    Clip(name: "H.265 10 bit", codec: .testH265, pixelFormat: "yuv420p10le"),
    Clip(name: "H.265 4:4:4", codec: .testH265, pixelFormat: "yuv444p"),
    Clip(name: "H.265 monochrome", codec: .testH265, pixelFormat: "gray"),
    Clip(name: "H.265 odd size", codec: .testH265, width: 176, height: 98),
  ]

  @Test(
    "every frame of the stream comes out once, in order, as ffmpeg decodes it", arguments: clips)
  func equalsFFmpeg(_ clip: Clip) async throws {
    let stream = try clip.encoded()
    let expected = try clip.decodedByFFmpeg(stream)
    let units = clip.accessUnits(of: stream)
    #expect(units.count == clip.frames)

    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    #expect(collector.frames.count == clip.frames)
    #expect(collector.failures == [])
    #expect(packed(collector.frames) == expected)
    await decoder.close()
  }
}

/// The order of output is known from the stream itself, whatever it says of itself.
@Suite struct DecoderOrderTests {
  enum Saying: Sendable, CaseIterable { case truth, nothing, none, one, most }
  enum Times: Sendable, CaseIterable { case rising, decodingOrder, standingStill }

  static let clips: [Clip] = {
    var clips = [1, 2, 3, 7, 16].flatMap { count in
      ["none", "strict", "normal"].map { pyramid in
        Clip(
          name: "\(count) B pictures, pyramid \(pyramid)", frames: 45,
          encoder: ["-bf", "\(count)", "-g", "20"],
          h264Parameters: "b-adapt=0:b-pyramid=\(pyramid)")
      }
    }
    clips += [
      Clip(name: "no B pictures", encoder: ["-bf", "0"]),
      Clip(
        name: "B pictures where they are worth it", frames: 45, encoder: ["-bf", "5", "-g", "30"]),
      Clip(
        name: "open GOP", frames: 45, encoder: ["-bf", "3", "-g", "10"],
        h264Parameters: "open-gop=1:b-adapt=0"),
      Clip(
        name: "MBAFF", frames: 45, encoder: ["-flags", "+ildct+ilme", "-bf", "2"],
        h264Parameters: "tff=1:b-adapt=0"),
      Clip(
        name: "intra refresh", frames: 45, encoder: ["-bf", "2"],
        h264Parameters: "intra-refresh=1:keyint=20:b-adapt=0"),
    ]
    return clips
  }()

  @Test("every picture comes out once, in order", arguments: clips, Saying.allCases)
  func order(_ clip: Clip, _ saying: Saying) async throws {
    let stream = try clip.encoded()
    let units = clip.accessUnits(of: stream).map { unit in
      switch saying {
      case .truth: unit
      case .nothing: unit.withoutVUI
      case .none: unit.sayingReorderDepth(0)
      case .one: unit.sayingReorderDepth(1)
      case .most: unit.sayingReorderDepth(16)
      }
    }
    try await expect(units, toGive: clip.decodedByFFmpeg(stream))
  }

  static let h265: [Clip] = ["0", "1", "3", "7", "16"].flatMap { count in
    ["", ":open-gop=0", ":no-b-pyramid=1", ":radl=1:open-gop=0"].filter {
      count != "0" || !$0.contains("radl")
    }
    .map { more in
      Clip(
        name: "H.265, \(count) B pictures\(more)", codec: .testH265, frames: 45,
        encoder: ["-g", "20"], codecParameters: "b-adapt=0:bframes=\(count)\(more)")
    }
  }

  @Test("every picture of H.265 comes out once, in order", arguments: h265)
  func orderOfH265(_ clip: Clip) async throws {
    let stream = try clip.encoded()
    try await expect(clip.accessUnits(of: stream), toGive: clip.decodedByFFmpeg(stream))
  }

  /// From no B pictures, or few at fixed places, to eight where they cost least.
  static let presets: [Clip] = [VideoCodec.testH264, .testH265].flatMap { codec in
    ["ultrafast", "veryfast", "medium", "slow", "veryslow"].map { preset in
      Clip(
        name: "\(codec.encodingName), \(preset)", codec: codec, width: 96, height: 64, frames: 30,
        encoder: ["-preset", preset, "-g", "20"])
    }
  }

  @Test("so does every picture of every preset", arguments: presets)
  func orderOfPresets(_ clip: Clip) async throws {
    let stream = try clip.encoded()
    let units = clip.accessUnits(of: stream)
    let expected = try clip.decodedByFFmpeg(stream)
    try await expect(units, toGive: expected)
    if clip.codec == .testH264 { try await expect(units.map(\.withoutVUI), toGive: expected) }
  }

  @Test(
    "so does every picture of a profile whose other tools it does not use",
    arguments: [0, 5, 9, 11] as [UInt8])
  func orderOfOtherProfiles(_ profile: UInt8) async throws {
    let clip = Self.h265[8]
    var stream = try clip.encoded()
    let begin: [UInt8] = [0, 0, 1, 0x42, 0x01]
    // Behind them are the number of sub-layers and general_profile_idc (H.265 §7.3.3).
    for place in stream.indices.dropLast(6) where stream[place...].starts(with: begin) {
      stream[place + 6] = stream[place + 6] & 0xE0 | profile
    }
    try await expect(clip.accessUnits(of: stream), toGive: clip.decodedByFFmpeg(stream))
  }

  @Test(
    "what leads the picture where a stream is joined is left out",
    arguments: [
      Clip(
        name: "H.264", frames: 45, encoder: ["-bf", "3", "-g", "10"],
        h264Parameters: "open-gop=1:b-adapt=0"),
      Clip(
        name: "H.264, fields in one picture", frames: 45,
        encoder: ["-bf", "3", "-g", "10", "-flags", "+ildct+ilme"],
        h264Parameters: "open-gop=1:b-adapt=0:tff=1"),
      Clip(
        name: "H.265", codec: .testH265, frames: 45, encoder: ["-g", "10"],
        codecParameters: "b-adapt=0:bframes=3"),
    ])
  func joined(_ clip: Clip) async throws {
    let units = clip.accessUnits(of: try clip.encoded())
    let keys = units.indices.filter { units[$0].isRandomAccess }
    #expect(keys.count > 2)
    // Of the few pictures behind the last one, ffmpeg leaves out one more.
    for key in keys.dropFirst().dropLast() {
      let rest = Array(units[key...])
      let collector = Collector()
      let decoder = try collector.decoder(for: clip.codec)
      for unit in rest { try await decoder.decode(unit) }
      await decoder.flush()
      await decoder.close()
      #expect(collector.frames.count < rest.count)
      let stream = rest.flatMap { Array($0.bytes.readableBytesView) }
      let isEqual = try packed(collector.frames) == clip.decodedByFFmpeg(stream)
      #expect(isEqual)
    }
  }

  @Test(
    "times that are wrong change nothing", arguments: [clips[5], clips[8], h265[8]], Times.allCases)
  func times(_ clip: Clip, _ times: Times) async throws {
    let stream = try clip.encoded()
    let units = clip.accessUnits(of: stream).enumerated().map { number, unit in
      switch times {
      case .rising: unit
      case .decodingOrder: unit.at(Int64(number) * 3000)
      case .standingStill: unit.at(7)
      }
    }
    try await expect(units, toGive: clip.decodedByFFmpeg(stream))
  }

  private func expect(_ units: [AccessUnit], toGive expected: [UInt8]) async throws {
    let collector = Collector()
    let decoder = try #require(units.first.map { try collector.decoder(for: $0.codec) })
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.failures == [])
    #expect(collector.frames.count == units.count)
    // Not the bytes themselves: a report of their differences would help nobody.
    let isEqual = packed(collector.frames) == expected
    #expect(isEqual)
  }
}

@Suite struct DecoderBehaviourTests {
  @Test(
    "without reordering every frame comes out with its own access unit",
    arguments: [
      Clip(name: "H.264", encoder: ["-bf", "0"]),
      Clip(
        name: "H.264 without reorder depth", encoder: ["-bf", "0", "-x264-params", "bframes=0"]),
      Clip(name: "H.265", codec: .testH265, encoder: ["-bf", "0"]),
    ])
  func noDelay(_ clip: Clip) async throws {
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    var units = clip.accessUnits(of: try clip.encoded())
    if clip.name.contains("without") { units = units.map(\.withoutVUI) }
    for (number, unit) in units.enumerated() {
      try await decoder.decode(unit)
      try await eventually { collector.frames.count == number + 1 }
      #expect(collector.frames.last?.time == unit.time)
      #expect(collector.frames.last?.firstArrival == unit.firstArrival)
      #expect(collector.frames.last?.lastArrival == unit.lastArrival)
    }
    await decoder.close()
    #expect(collector.failures == [])
  }

  @Test(
    "a reordering stream that does not say how far it reorders loses no picture",
    arguments: [
      Clip(name: "one deep", encoder: ["-bf", "2", "-x264-params", "b-pyramid=none:b-adapt=0"]),
      Clip(
        name: "pyramid", frames: 40, encoder: ["-bf", "3", "-g", "20", "-x264-params", "b-adapt=0"]),
    ])
  func unknownReorderDepth(_ clip: Clip) async throws {
    let stream = try clip.encoded()
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    for unit in clip.accessUnits(of: stream) { try await decoder.decode(unit.withoutVUI) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.failures == [])
    #expect(packed(collector.frames) == (try clip.decodedByFFmpeg(stream)))
  }

  @Test(
    "of another sender nothing is decoded on the pictures of the former one",
    arguments: [LossTreatment.conceal, .corrupt, .skip])
  func otherSource(_ treatment: LossTreatment) async throws {
    let clip = Clip(name: "groups of ten", frames: 40, encoder: ["-bf", "0", "-g", "10"])
    let units = clip.accessUnits(of: try clip.encoded())
    let first = 15
    let key = try #require(units.indices.first { $0 > first && units[$0].isRandomAccess })
    #expect(key > first + 1)
    var later = Array(units[first...])
    later[0].beginsOtherSource = true
    let collector = Collector()
    var configuration = VideoDecoder.Configuration()
    configuration.lossTreatment = treatment
    let decoder = try collector.decoder(for: clip.codec, configuration: configuration)
    for unit in units[..<10] + later { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.frames.map(\.time) == (units[..<10] + units[key...]).map(\.time))
    #expect(collector.failures.map(\.time) == units[first..<key].map(\.time))
    #expect(collector.failures.allSatisfy { $0.reason == .noRandomAccessPoint })
  }

  @Test("another sender without key pictures is shown after a while, as one that is joined is")
  func otherSourceWithoutKeyPictures() async throws {
    let clip = Clip(name: "one group", frames: 40, encoder: ["-bf", "0", "-g", "250"])
    let units = clip.accessUnits(of: try clip.encoded())
    var later = Array(units[10...])
    try #require(!later.contains { $0.isRandomAccess })
    later[0].beginsOtherSource = true
    let collector = Collector()
    var configuration = VideoDecoder.Configuration()
    configuration.keyPicturePatience = .milliseconds(200)
    let decoder = try collector.decoder(for: clip.codec, configuration: configuration)
    for unit in units[..<10] + later { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    let begun = try #require(collector.frames.dropFirst(10).first)
    #expect(begun.time.seconds >= later[0].time.seconds + 0.2)
    #expect(collector.frames.count + collector.failures.count == units.count)
    #expect(collector.failures.allSatisfy { $0.reason == .noRandomAccessPoint })
  }

  static let changes: [Clip] = [
    Clip(name: "VGA", width: 640, height: 480, frames: 5, encoder: ["-bf", "3"]),
    Clip(name: "HD", width: 1920, height: 1080, frames: 5, encoder: ["-bf", "2"]),
    Clip(name: "tiny", width: 64, height: 64, frames: 6, encoder: ["-bf", "3"]),
    Clip(name: "odd", width: 174, height: 98, frames: 6, encoder: ["-bf", "3"]),
    Clip(name: "10 bit", width: 174, height: 98, frames: 6, pixelFormat: "yuv420p10le"),
    Clip(name: "4:2:2", width: 174, height: 98, frames: 6, pixelFormat: "yuv422p10le"),
    Clip(name: "4:4:4", width: 174, height: 98, frames: 6, pixelFormat: "yuv444p10le"),
    Clip(name: "VGA again", width: 640, height: 480, frames: 5, encoder: ["-tune", "zerolatency"]),
  ]

  @Test(
    "new parameter sets in mid-stream lose no picture of either size",
    arguments: [VideoCodec.testH264, .testH265])
  func parameterSetsChange(_ codec: VideoCodec) async throws {
    let collector = Collector()
    let decoder = try collector.decoder(for: codec)
    var expected: [UInt8] = []
    var count = 0
    for var clip in Self.changes {
      clip.codec = codec
      if codec == .testH265 { clip.encoder = [] }
      let stream = try clip.encoded()
      expected += try clip.decodedByFFmpeg(stream)
      for unit in clip.accessUnits(of: stream, startingAt: count) { try await decoder.decode(unit) }
      count += clip.frames
    }
    await decoder.flush()
    await decoder.close()
    #expect(collector.failures == [])
    #expect(collector.frames.count == count)
    #expect(packed(collector.frames) == expected)
  }

  @Test("a stream that no longer reorders no longer waits")
  func reorderingEnds() async throws {
    let first = Self.changes[0]
    let second = try #require(Self.changes.last)
    let units = first.accessUnits(of: try first.encoded())
    let later = second.accessUnits(of: try second.encoded(), startingAt: units.count)
      .map { $0.with(format: Self.changes[1].format) }
    let collector = Collector()
    let decoder = try collector.decoder(for: first.codec)
    for (number, unit) in (units + later).enumerated() {
      try await decoder.decode(unit)
      if number >= units.count { try await eventually { collector.frames.count == number + 1 } }
    }
    await decoder.close()
    #expect(collector.failures == [])
  }

  @Test("a crop of any number of columns is exact, not rounded to what suits the processor")
  func oddCrop() async throws {
    let clip = Clip(name: "cropped", frames: 5, encoder: ["-tune", "zerolatency"])
    let metadata = "h264_metadata=crop_left=6:crop_right=2:crop_top=2"
    let stream = try run(
      ["-f", "h264", "-i", "pipe:0", "-c", "copy", "-bsf:v", metadata, "-f", "h264", "-"],
      input: try clip.encoded())
    let expected = try run(
      ["-flags", "unaligned", "-f", "h264", "-i", "pipe:0", "-f", "rawvideo", "-"], input: stream)
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    for unit in clip.accessUnits(of: stream) { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.frames.first?.width == 168)
    #expect(collector.frames.first?.height == 142)
    #expect(packed(collector.frames) == expected)
  }

  @Test("each access unit before the first random-access point fails once, and says so")
  func joiningInMidStream() async throws {
    let clip = Clip(name: "GOPs", frames: 30, encoder: ["-g", "10", "-tune", "zerolatency"])
    let units = clip.accessUnits(of: try clip.encoded())
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    for unit in units[3...] { try await decoder.decode(unit) }
    await decoder.flush()
    #expect(collector.failures.map(\.time) == units[3..<10].map(\.time))
    #expect(collector.failures.allSatisfy { $0.reason == .noRandomAccessPoint })
    #expect(collector.frames.map(\.time) == units[10...].map(\.time))
    await decoder.close()
  }

  @Test("leading pictures that lack their references fail, the rest comes out")
  func leadingPictures() async throws {
    let clip = Clip(name: "open GOP", codec: .testH265, frames: 40, encoder: ["-g", "10"])
    let units = clip.accessUnits(of: try clip.encoded())
    let second = try #require(units.dropFirst().firstIndex { $0.isRandomAccess })
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    for unit in units[second...] { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.frames.count + collector.failures.count == units.count - second)
    #expect(collector.failures.count > 0)
    #expect(collector.failures.allSatisfy { $0.reason == .noPicture })
  }

  @Test("fields that come in access units of their own give one frame and no failure")
  func fieldsApart() async throws {
    let units = FieldStream.accessUnits(frames: 20)
    let collector = Collector()
    let decoder = try collector.decoder(for: .testH264)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.failures == [])
    #expect(collector.frames.map(\.time) == stride(from: 0, to: 40, by: 2).map { units[$0].time })
    #expect(
      collector.frames.map(\.lastArrival)
        == stride(from: 1, to: 40, by: 2).map { units[$0].lastArrival })
    // Top and bottom rows come from the two fields, which were given different brightness.
    let frame = try #require(collector.frames.last)
    #expect(frame.packed[0..<16].allSatisfy { $0 == 119 })
    #expect(frame.packed[16..<32].allSatisfy { $0 == 169 })
  }

  @Test(
    "fields apart come out in order, with B pictures, whatever the stream says of itself",
    arguments: [nil, 0, 1, 16] as [Int?])
  func bidirectionalFieldsApart(depth: Int?) async throws {
    let units = FieldStream.accessUnits(frames: 19, bidirectional: 2)
    #expect(units[2].time.ticks == 9000, "the fourth picture is sent before the second")
    let collector = Collector()
    let decoder = try collector.decoder(for: .testH264)
    for unit in units { try await decoder.decode(unit.sayingReorderDepth(depth)) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.failures == [])
    #expect(collector.frames.map(\.time.ticks) == (0..<19 as Range<Int64>).map { 3000 * $0 })
    #expect(collector.frames.allSatisfy { $0.condition == .intact })
    // The rows of both fields of each.
    #expect(collector.frames.map { $0.packed[0] } == Array(100..<119 as Range<UInt8>))
    #expect(collector.frames.map { $0.packed[16] } == Array(150..<169 as Range<UInt8>))
  }

  @Test("a field whose other one is lost is shown, with its rows twice")
  func lostField() async throws {
    var units = FieldStream.accessUnits(frames: 20)
    units.remove(at: 21)
    units[21] = units[21].behindLoss
    let collector = Collector()
    let decoder = try collector.decoder(for: .testH264)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.failures == [])
    #expect(collector.frames.count == 20)
    let frame = collector.frames[10]
    #expect(frame.condition == .concealed && frame.damage == .lostField)
    #expect(frame.packed[0..<32].allSatisfy { $0 == 110 })
  }

  @Test(
    "a stream whose first key picture never came is shown after a while, as damaged",
    arguments: LossTreatment.allCases, [false, true])
  func noKeyPicture(_ treatment: LossTreatment, isH265: Bool) async throws {
    let clip = Clip(
      name: "no key picture", codec: isH265 ? .testH265 : .testH264, frames: 100,
      encoder: ["-bf", "0", "-g", "300"])
    let units = clip.accessUnits(of: try clip.encoded())
    var configuration = VideoDecoder.Configuration()
    configuration.lossTreatment = treatment
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec, configuration: configuration)
    // The parameter sets alone in an access unit.
    try await decoder.decode(units[0].withoutPicture)
    for unit in units[1...] { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    guard treatment == .conceal || treatment == .corrupt else {
      #expect(collector.frames.isEmpty)
      return
    }
    // Two seconds of 30 pictures.
    #expect(collector.frames.count == 39)
    #expect(collector.frames.allSatisfy { $0.condition == .damaged && $0.damage == .noKeyPicture })
  }

  @Test("two requests for a key picture in vain are waiting enough", arguments: [false, true])
  func keyPictureRequestsInVain(isH265: Bool) async throws {
    let clip = Clip(
      name: "no key picture", codec: isH265 ? .testH265 : .testH264, frames: 40,
      encoder: ["-bf", "0", "-g", "300"])
    var units = clip.accessUnits(of: try clip.encoded())
    for index in units.indices { units[index].unansweredKeyPictureRequests = index / 10 }
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    try await decoder.decode(units[0].withoutPicture)
    for unit in units[1...] { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.frames.count == 20)
    #expect(collector.frames.allSatisfy { $0.condition == .damaged && $0.damage == .noKeyPicture })
  }

  @Test(
    "samples that do not have the hash that came with them are damaged",
    arguments: [
      ("1", "yuv420p"), ("1", "yuv422p10le"), ("1", "gray"), ("2", "gray"), ("3", "yuv420p"),
      ("3", "yuv444p10le"), ("3", "gray"),
    ])
  func hashes(kind: String, pixelFormat: String) async throws {
    let clip = Clip(
      name: "hashes", codec: .testH265, pixelFormat: pixelFormat, encoder: ["-bf", "0", "-g", "8"],
      codecParameters: "hash=\(kind)")
    var units = clip.accessUnits(of: try clip.encoded())
    #expect(units.allSatisfy { $0.units.last?.type == 40 })
    units[3] = units[3].withWrongSlice
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    for unit in units { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    let conditions = collector.frames.map(\.condition)
    #expect(conditions.prefix(3).allSatisfy { $0 == .intact })
    #expect(conditions[3] == .concealed && collector.frames[3].damage == .wrongHash)
    #expect(conditions[4..<8].allSatisfy { $0 == .damaged })
    #expect(conditions[8...].allSatisfy { $0 == .intact })
  }

  @Test("a hash that came behind the marker is not of the next picture (live555)")
  func lateHashes() async throws {
    let clip = Clip(
      name: "late hashes", codec: .testH265, encoder: ["-bf", "0"], codecParameters: "hash=1")
    let units = clip.accessUnits(of: try clip.encoded())
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    // The first hash is where it belongs: one that is right once is believed.
    try await decoder.decode(units[0])
    for (former, unit) in zip(units, units.dropFirst()) {
      let hash = try #require(former.units.last)
      let rest = unit.units.dropLast()
      #expect(hash.type == 40 && !rest.contains { $0.type == 40 })
      let contents = [former.bytes(of: hash)] + rest.map { unit.bytes(of: $0) }
      try await decoder.decode(
        unit.with(bytes: contents.flatMap { [0, 0, 0, 1] + $0.readableBytesView }))
    }
    await decoder.flush()
    await decoder.close()
    #expect(collector.frames.count == clip.frames)
    #expect(collector.frames.allSatisfy { $0.condition == .intact })
  }

  @Test("hashes that no picture has say nothing (x265, cyclic redundancy checks of chroma)")
  func wrongHashes() async throws {
    let clip = Clip(
      name: "wrong hashes", codec: .testH265, encoder: ["-bf", "0"], codecParameters: "hash=2")
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    for unit in clip.accessUnits(of: try clip.encoded()) { try await decoder.decode(unit) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.frames.count == clip.frames)
    #expect(collector.frames.allSatisfy { $0.condition == .intact })
  }

  @Test(
    "garbage and supplemental data alone fail once each",
    arguments: [VideoCodec.testH264, .testH265])
  func garbage(_ codec: VideoCodec) async throws {
    let clip = Clip(name: "plain", codec: codec, encoder: ["-bf", "0"])
    let units = clip.accessUnits(of: try clip.encoded())
    let collector = Collector()
    let decoder = try collector.decoder(for: codec)
    var random = SeededGenerator(seed: 7)
    var submitted = 0
    for unit in units {
      try await decoder.decode(unit)
      try await decoder.decode(unit.with(bytes: random.bytes(200)))
      submitted += 2
    }
    try await decoder.decode(units[1].with(bytes: []))
    submitted += 1
    await decoder.flush()
    await decoder.close()
    #expect(collector.frames.count == units.count)
    #expect(collector.failures.count == units.count + 1)
    #expect(collector.events.count == submitted)
  }

  @Test("ten thousand hostile access units: one answer each, and the next clean stream is whole")
  func hostile() async throws {
    for codec in [VideoCodec.testH264, .testH265] {
      let clip = Clip(name: "plain", codec: codec, width: 64, height: 64, frames: 30)
      let stream = try clip.encoded()
      let units = clip.accessUnits(of: stream)
      let expected = try clip.decodedByFFmpeg(stream)
      let collector = Collector()
      let decoder = try collector.decoder(for: codec)
      var random = SeededGenerator(seed: 1)
      for number in 0..<5_000 {
        let unit = units[number % units.count]
        var bytes = Array(unit.bytes.readableBytesView)
        for _ in 0..<Int.random(in: 1...8, using: &random) {
          bytes[Int.random(in: 4..<bytes.count, using: &random)] = .random(
            in: 0...255, using: &random)
        }
        if number % 5 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count - 4, using: &random)) }
        try await decoder.decode(unit.with(bytes: bytes))
      }
      // The answers come when they are known, not only in the end.
      try await eventually { collector.events.count > 5_000 - 40 }
      await decoder.flush()
      #expect(collector.events.count == 5_000)
      for unit in units { try await decoder.decode(unit) }
      await decoder.flush()
      #expect(packed(Array(collector.frames.suffix(clip.frames))) == expected)
      await decoder.close()
    }
  }

  @Test("a picture larger than allowed is refused before anything is allocated for it")
  func oversized() async throws {
    let clip = Clip(name: "large", width: 640, height: 480, frames: 3)
    let units = clip.accessUnits(of: try clip.encoded())
    var configuration = VideoDecoder.Configuration()
    configuration.maximumPixels = 640 * 480 - 1
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec, configuration: configuration)
    for unit in units { try await decoder.decode(unit) }
    // The same without a format description: then libavcodec itself must refuse.
    for unit in units { try await decoder.decode(unit.with(format: nil)) }
    await decoder.flush()
    await decoder.close()
    #expect(collector.frames.count == 0)
    #expect(collector.failures.count == 6)
    #expect(
      collector.failures.prefix(3).allSatisfy {
        $0.reason == .rejectedSize(width: 640, height: 480)
      })
  }

  @Test("a full queue says so and keeps nothing, and waiting for room loses nothing")
  func backPressure() async throws {
    let clip = Clip(name: "plain", encoder: ["-tune", "zerolatency"])
    let units = clip.accessUnits(of: try clip.encoded())
    let gate = DispatchSemaphore(value: 0)
    let isDecoding = Mutex(false)
    var configuration = VideoDecoder.Configuration()
    configuration.queueLimits = QueueLimits(count: 4, bytes: 1 << 20)
    let collector = Collector()
    let decoder = try VideoDecoder(codec: clip.codec, configuration: configuration) { frame in
      isDecoding.withLock { $0 = true }
      gate.wait()
      collector.append(.frame(frame))
    } onFailure: {
      collector.append(.failure($0))
    }
    // One is being decoded, four wait.
    #expect(decoder.submit(units[0]) == .queued)
    try await eventually { isDecoding.withLock(\.self) }
    for unit in units[1...4] { #expect(decoder.submit(unit) == .queued) }
    #expect(decoder.submit(units[5]) == .full)
    let waiting = Task { for unit in units[5...] { try await decoder.decode(unit) } }
    for _ in units { gate.signal() }
    try await waiting.value
    await decoder.flush()
    #expect(collector.frames.map(\.time) == units.map(\.time))
    await decoder.close()
    #expect(decoder.submit(units[0]) == .closed)
  }

  @Test("closing answers for everything that was handed over, and nothing comes afterwards")
  func closing() async throws {
    let clip = Clip(name: "reordered", encoder: ["-bf", "3"])
    let units = clip.accessUnits(of: try clip.encoded())
    let collector = Collector()
    let decoder = try collector.decoder(for: clip.codec)
    for unit in units { _ = decoder.submit(unit) }
    await decoder.close()
    #expect(collector.events.count == units.count)
    await decoder.flush()
    await decoder.close()
    #expect(collector.events.count == units.count)
  }

  @Test("opening and closing decoders forever takes no memory")
  func openingAndClosing() async {
    // In a separate process, because other tests allocate memory meanwhile.
    await #expect(processExitsWith: .success) {
      let clip = Clip(name: "plain", width: 640, height: 480, frames: 3)
      let units = clip.accessUnits(of: try clip.encoded())
      func round() async throws {
        let decoder = try Collector().decoder(for: clip.codec)
        for unit in units { try await decoder.decode(unit) }
        await decoder.flush()
        await decoder.close()
      }
      for _ in 0..<20 { try await round() }
      // On a busy machine malloc begins more arenas for threads that overlap, but not for ever;
      // what leaks does so in most of the series.
      var growth: [Int] = []
      for _ in 0..<7 {
        let before = try residentBytes()
        for _ in 0..<40 { try await round() }
        growth.append(try residentBytes() - before)
      }
      growth.sort()
      #expect(growth[3] < 40 * 40 << 10, "\(growth)")
    }
  }

  @Test("libav says nothing about damage, and the log level stays what the program has set")
  func silence() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let level = av_log_get_level()
      for codec in [VideoCodec.testH264, .testH265] {
        let clip = Clip(name: "plain", codec: codec, width: 64, height: 64, frames: 30)
        let decoder = try Collector().decoder(for: codec)
        var random = SeededGenerator(seed: 1)
        for unit in clip.accessUnits(of: try clip.encoded()) {
          var bytes = Array(unit.bytes.readableBytesView)
          bytes[Int.random(in: 4..<bytes.count, using: &random)] ^= 0xFF
          try await decoder.decode(unit.with(bytes: bytes))
        }
        await decoder.flush()
        await decoder.close()
      }
      #expect(av_log_get_level() == level)
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(!text.contains("[h264") && !text.contains("[hevc"), "\(text)")
  }

  @Test("only H.264 and H.265 are opened, whatever libavcodec could")
  func otherDecoders() {
    let codec = VideoCodec(
      name: "mjpeg", encodingName: "JPEG", decoderName: "mjpeg", otherFileEndings: [])
    #expect(throws: DecoderError.unsupportedCodec(name: codec.name)) {
      try Collector().decoder(for: codec)
    }
  }
}
