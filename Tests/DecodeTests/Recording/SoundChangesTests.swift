import Bitstream
import Defragment
import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Outputs

/// What becomes of sound where connections, pictures, formats and clocks change.
struct SoundChangesTests {
  private typealias Sound = RecordedSoundTests

  private static func path(
    _ file: VirtualDisk.File, in folder: TemporaryFolder, _ container: Container
  ) throws -> String {
    try Sound.write(file, to: folder, as: "\(UUID().uuidString)." + container.name)
  }

  /// Whether the clicks are half a second apart, the first one at `first`.
  private static func expectClicks(
    in path: String, from first: Double, count: Int,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    let times = try Sound.clickTimes(path)
    #expect(times.count == count, "\(times)", sourceLocation: location)
    for (number, time) in times.enumerated() {
      #expect(
        abs(time - first - Double(number) / 2) < 0.03, "\(times)", sourceLocation: location)
    }
  }

  // MARK: - Connections

  @Test(
    "sound that comes before the pictures of the next connection makes no file",
    arguments: Container.recordings)
  func reconnection(_ container: Container) throws {
    let (pictures, sound) = (try Sound.pictures(60), Sound.clicks(seconds: 2))
    let later = Sound.clicks(seconds: 5).map { $0.moved(by: .seconds(10)) }
    let items =
      Sound.merged(pictures, sound) + [.interruption]
      + Sound.merged(pictures.map { $0.moved(by: .seconds(13)) }, later)
    let disk = try VirtualDisk.record(items: items, as: container)
    #expect(disk.files.map(\.ending?.reason) == [.outage, .end])
    #expect(disk.files.map(\.ending?.frames) == [60, 60])
    let folder = try TemporaryFolder()
    for file in disk.files {
      try Self.expectClicks(in: Self.path(file, in: folder, container), from: 0.25, count: 4)
    }
  }

  @Test(
    "a file behind an outage has the sound of its own connection", arguments: Container.recordings)
  func otherSound(_ container: Container) throws {
    let sound = Sound.clicks(seconds: 2)
    let pictures = try Sound.pictures(60)
    // It begins a little later than the pictures.
    let other = sound.dropFirst(20).map { $0.asALaw.moved(by: .seconds(10)) }
    let items =
      Sound.merged(pictures, sound) + [.interruption]
      + Sound.merged(pictures.map { $0.moved(by: .seconds(10)) }, other)
    let disk = try VirtualDisk.record(items: items, as: container)
    #expect(disk.files.map(\.ending?.reason) == [.outage, .end])
  }

  @Test(
    "a file behind an outage has no track of sound if its connection has none",
    arguments: Container.recordings)
  func noSound(_ container: Container) throws {
    let (pictures, sound) = (try Sound.pictures(60), Sound.clicks(seconds: 2))
    let silent = pictures.map { OutputItem.unit($0.moved(by: .seconds(10))) }
    let items = Sound.merged(pictures, sound) + [.interruption] + silent
    let disk = try VirtualDisk.record(items: items, as: container)
    #expect(disk.files.map(\.ending?.reason) == [.outage, .end])
    #expect(disk.files.map(\.ending?.frames) == [60, 60])
    let folder = try TemporaryFolder()
    for (number, file) in disk.files.enumerated() {
      let path = try Self.path(file, in: folder, container)
      let tracks = try RunningProcess.output(
        of: "ffprobe", ["-v", "error", "-show_entries", "stream=codec_type", path])
      let hasSound = String(decoding: tracks, as: UTF8.self).contains("codec_type=audio")
      #expect(hasSound == (number == 0))
    }
  }

  /// The first file waits for more pictures when the connection ends.
  @Test("a short connection keeps its sound", arguments: Container.recordings)
  func shortConnection(_ container: Container) throws {
    let items =
      Sound.merged(try Sound.pictures(12), Sound.clicks(seconds: 1)).prefix(30) + [.interruption]
    let disk = try VirtualDisk.record(items: Array(items), as: container)
    let file = try #require(disk.files.first)
    let folder = try TemporaryFolder()
    #expect(try !Sound.clickTimes(Self.path(file, in: folder, container)).isEmpty)
  }

  @Test("a run that ends in an outage has no file of sound", arguments: Container.recordings)
  func endInOutage(_ container: Container) throws {
    let items = Sound.merged(try Sound.pictures(60), Sound.clicks(seconds: 2)) + [.interruption]
    let disk = try VirtualDisk.record(items: items, as: container)
    #expect(disk.files.map(\.ending?.reason) == [.outage])
    // What the encoder still had is in the file.
    #expect(try #require(disk.files.first?.ending).duration > 1.95)
    let lone = items + Sound.clicks(seconds: 4).map { .sound($0.moved(by: .seconds(10))) }
    #expect(try VirtualDisk.record(items: lone, as: container).files.count == 1)
  }

  @Test(
    "an outage is not filled with silence where a file begins behind it",
    arguments: Container.sounds)
  func noSilenceBetweenFiles(_ container: Container) throws {
    let later = Sound.clicks(seconds: 2).map { $0.moved(by: .seconds(50)) }
    let items =
      Sound.clicks(seconds: 2).map { OutputItem.sound($0) } + [.interruption]
      + later.map { .sound($0) }
    let disk = try VirtualDisk.record(items: items, as: container)
    #expect(disk.files.map(\.ending?.reason) == [.outage, .end])
    for file in disk.files { #expect(try #require(file.ending).duration < 2.5) }
    let folder = try TemporaryFolder()
    let times = try Sound.clickTimes(Self.path(disk.files[1], in: folder, container))
    #expect(times.count == 4)
  }

  @Test(
    "in a pipe, an outage of a minute is silence, and a longer one is not", arguments: [10, 99])
  func silenceInPipes(_ seconds: Int) throws {
    let later = Sound.clicks(seconds: 2).map { $0.moved(by: .seconds(2 + seconds)) }
    let items =
      Sound.clicks(seconds: 2).map { OutputItem.sound($0) } + [.interruption]
      + later.map { .sound($0) }
    let disk = try VirtualDisk.record(items: items, as: .wave, isPipe: true)
    #expect(disk.files.count == 1)
    let expected = 16_000 * (4 + (seconds < 60 ? seconds : 0))
    #expect(abs(disk.files[0].bytes.count - expected) < 1000)
  }

  // MARK: - Pictures

  @Test(
    "a file of sound alone ends where one with pictures can begin", arguments: Container.recordings)
  func latePictures(_ container: Container) throws {
    // The pictures begin in the middle of a group, five seconds after the sound.
    let pictures = try Sound.pictures(120).dropFirst(10).map { $0.moved(by: .seconds(104)) }
    let items = Sound.merged(Array(pictures), Sound.clicks(seconds: 8, from: .seconds(100)))
    let disk = try VirtualDisk.record(items: items, as: container)
    #expect(disk.files.map(\.ending?.reason) == [.track, .end])
    #expect(abs(try #require(disk.files.first?.ending).duration - 5) < 0.4)
    #expect(disk.files.last?.ending?.frames == 90)
    let folder = try TemporaryFolder()
    try Self.expectClicks(in: Self.path(disk.files[1], in: folder, container), from: 0.25, count: 6)
  }

  @Test(
    "sound that came before all pictures, and has times of its own, is in no file",
    arguments: Container.recordings)
  func earlySound(_ container: Container) throws {
    let sound = Sound.clicks(seconds: 4, from: .milliseconds(-600)).map { unit in
      var unit = unit
      if unit.firstArrival < Instant(nanoseconds: 0) { unit.alignedTime = unit.time }
      return unit
    }
    let disk = try VirtualDisk.record(
      items: Sound.merged(try Sound.pictures(90), sound), as: container)
    let folder = try TemporaryFolder()
    try Self.expectClicks(in: Self.path(disk.files[0], in: folder, container), from: 0.15, count: 7)
  }

  @Test("a key picture after which only sound comes is written", arguments: Container.recordings)
  func frozenPictures(_ container: Container) throws {
    var recorder = Recorder(
      Recorder.Configuration(container: container, segment: nil, clock: .system))
    let items = Sound.merged(
      Array(try Sound.pictures(30).prefix(1)), Sound.clicks(seconds: 3))
    var begun = 0
    for item in items {
      try recorder.take(item)
      while let action = recorder.nextAction() { if case .begin = action { begun += 1 } }
    }
    #expect(begun == 1)
  }

  // MARK: - Formats

  @Test("what waits when the format changes is in the file to which it belongs")
  func changeWhileRecording() throws {
    // The sound is ahead of the pictures, so that much of it waits for them.
    let sound = Sound.clicks(seconds: 4, lateBy: .milliseconds(-600)).enumerated().map {
      $0 < 125 ? $1 : $1.asALaw
    }
    let disk = try VirtualDisk.record(
      items: Sound.merged(try Sound.pictures(120), sound), as: .matroska)
    #expect(disk.files.map(\.ending?.reason) == [.track, .end])
    // From the change at 2.5 s to the next key picture.
    #expect((24...26).contains(disk.skipped), "\(disk.skipped)")
  }

  @Test("what came before the format changed is not in a file that describes the new one")
  func changeWhileOpening() throws {
    let sound = Sound.clicks(seconds: 2).enumerated().map { $0 < 25 ? $1 : $1.asALaw }
    let disk = try VirtualDisk.record(
      items: Sound.merged(try Sound.pictures(60), sound), as: .matroska)
    #expect(disk.files.map(\.ending?.reason) == [.end])
    #expect(disk.skipped == 25)
  }

  @Test("what an encoder still has when the format changes is recorded")
  func changeOfSource() throws {
    let sound = Sound.clicks(seconds: 4).enumerated().map { $0 < 143 ? $1 : $1.asALaw }
    let disk = try VirtualDisk.record(
      items: Sound.merged(try Sound.pictures(120), sound), as: .mp4)
    #expect(disk.files.map(\.ending?.reason) == [.end])
    let folder = try TemporaryFolder()
    try Self.expectClicks(in: Self.path(disk.files[0], in: folder, .mp4), from: 0.25, count: 8)
  }

  // MARK: - Pipes

  @Test("sound that comes too late for the header of a pipe is missed aloud")
  func lateInPipe() throws {
    let sound = Sound.clicks(seconds: 2, from: .milliseconds(1300))
    let items = Sound.merged(try Sound.pictures(90), sound)
    let disk = try VirtualDisk.record(items: items, as: .matroska, isPipe: true)
    #expect(disk.soundFailure?.contains("header") == true)
    #expect(disk.files.map(\.ending?.frames) == [90])
    #expect(try VirtualDisk.record(items: items, as: .matroska).soundFailure == nil)
  }

  @Test("a pipe of sound alone ends where its format changes")
  func changeInPipe() throws {
    let sound = Sound.clicks(seconds: 4).enumerated().map { $0 < 100 ? $1 : $1.atDoubleRate }
    #expect(throws: RecordingError.cannotChange(.track)) {
      try VirtualDisk.record(items: sound.map { .sound($0) }, as: .wave, isPipe: true)
    }
  }

  @Test(
    "in a pipe, sound goes on after the sender's clocks have leapt back", arguments: [true, false])
  func leapInPipe(hasPictures: Bool) throws {
    let pictures = hasPictures ? try Sound.pictures(60) : []
    let sound = Sound.clicks(seconds: 2 + (hasPictures ? 0 : 2))
    let end = Duration.seconds(hasPictures ? 2 : 4)
    let items =
      Sound.merged(
        pictures.map { $0.moved(by: .seconds(1000), arriving: .zero) },
        sound.map { $0.moved(by: .seconds(1000), arriving: .zero) })
      + Sound.merged(
        pictures.map { $0.moved(by: .zero, arriving: end) },
        sound.map { $0.moved(by: .zero, arriving: end) })
    let disk = try VirtualDisk.record(items: items, as: .matroska, isPipe: true)
    #expect(disk.files.count == 1)
    #expect(disk.skipped <= 5)
    let folder = try TemporaryFolder()
    try Self.expectClicks(
      in: Self.path(disk.files[0], in: folder, .matroska), from: 0.25,
      count: hasPictures ? 8 : 16)
  }

  @Test("an interruption while a pipe opens does not end it")
  func interruptionOfOpening() throws {
    let pictures = try Sound.pictures(60)
    let items =
      pictures.prefix(10).map { OutputItem.unit($0) } + [.interruption]
      + pictures.dropFirst(30).map { .unit($0) }
    let disk = try VirtualDisk.record(items: items, as: .matroska, isPipe: true)
    #expect(disk.files.map(\.ending?.frames) == [40])
  }

  // MARK: - Transport streams

  @Test("a transport stream of sound alone repeats its tables as usual, not with each packet")
  func tables() throws {
    let units = try Sound.coded[0].made().units
    let disk = try VirtualDisk.record(items: units.map { .sound($0) }, as: .transportStream)
    let bytes = try #require(disk.files.first).bytes
    let identifiers = stride(from: 0, to: bytes.count - 187, by: 188).map { place -> UInt16 in
      let (high, low) = (UInt16(bytes[place + 1] & 0x1F), UInt16(bytes[place + 2]))
      return high << 8 | low
    }
    // The description of services comes every half second.
    #expect((1...5).contains(identifiers.count { $0 == 0x11 }))
  }
}

extension SoundUnit {
  private func changed(
    format: SoundFormat? = nil, bytes: [UInt8]? = nil, samples: Int? = nil,
    by time: Duration = .zero, arriving later: Duration? = nil
  ) -> SoundUnit {
    func moved(_ old: MediaTime) -> MediaTime {
      MediaTime(
        ticks: old.ticks + time.wholeNanoseconds / 1_000_000 * Int64(old.timescale) / 1000,
        timescale: old.timescale)
    }
    var unit = SoundUnit(
      format: format ?? self.format, bytes: bytes.map { ByteBuffer(bytes: $0) } ?? self.bytes,
      time: moved(self.time), sampleCount: samples ?? sampleCount,
      firstArrival: firstArrival.advanced(by: later ?? time),
      lastArrival: lastArrival.advanced(by: later ?? time))
    unit.alignedTime = alignedTime.map(moved)
    return unit
  }

  func moved(by time: Duration, arriving later: Duration? = nil) -> SoundUnit {
    changed(by: time, arriving: later)
  }

  /// The same of another codec: silence and the greatest values of µ-law as A-law.
  fileprivate var asALaw: SoundUnit {
    changed(
      format: SoundFormat(
        codec: SoundCodec(name: "pcma", decoderName: "pcm_alaw"), sampleRate: 8000, channels: 1),
      bytes: bytes.readableBytesView.map { [0x00: 0x2A, 0x80: 0xAA][$0] ?? 0xD5 })
  }

  /// The same of another rate.
  fileprivate var atDoubleRate: SoundUnit {
    changed(
      format: SoundFormat(codec: format.codec, sampleRate: 16_000, channels: 1),
      bytes: bytes.readableBytesView.flatMap { [$0, $0] }, samples: sampleCount * 2)
  }
}
