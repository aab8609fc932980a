import Foundation
import NIOCore
import TestSupport
import Testing

@testable import RTPSend

@Suite struct SourceTests {
  func read(_ file: URL, framesPerSecond: Double? = nil) throws -> [SourceAccessUnit] {
    let source = try SourceRecipe.file(path: file.path, framesPerSecond: framesPerSecond).make()
    var units: [SourceAccessUnit] = []
    while let unit = try source.next().element { units.append(unit) }
    return units
  }

  static let h264 = ["-c:v", "libx264", "-bf", "2", "-g", "15"]
  static let h265 = ["-c:v", "libx265", "-x265-params", "log-level=none:bframes=2", "-g", "15"]

  @Test(arguments: [("h264", h264), ("h265", h265)])
  func elementaryStreamsAndContainersGiveTheSame(ending: String, options: [String]) async throws {
    let folder = try TemporaryFolder()
    let container = folder.url("clip.mp4")
    try FFmpeg.makeClip(container, options)
    let units = try read(container)
    #expect(units.count == 40)
    #expect(Set(units.map(\.presentationTicks)).count == 40)
    #expect(units.filter(\.isRandomAccess).count >= 3)
    for other in ["clip.\(ending)", "clip.mkv", "clip.ts"] {
      let file = folder.url(other)
      _ = try await FFmpeg.run(["-i", container.path, "-c", "copy", file.path])
      let again = try read(file)
      #expect(again.count == 40)
      // Files differ in the times of their first picture, and in what they repeat beside the
      // slices.
      let order = order(again)
      #expect(order == self.order(units))
      #expect(again.map { $0.units.last } == units.map { $0.units.last })
      let rising = zip(again, again.dropFirst()).allSatisfy { $0.decodingTicks <= $1.decodingTicks }
      #expect(rising)
    }
  }

  /// Two recordings in one file, of two sizes: the header has the sets of the first.
  @Test(arguments: [(Codec.h264, "avc1"), (.h264, "avc3"), (.h265, "hvc1"), (.h265, "hev1")])
  func setsThatChangeInAFileAreSentAsTheyAre(codec: Codec, entry: String) async throws {
    let folder = try TemporaryFolder()
    let options =
      codec == .h264
      ? ["-c:v", "libx264", "-bf", "0"]
      : ["-c:v", "libx265", "-x265-params", "log-level=none:bframes=0"]
    var joined = Data()
    for size in ["320x180", "256x144"] {
      joined += try FFmpeg.made(
        ["-f", "lavfi", "-i", "testsrc2=size=\(size):rate=30", "-frames:v", "10"] + options,
        ending: codec.rawValue)
    }
    let stream = folder.url("joined.\(codec.rawValue)")
    try joined.write(to: stream)
    let file = folder.url("joined.mp4")
    _ = try await FFmpeg.run(
      ["-r", "30", "-i", stream.path, "-c", "copy", "-tag:v", entry, file.path])
    func sets(_ file: URL) throws -> [[ByteBuffer]] {
      try read(file).map { $0.units.filter { codec.parameterSet($0) != nil } }
    }
    let (sent, own) = (try sets(file), try sets(stream))
    #expect(own.count == 20 && !own[10].isEmpty && own[0] != own[10])
    #expect(sent == own)
  }

  /// A recorder that says of each picture that it is shown three seconds after it is decoded.
  @Test(arguments: ["mp4", "mov", "ts"])
  func picturesLeaveWithTheirSoundWhateverTheFileAddsToTheirTimes(ending: String) async throws {
    let folder = try TemporaryFolder()
    let plain = folder.url("plain.mp4")
    _ = try await FFmpeg.run(
      ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30:duration=3", "-f", "lavfi", "-i"]
        + ["sine=duration=3"] + Self.h264 + ["-c:a", "aac", plain.path])
    func file(_ name: String, _ options: [String]) async throws -> URL {
      let file = folder.url("\(name).\(ending)")
      _ = try await FFmpeg.run(["-i", plain.path, "-c", "copy"] + options + [file.path])
      return file
    }
    let usual = try await file("usual", [])
    let delayed = try await file("delayed", ["-bsf:v", "setts=pts=PTS:dts=DTS-3/TB"])
    func times(_ file: URL) throws -> (sent: [Int64], shown: [Int64], sound: Int64, length: Int64) {
      let (units, sound) = (
        try read(file), try SoundFileSource(path: file.path, clockDeviation: 0)
      )
      let clock = MediaClock(rate: sound.format.clockRate)
      let first = try #require(try sound.next().element)
      let start = MediaClock.video.ticks(of: clock.nanoseconds(of: first.decodingTicks))
      return (
        units.map { $0.decodingTicks - start }, units.map { $0.presentationTicks - start }, start,
        try SourceRecipe.duration(ofFile: file.path)
      )
    }
    let (expected, found) = (try times(usual), try times(delayed))
    // Formats round to milliseconds or more exactly.
    func agree(_ one: [Int64], _ other: [Int64], within ticks: Int64) -> Bool {
      one.count == other.count && zip(one, other).allSatisfy { abs($0 - $1) <= ticks }
    }
    #expect(agree(found.shown, expected.shown, within: 90))
    #expect(agree(found.sent, expected.sent, within: 90), "\(found.sent) \(expected.sent)")
    #expect(agree([found.length], [expected.length], within: 1_000_000))
    #expect(zip(found.sent, found.shown).allSatisfy { $0 <= $1 })
  }

  /// AVI has no times but those of decoding, and libavformat gives them as others in H.265.
  @Test(arguments: [h264, h265])
  func whatHasNoTimesIsShownInTheOrderOfItsCounts(options: [String]) async throws {
    let folder = try TemporaryFolder()
    let container = folder.url("clip.mp4")
    try FFmpeg.makeClip(container, options)
    let units = try read(container)
    let file = folder.url("clip.avi")
    _ = try await FFmpeg.run(["-i", container.path, "-c", "copy", file.path])
    let again = try read(file)
    #expect(order(again) == order(units))
    #expect(order(again) != Array(again.indices))
    let shown = order(again).map { again[$0].presentationTicks }
    let steps = Set(zip(shown, shown.dropFirst()).map { $1 - $0 })
    #expect(steps == [3000])
  }

  /// The places of the pictures in display order.
  private func order(_ units: [SourceAccessUnit]) -> [Int] {
    units.indices.sorted { units[$0].presentationTicks < units[$1].presentationTicks }
  }

  /// One picture in fifteen seconds, as slides are recorded; the file says how long each is.
  @Test(arguments: ["mp4", "mkv"]) func longPicturesKeepTheirTime(ending: String) async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("slides.\(ending)")
    _ = try await FFmpeg.run([
      "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=1/15:duration=60", "-c:v", "libx264", "-bf",
      "0", file.path,
    ])
    let seconds = try read(file).map { $0.presentationTicks / 90_000 }
    #expect(seconds == [0, 15, 30, 45])
  }

  /// Two recordings in one file, the second of which begins hours later: it follows at once, and
  /// its tracks stay together.
  @Test(arguments: [true, false]) func whatIsJoinedLeavesNoGap(isAllWithSound: Bool) throws {
    let folder = try TemporaryFolder()
    var joined = Data()
    for offset in ["0", "18000"] {
      let sound = isAllWithSound || offset != "0" ? ["-c:a", "aac"] : ["-an"]
      joined += try FFmpeg.made(
        [
          "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25:duration=2", "-f", "lavfi", "-i",
          "sine=duration=2", "-c:v", "libx264", "-bf", "0", "-output_ts_offset", offset,
        ] + sound, ending: "ts")
    }
    let file = folder.url("joined.ts")
    try joined.write(to: file)
    let pictures = try read(file).map { Double($0.presentationTicks) / 90_000 }
    try #require(pictures.count == 100)
    let steps = zip(pictures, pictures.dropFirst()).map { $1 - $0 }
    #expect(steps.allSatisfy { (0.02...0.2).contains($0) })
    // Of sound that begins later, a file says nothing when it is opened.
    guard isAllWithSound else { return }
    let source = try SoundFileSource(path: file.path, clockDeviation: 0)
    var sounds: [Double] = []
    while let unit = try source.next().element {
      sounds.append(Double(unit.presentationTicks) / Double(source.format.clockRate))
    }
    // The second recording begins with both, or the sound a little earlier.
    #expect((-0.05...0.05).contains(sounds[sounds.count / 2] - pictures[50]))
  }

  /// Beside sound that goes on, a picture that lasts is no break.
  @Test func picturesThatPauseBesideSoundKeepTheirTime() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("paused.ts")
    _ = try await FFmpeg.run([
      "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=1/12:duration=36", "-f", "lavfi", "-i",
      "sine=duration=36", "-c:v", "libx264", "-bf", "0", "-c:a", "aac", file.path,
    ])
    let times = try read(file).map(\.presentationTicks)
    #expect(times.map { ($0 - times[0]) / 90_000 } == [0, 12, 24])
  }

  @Test func elementaryStreamsTakeTheRateThatIsGivenOrTheirOwn() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.h264")
    try FFmpeg.makeClip(file, frames: 10, ["-c:v", "libx264", "-bf", "0"])
    #expect(try read(file).map(\.presentationTicks) == (0..<10).map { $0 * 3000 })
    #expect(try read(file, framesPerSecond: 10).map(\.decodingTicks) == (0..<10).map { $0 * 9000 })
  }

  @Test func repetitionsContinueTheTimeline() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.mp4")
    try FFmpeg.makeClip(file, frames: 10, Self.h264)
    let once = try read(file)
    let source = try RepeatedSource(.file(path: file.path), repetitions: 3)
    var units: [SourceAccessUnit] = []
    while let unit = try source.next().element { units.append(unit) }
    #expect(units.count == 30)
    for (index, unit) in units.enumerated() {
      #expect(unit.units == once[index % 10].units)
      let shift = Int64(index / 10) * 30_000
      #expect(unit.decodingTicks == once[index % 10].decodingTicks + shift)
      #expect(unit.presentationTicks == once[index % 10].presentationTicks + shift)
    }
  }

  /// It would be kept for repetitions that never come.
  @Test(arguments: [nil, 5]) func aPatternIsKeptOnlyIfItEnds(frames: Int?) throws {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height, pattern.frameLimit) = (256, 144, frames)
    let source = try RepeatedSource(.pattern(pattern), repetitions: nil)
    for _ in 0..<12 { #expect(try source.next().element != nil) }
    #expect((source.memoryLength > 0) == (frames != nil))
  }

  @Test func whatIsNoVideoIsRefused() async throws {
    let folder = try TemporaryFolder()
    #expect(throws: SendError.self) { try read(folder.url("absent.mp4")) }
    let text = folder.url("text.mp4")
    try Data("this is no video".utf8).write(to: text)
    #expect(throws: SendError.self) { try read(text) }
    let mpeg = folder.url("clip.avi")
    try FFmpeg.makeClip(mpeg, frames: 5, ["-c:v", "mpeg4"])
    #expect(throws: SendError.unsupportedCodec(path: mpeg.path, codec: "mpeg4")) { try read(mpeg) }
    let sound = folder.url("sound.mp4")
    _ = try await FFmpeg.run(["-f", "lavfi", "-i", "sine", "-t", "1", sound.path])
    #expect(throws: SendError.noVideo(path: sound.path, hasSound: true)) {
      try read(sound)
    }
  }

  /// Films that are lists of other files: of HLS, and of FFmpeg.
  static let playlists = [
    "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:1.0,\nsecret.ts\n#EXT-X-ENDLIST\n",
    "ffconcat version 1.0\nfile secret.ts\n",
  ]

  @Test(arguments: playlists) func aFilmThatIsAPlaylistShowsNoOtherFile(text: String) throws {
    let folder = try TemporaryFolder()
    try FFmpeg.makeClip(folder.url("secret.ts"), frames: 30, Self.h264)
    let film = folder.url("film.mp4")
    try Data(text.utf8).write(to: film)
    let refusal = SendError.cannotOpen(
      path: film.path, reason: "it is a playlist, or of a format that is not sent")
    #expect(throws: refusal) { try read(film) }
    #expect(throws: refusal) { try SourceRecipe.duration(ofFile: film.path) }
    #expect(throws: refusal) { try FileSurvey(ofFile: film.path, framesPerSecond: nil) }
    #expect(throws: refusal) { try SoundFileSource(path: film.path, clockDeviation: 0) }
  }

  /// Files that break off or are damaged give what can be read, or an error, and always an end.
  @Test(arguments: ["h264", "h265", "mp4", "ts", "mkv"])
  func damagedFilesComeToAnEnd(ending: String) async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.\(ending)")
    try FFmpeg.makeClip(file, frames: 20, ending == "h265" ? Self.h265 : Self.h264)
    let whole = [UInt8](try Data(contentsOf: file))
    var dice = SeededGenerator(seed: 5)
    for round in 0..<20 {
      var bytes = whole
      if round % 2 == 0 { bytes = Array(bytes.prefix(dice.number(upTo: bytes.count))) }
      for _ in 0..<round {
        bytes[dice.number(upTo: bytes.count) - 1] = UInt8(dice.number(upTo: 255))
      }
      let damaged = folder.url("damaged.\(ending)")
      try Data(bytes).write(to: damaged)
      let units = (try? read(damaged)) ?? []
      // Damage can cut units in two, but not make video of nothing.
      #expect(units.count <= 2 * (20 + round))
      for codec in Codec.allCases {
        var packetizer = Packetization.interleaved.packetizer(
          for: codec, payloadLimit: 100, aggregates: true)
        for unit in units { _ = packetizer.packetize(unit) }
      }
    }
  }

  /// The whole of a picture with one length, and start codes in it, as in Samsung's slow motion:
  /// libavformat does not see the key picture, and the sets are only in the index.
  @Test(arguments: Codec.allCases, [true, false])
  func setsOfTheIndexAreSentOnceWithAKeyPicture(codec: Codec, hasOneLength: Bool) throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.mp4")
    try FFmpeg.makeClip(file, frames: 3, codec == .h264 ? Self.h264 : Self.h265)
    if hasOneLength { try joinUnitsOfFirstPicture(in: file, codec) }
    let first = try #require(try read(file).first)
    let kinds: [Codec.ParameterSet] =
      codec == .h264 ? [.sequence, .picture] : [.video, .sequence, .picture]
    #expect(first.units.compactMap(codec.parameterSet) == kinds)
    #expect(first.isRandomAccess && first.units.contains(where: codec.isRandomAccess))
    let described = try StreamDescription(of: .file(path: file.path)).parameterSets
    #expect(described.mapValues(\.count) == Dictionary(uniqueKeysWithValues: kinds.map { ($0, 1) }))
  }

  /// Makes one unit, by its length, of all units of the first picture of an MP4.
  private func joinUnitsOfFirstPicture(in file: URL, _ codec: Codec) throws {
    var bytes = ByteBuffer(bytes: try Data(contentsOf: file))
    let box = try #require(Data(bytes.readableBytesView).range(of: Data("mdat".utf8)))
    var place = box.upperBound
    var unit = ByteBuffer()
    repeat {
      let length = try #require(bytes.getInteger(at: place, as: UInt32.self))
      unit = try #require(bytes.getSlice(at: place + 4, length: Int(length)))
      if place > box.upperBound { bytes.setInteger(UInt32(1), at: place) }
      place += 4 + Int(length)
    } while !codec.isRandomAccess(unit)
    bytes.setInteger(UInt32(place - box.upperBound - 4), at: box.upperBound)
    try Data(bytes.readableBytesView).write(to: file)
  }

  @Test func parameterSetsAreDescribed() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.mkv")
    try FFmpeg.makeClip(file, frames: 3, Self.h265)
    let description = try StreamDescription(of: .file(path: file.path))
    #expect(description.codec == .h265)
    #expect(Set(description.parameterSets.keys) == [.video, .sequence, .picture])
    let text = SessionDescription(
      description, payloadType: 97, packetization: .interleaved,
      address: try SocketAddress(ipAddress: "::1", port: 5004), multiplexesRTCP: true
    ).text
    let sets = description.parameterSets
    let base64 = [Codec.ParameterSet.video, .sequence, .picture].map { kind in
      sets[kind]?.map { Data($0.readableBytesView).base64EncodedString() }.joined(separator: ",")
        ?? ""
    }
    // Four units, none longer than 320x192 samples of 4:2:0.
    let room: Int = 4 * 320 * 192 * 3 / 2
    let parameters: [String] = [
      "sprop-max-don-diff=5", "sprop-depack-buf-nalus=3", "sprop-depack-buf-bytes=\(room)",
      "sprop-vps=\(base64[0])", "sprop-sps=\(base64[1])", "sprop-pps=\(base64[2])",
    ]
    let lines: [String] = [
      "v=0", "o=- 1 1 IN IP6 ::1", "s=rtp-send", "c=IN IP6 ::1", "t=0 0",
      "m=video 5004 RTP/AVP 97", "a=rtpmap:97 H265/90000",
      "a=fmtp:97 " + parameters.joined(separator: ";"), "a=rtcp-mux",
    ]
    #expect(text.split(separator: "\r\n").map(String.init) == lines)
  }
}
