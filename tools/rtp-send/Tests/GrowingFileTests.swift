import Bitstream
import Foundation
import NIOCore
import TestSupport
import Testing

@testable import RTPSend

@Suite struct GrowingFileTests {
  /// Reads `bytes` in pieces of the lengths that `cut` gives.
  private func read(
    _ bytes: [UInt8], into stream: inout GrowingStream, _ cut: () -> Int
  ) throws -> [SourceAccessUnit] {
    var units: [SourceAccessUnit] = []
    while stream.file.position < bytes.count {
      let start = Int(stream.file.position)
      let end = min(bytes.count, start + cut())
      try stream.take(ByteBuffer(bytes: bytes[start..<end]))
      while let unit = try stream.next(at: 0) { units.append(unit) }
    }
    return units
  }

  private func all(
    _ bytes: [UInt8], _ known: KnownVideo?, _ cut: () -> Int
  ) throws -> [SourceAccessUnit] {
    var stream = GrowingStream(known, framesPerSecond: 30)
    var units = try read(bytes, into: &stream, cut)
    while let unit = try stream.finishFile(at: 0) { units.append(unit) }
    return units
  }

  static let mdat = Array("mdat".utf8)
  /// The forms in which writers leave the length of what they have not finished.
  static let headers: [(String, [UInt8])] = [
    ("FFmpeg, GStreamer", [0, 0, 0, 8] + Array("free".utf8) + [0, 0, 0, 0] + mdat),
    ("mov", [0, 0, 0, 8] + Array("wide".utf8) + [0, 0, 0, 0] + mdat),
    ("64 bits of 0", [0, 0, 0, 1] + mdat + [0, 0, 0, 0, 0, 0, 0, 0]),
    ("Android", [0x3F, 0x3F, 0x3F, 0x3F] + mdat),
    ("Android, 64 bits", [0, 0, 0, 1] + mdat + [UInt8](repeating: 0x3F, count: 8)),
    ("huge", [0, 0, 0, 1] + mdat + [0, 0, 0x7F, 0, 0, 0, 0, 0]),
    (
      "behind a long box",
      [0, 0, 0, 1] + Array("skip".utf8) + [0, 0, 0, 0, 0, 0, 0, 20, 1, 2, 3, 4]
        + [0, 0, 0, 0] + mdat
    ),
  ]

  @Test(arguments: headers.indices) func aPlainFileIsReadBeforeItIsClosed(form: Int) async throws {
    let clip = try await Growing.plain(Self.headers[form].1)
    let units = try all(clip.bytes, clip.known) { 1000 }
    #expect(Growing.slices(units) == clip.pictures.map(\.last), "\(Self.headers[form].0)")
    // Each key picture has the parameter sets, which the file does not.
    for unit in units where unit.isRandomAccess {
      #expect(unit.units.contains { Codec.h264.parameterSet($0) == .sequence })
    }
  }

  @Test(arguments: [
    "", "empty_moov+frag_every_frame+default_base_moof", "frag_keyframe+empty_moov",
  ])
  func cutsDoNotMatter(flags: String) async throws {
    let clip = try await flags.isEmpty ? Growing.plain() : Growing.fragmented(flags)
    let whole = try all(clip.bytes, clip.known) { clip.bytes.count }
    #expect(Growing.slices(whole) == clip.pictures.map(\.last))
    #expect(try all(clip.bytes, clip.known) { 1 } == whole)
    var dice = SeededGenerator(seed: 11)
    for _ in 0..<10 {
      #expect(try all(clip.bytes, clip.known) { dice.number(upTo: 900) } == whole)
    }
    let times = whole.map(\.presentationTicks)
    #expect(Set(times).count == whole.count)
    // 30 frames a second, and the pictures are shown in the order of the encoder's B pictures.
    #expect(zip(times.sorted(), times.sorted().dropFirst()).allSatisfy { $1 - $0 == 3000 })
    #expect(times != times.sorted())
  }

  /// The same times whether a container says them, they are told at once, or the group is read
  /// first.
  @Test func timesAgree() async throws {
    let plain = try await Growing.plain()
    let fragments = try await Growing.fragmented("empty_moov+frag_every_frame+default_base_moof")
    let folder = try TemporaryFolder()
    let file = folder("clip.h264")
    let stream = Bitstream.AnnexB.stream(of: plain.known.ordered + plain.pictures.flatMap { $0 })
    try Data(stream.readableBytesView).write(to: URL(fileURLWithPath: file))
    let source = try SourceRecipe.file(path: file, framesPerSecond: 30).make()
    var expected: [Int64] = []
    while let unit = try source.next().element { expected.append(unit.presentationTicks) }
    func relative(_ times: [Int64]) -> [Int64] { times.map { $0 - (times.first ?? 0) } }
    #expect(expected.count == Growing.frames)
    for clip in [plain, fragments] {
      let times = try all(clip.bytes, clip.known) { 500 }.map(\.presentationTicks)
      #expect(relative(times) == relative(expected))
    }
    let bytes = Array(stream.readableBytesView)
    #expect(relative(try all(bytes, nil) { 100 }.map(\.presentationTicks)) == relative(expected))
  }

  /// A thousand files of one writer, which is killed at any byte of each.
  @Test(arguments: Growing.Form.allCases) func nothingIsLostOrDoubledWhereWritersDie(
    form: Growing.Form
  ) async throws {
    let clip = try await Growing.clip(form)
    var dice = SeededGenerator(seed: 17)
    var stream = GrowingStream(form == .plain ? clip.known : nil, framesPerSecond: nil)
    var times: [Int64] = []
    for number in 0..<1000 {
      // The first one has to say what the video is.
      let end = number == 0 ? clip.bytes.count : dice.integer(below: clip.bytes.count + 1)
      var units = try read(Array(clip.bytes[..<end]), into: &stream) { dice.number(upTo: 4000) }
      // Either the next file comes, or it is noticed before that the writer has gone.
      if number.isMultiple(of: 2) {
        while let unit = try stream.settle(at: 0, isOver: true) { units.append(unit) }
      }
      let settled = units.count
      while let unit = try stream.finishFile(at: 0) { units.append(unit) }
      try #require(!number.isMultiple(of: 2) || units.count == settled, "\(end)")
      let whole = clip.ends.filter { $0 <= end }.count
      let slices = Growing.slices(units)
      try #require(slices.prefix(whole) == clip.slices.prefix(whole), "\(end)")
      // Nothing tells that the last NAL unit of an elementary stream is cut.
      for slice in slices.dropFirst(whole) {
        try #require(form == .annexB && slices.count == whole + 1, "\(end)")
        let (cut, picture) = (try #require(slice), try #require(clip.slices[whole]))
        try #require(picture.readableBytesView.starts(with: cut.readableBytesView), "\(end)")
      }
      times += units.map(\.decodingTicks)
      stream.beginFile()
    }
    #expect(times.count > 4000)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
  }

  /// A fragment comes when its last picture does, so the next file begins long after the last
  /// arrival.
  ///
  /// That is no seam; but a writer that stood still for seven seconds is one.
  @Test func longFragmentsAreNoPauses() async throws {
    let slower = ["-bsf:v", "setts=pts=PTS*10:dts=DTS*10"]
    let clip = try await Growing.fragmented("frag_keyframe+empty_moov+default_base_moof", slower)
    let fragments = Growing.topLevel(clip.bytes).filter { $0.type == "moof" }
    let second = try #require(fragments.count == 2 ? fragments[1].range.lowerBound : nil)
    var stream = GrowingStream(nil, framesPerSecond: nil)
    var times: [Int64] = []
    // Each file has four seconds in two fragments.
    for begin: Int64 in [0, 4, 8, 19] {
      for (bytes, end) in [(clip.bytes[..<second], begin + 2), (clip.bytes[second...], begin + 4)] {
        try stream.take(ByteBuffer(bytes: bytes))
        while let unit = try stream.next(at: end * 90_000) { times.append(unit.decodingTicks) }
      }
      while let unit = try stream.finishFile(at: (begin + 4) * 90_000) {
        times.append(unit.decodingTicks)
      }
      stream.beginFile()
    }
    var steps = zip(times, times.dropFirst()).map { $1 - $0 }
    try #require(steps.count == 4 * Growing.frames - 1)
    #expect(steps.remove(at: 3 * Growing.frames - 1) == 30_000 + 7 * 90_000)
    #expect(Set(steps) == [30_000])
  }

  /// The next file begins where the last picture of the one before ends.
  @Test func aLastPictureThatIsLongerLastsLonger() async throws {
    var clip = try await Growing.fragmented("frag_every_frame+empty_moov+default_base_moof")
    // The last `tfhd` box (ISO/IEC 14496-12 §8.8.7): flags, track, and how long the picture lasts.
    let data = Data(clip.bytes)
    let place = try #require(data.range(of: Data("tfhd".utf8), options: .backwards)).upperBound
    try #require(clip.bytes[place + 3] & 0x9 == 0x8)
    let length = ByteBuffer(bytes: clip.bytes[(place + 8)..<(place + 12)])
    let longer = 2 * (try #require(length.getInteger(at: 0, as: UInt32.self)))
    clip.bytes.replaceSubrange(
      (place + 8)..<(place + 12),
      with: (0..<4).map { UInt8(truncatingIfNeeded: longer >> (24 - 8 * $0)) })
    var stream = GrowingStream(nil, framesPerSecond: nil)
    var times: [Int64] = []
    for _ in 0..<3 {
      times += try read(clip.bytes, into: &stream) { 1000 }.map(\.decodingTicks)
      while let unit = try stream.finishFile(at: 0) { times.append(unit.decodingTicks) }
      stream.beginFile()
    }
    let steps = zip(times, times.dropFirst()).map { $1 - $0 }
    try #require(steps.count == 3 * Growing.frames - 1)
    for (number, step) in steps.enumerated() {
      #expect(step == (number % Growing.frames == Growing.frames - 1 ? 6000 : 3000))
    }
  }

  /// Where a writer pauses behind a picture, nothing has to follow before it is sent.
  @Test(arguments: [1, 3]) func aPictureIsSentBeforeTheNextBegins(
    picturesAtOnce: Int
  ) async throws {
    let clip = try await Growing.plain()
    let stream = Bitstream.AnnexB.stream(of: clip.known.ordered + clip.pictures.flatMap { $0 })
    for bytes in [clip.bytes, Array(stream.readableBytesView)] {
      var growing = GrowingStream(clip.known, framesPerSecond: 30)
      var (place, seen) = (0, [SourceAccessUnit]())
      let data = Data(bytes)
      for (index, picture) in clip.pictures.enumerated()
      where index % picturesAtOnce == picturesAtOnce - 1 {
        let slice = Data(try #require(picture.last).readableBytesView)
        let end = try #require(data.range(of: slice)).upperBound
        try growing.take(ByteBuffer(bytes: bytes[place..<end]))
        while let unit = try growing.next(at: 0) { seen.append(unit) }
        while let unit = try growing.settle(at: 0) { seen.append(unit) }
        // Whole pages are thought to go on.
        if !(end - place).isMultiple(of: 4096) {
          #expect(seen.last?.units.last == picture.last)
        }
        place = end
      }
      #expect(Growing.slices(seen) == clip.pictures.map(\.last))
    }
  }

  @Test func aFileThatIsClosedEndsWhereItSays() async throws {
    let clip = try await Growing.plain()
    let moov = [0, 0, 0, 12] + Array("moov".utf8) + [0, 0, 0, 0]
    var stream = GrowingStream(clip.known, framesPerSecond: 30)
    _ = try read(clip.bytes, into: &stream) { 5000 }
    let range = try #require(stream.file.headerRange)
    var header = Array(clip.bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    // Beyond 4 GiB the length takes the place of the box before; so it may here.
    let payload = UInt64(clip.bytes.count) - range.upperBound
    header.replaceSubrange(
      0..<16,
      with: [0, 0, 0, 1] + Self.mdat + withUnsafeBytes(of: (payload + 16).bigEndian) { Array($0) })
    stream.reread(ByteBuffer(bytes: header))
    #expect(throws: GrowingFault.noVideo) { try stream.take(ByteBuffer(bytes: moov)) }
    // Without that, the name of the box tells.
    var other = GrowingStream(clip.known, framesPerSecond: 30)
    #expect(throws: GrowingFault.noVideo) {
      try read(clip.bytes + moov, into: &other) { 5000 }
    }
  }

  /// A writer that pauses within a NAL unit damages one picture; then nothing is guessed any more.
  @Test func afterAPauseWithinAPictureNothingIsGuessed() async throws {
    let clip = try await Growing.clip(.annexB)
    let bytes = clip.bytes
    // Some bytes before the end of each picture, but not where a page ends, and not behind a zero.
    let cuts = clip.ends.map { end in
      (end - 10..<end - 1).last { !$0.isMultiple(of: 4096) && bytes[$0 - 1] != 0 } ?? end - 3
    }
    var stream = GrowingStream(nil, framesPerSecond: 30)
    var (seen, place) = ([SourceAccessUnit](), 0)
    for end in cuts + [bytes.count] {
      try stream.take(ByteBuffer(bytes: bytes[place..<end]))
      while let unit = try stream.next(at: 0) { seen.append(unit) }
      while let unit = try stream.settle(at: 0) { seen.append(unit) }
      place = end
    }
    #expect(stream.file.isPatient)
    while let unit = try stream.settle(at: 0, isOver: true) { seen.append(unit) }
    #expect(seen.count == Growing.frames)
    #expect(Growing.slices(seen).dropFirst() == clip.pictures.map(\.last)[1...])
    stream.beginFile()
    #expect(stream.file.isPatient)
  }

  /// A writer that closes the file may be quicker than whoever reads it.
  @Test(arguments: [1, 700, 1 << 20]) func aFileThatIsClosedHasAllItsPictures(
    cut: Int
  ) async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.mp4")
    try FFmpeg.makeClip(file, frames: Growing.frames, Growing.options)
    let clip = try await Growing.plain()
    var stream = GrowingStream(clip.known, framesPerSecond: 30)
    let units = try read([UInt8](Data(contentsOf: file)), into: &stream) { cut }
    #expect(Growing.slices(units) == clip.pictures.map(\.last))
  }

  @Test func roomThatIsReservedIsNotWrittenYet() async throws {
    let clip = try await Growing.plain()
    var stream = GrowingStream(clip.known, framesPerSecond: 30)
    var seen: [SourceAccessUnit] = []
    // The file has its full length at once, and is filled picture by picture and in between.
    for end in clip.ends.flatMap({ [$0 - 100, $0] }) {
      let position = Int(stream.file.position)
      let room = [UInt8](repeating: 0, count: clip.bytes.count - end)
      try stream.take(ByteBuffer(bytes: clip.bytes[position..<max(position, end)] + room))
      while let unit = try stream.next(at: 0) { seen.append(unit) }
    }
    while let unit = try stream.finishFile(at: 0) { seen.append(unit) }
    #expect(Growing.slices(seen) == clip.pictures.map(\.last))
  }

  /// FFmpeg writes the units of H.265 so.
  @Test func aZeroBehindAUnitIsNoPartOfIt() async throws {
    let clip = try await Growing.plain()
    let header = Int(try #require(Growing.topLevel(clip.bytes).last).range.lowerBound) + 8
    let units = clip.pictures.flatMap { $0 }.map { unit in
      var unit = unit
      unit.writeInteger(UInt8(0))
      return unit
    }
    let sample = try LengthPrefixed.sample(of: units, lengthSize: .four)
    let bytes = clip.bytes[..<header] + Array(sample.readableBytesView)
    for cut in [1, 900, 1 << 20] {
      #expect(
        Growing.slices(try all(Array(bytes), clip.known) { cut }) == clip.pictures.map(\.last))
    }
  }

  @Test func parameterSetsInTheStreamWin() async throws {
    let clip = try await Growing.plain()
    var wrong = KnownVideo(.h264)
    wrong.take(GroupingTests.sequence())
    wrong.take(GroupingTests.picture())
    let units = clip.known.ordered + clip.pictures.flatMap { $0 }
    let sample = try LengthPrefixed.sample(of: units, lengthSize: .four)
    let seen = try all([0, 0, 0, 0] + Self.mdat + Array(sample.readableBytesView), wrong) { 300 }
    #expect(Growing.slices(seen) == clip.pictures.map(\.last))
    for unit in seen where unit.isRandomAccess {
      let sets = unit.units.filter { Codec.h264.parameterSet($0) != nil }
      #expect(Set(sets) == Set(clip.known.ordered))
    }
  }

  /// The beginning of a stream was cut off, or is lost.
  @Test(arguments: [1, 3, 20, 1 << 20])
  func aPictureDoesNotGetTheParameterSetsBehindItHoweverTheyAreRead(cut: Int) throws {
    let pictures = (0..<3).map { index in
      GroupingTests.key.with { $0.identifier = UInt32(index) }.unit
    }
    let sets = [GroupingTests.sequence(), GroupingTests.picture()]
    let stream = Bitstream.AnnexB.stream(of: [pictures[0]] + sets + pictures[1...])
    let units = try all(Array(stream.readableBytesView), nil) { cut }
    #expect(units.map(\.units) == [sets + [pictures[1]], sets + [pictures[2]]])
  }

  @Test(arguments: [LengthPrefixed.LengthSize.one, .two, .four])
  func lengthsHaveTheSizeThatTheIndexSays(size: LengthPrefixed.LengthSize) throws {
    var known = KnownVideo(.h264)
    known.take(GroupingTests.sequence())
    known.take(GroupingTests.picture())
    known.lengthSize = size
    let slices = (0..<4).map { index in
      GroupingTests.key.with { $0.identifier = UInt32(index) }.unit
    }
    let sample = try LengthPrefixed.sample(of: slices, lengthSize: size)
    let seen = try all([0, 0, 0, 0] + Self.mdat + Array(sample.readableBytesView), known) { 3 }
    #expect(Growing.slices(seen) == slices)
  }

  /// The encoder was set to another codec between two files.
  @Test func anotherCodecInTheNextFileIsRefusedByName() async throws {
    let clip = try await Growing.clip(.annexB)
    var stream = GrowingStream(nil, framesPerSecond: 30)
    #expect(try read(clip.bytes, into: &stream) { 500 }.count > 1)
    stream.beginFile()
    let folder = try TemporaryFolder()
    let file = folder.url("clip.h265")
    try FFmpeg.makeClip(
      file, frames: 3, ["-c:v", "libx265", "-x265-params", "log-level=error"])
    let other = try [UInt8](Data(contentsOf: file))
    #expect(throws: GrowingFault.codecChanged(to: "H265", from: "H264")) {
      try read(other, into: &stream) { 500 }
    }
  }

  /// A fragment whose `mdat` never gets a size ends with its last sample.
  @Test func whatFollowsTheSamplesOfAnOpenFragmentIsNotKept() async throws {
    var clip = try await Growing.fragmented("empty_moov+default_base_moof")
    let mdat = try #require(Growing.topLevel(clip.bytes).last { $0.type == "mdat" })
    clip.bytes = Array(clip.bytes[..<mdat.range.upperBound])
    let size = mdat.range.prefix(4)
    clip.bytes.replaceSubrange(size, with: [0, 0, 0, 0])
    var stream = GrowingStream(nil, framesPerSecond: 30)
    var seen = try read(clip.bytes, into: &stream) { 5000 }
    for _ in 0..<100 {
      try stream.take(ByteBuffer(repeating: 0xA5, count: 10_000))
      while let unit = try stream.next(at: 0) { seen.append(unit) }
      #expect(stream.file.waitingBytes == 0)
    }
    #expect(Growing.slices(seen) == clip.pictures.map(\.last))
  }

  /// It would take the beginning of the next box with it, and nothing behind would be found again.
  @Test func aFragmentWhoseLastSampleReachesBeyondItsDataIsRefused() async throws {
    var clip = try await Growing.fragmented("empty_moov+default_base_moof")
    let mdat = try #require(Growing.topLevel(clip.bytes).last { $0.type == "mdat" })
    let free = [0, 0, 0, 108] + Array("free".utf8) + [UInt8](repeating: 0, count: 100)
    clip.bytes = Array(clip.bytes[..<mdat.range.upperBound]) + free
    let length = UInt32(mdat.range.count - 5)
    clip.bytes.replaceSubrange(
      mdat.range.prefix(4), with: withUnsafeBytes(of: length.bigEndian) { Array($0) })
    for cut in [1, 900, 1 << 20] {
      var stream = GrowingStream(nil, framesPerSecond: 30)
      #expect(throws: GrowingFault.malformed("trun")) {
        try read(clip.bytes, into: &stream) { cut }
      }
    }
  }

  @Test func soundAmongThePicturesIsRefused() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.mp4")
    _ = try await FFmpeg.run(
      ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30", "-f", "lavfi", "-i", "sine"]
        + ["-t", "2"] + Growing.options + ["-c:a", "aac", file.path])
    let bytes = try [UInt8](Data(contentsOf: file))
    let mdat = try #require(Growing.topLevel(bytes).first { $0.type == "mdat" })
    var open = Array(bytes[..<mdat.range.upperBound])
    open.replaceSubrange(mdat.range.lowerBound..<mdat.range.lowerBound + 4, with: [0, 0, 0, 0])
    let fault = #expect(throws: GrowingFault.self) { try all(open, nil) { 4000 } }
    guard case .notVideo = fault else {
      return #expect(Bool(false), "\(String(describing: fault))")
    }
  }

  /// No bytes make it trap, spin, or keep more than what came.
  @Test func anyBytesComeToAnEnd() async throws {
    let clips = [
      try await Growing.plain(),
      try await Growing.fragmented("empty_moov+frag_every_frame+default_base_moof"),
    ]
    var dice = SeededGenerator(seed: 23)
    for round in 0..<400 {
      var bytes = clips[round % 2].bytes
      for _ in 0..<dice.number(upTo: 40) {
        let place = dice.integer(below: round % 4 < 2 ? bytes.count : 2000)
        bytes[place] = UInt8.random(in: 0...255, using: &dice)
      }
      var stream = GrowingStream(clips[round % 2].known, framesPerSecond: nil)
      var place = 0
      var count = 0
      while place < bytes.count {
        guard Int(stream.file.position) == place else { break }
        let end = min(bytes.count, place + dice.number(upTo: 9000))
        guard (try? stream.take(ByteBuffer(bytes: bytes[place..<end]))) != nil else { break }
        while (try? stream.next(at: 0)) != nil { count += 1 }
        place = end
      }
      #expect(count <= bytes.count / 4)
    }
  }
}
