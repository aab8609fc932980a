import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Outputs

/// What a sender can make a recording cost: memory, files, and the end of the recording.
@Suite struct RecordingBoundsTests {
  private typealias Sound = RecordedSoundTests

  /// A recorder, and what it has written before it is told to finish.
  private struct Bench {
    var recorder: Recorder
    private(set) var bytes = 0
    private(set) var items = 0
    private(set) var files = 0
    private(set) var reasons: [FileReason] = []

    init(_ container: Container, segment: Duration? = nil) {
      recorder = Recorder(
        Recorder.Configuration(
          container: container, segment: segment, clock: WallClock { 0 }, canSeek: true,
          canContinue: true))
    }

    mutating func take(_ item: OutputItem) throws {
      try recorder.take(item)
      while let action = recorder.nextAction() {
        switch action {
        case .begin: files += 1
        case .write(let record):
          bytes += record.byteCount
          items += record.items
        case .end(let ending): reasons.append(ending.reason)
        }
      }
    }
  }

  private static let small = Clip(name: "small", width: 64, height: 48, frames: 2)
  private static let large = Clip(name: "large", width: 96, height: 64, frames: 2)

  /// The key picture and the other one of a clip.
  private static func pair(_ clip: Clip) throws -> (key: AccessUnit, other: AccessUnit) {
    let units = try clip.timedUnits(of: clip.encoded(), depth: 0)
    return (units[0], units[1])
  }

  private static func time(_ milliseconds: Int) -> (MediaTime, Instant) {
    (
      MediaTime(ticks: Int64(milliseconds) * 90, timescale: 90_000),
      Instant(nanoseconds: Int64(milliseconds) * 1_000_000)
    )
  }

  // MARK: - Memory

  @Test("large pictures of one time do not all wait for sound")
  func interleaver() throws {
    let picture = try Self.pair(Self.small).other.padded(by: 1 << 20)
    let sound = SoundTrack.Sample(
      sound: SoundDescription(format: Sound.clicks(seconds: 1)[0].format), bytes: ByteBuffer(),
      start: 0, count: 160, items: 1, arrival: Instant(nanoseconds: 0))
    var interleaver = Interleaver()
    interleaver.append(sound)
    var released = 0
    for _ in 0..<200 {
      interleaver.append(picture)
      while interleaver.next() != nil { released += 1 }
    }
    #expect(released > 160)
  }

  @Test("large units of sound do not all wait for a picture")
  func earlySound() {
    var input = RecorderInput(for: .mp4)
    input.notePicture()
    let unit = SoundUnit(
      format: Sound.clicks(seconds: 1)[0].format,
      bytes: ByteBuffer(repeating: 0, count: SoundUnitCollector.maximumUnitBytes),
      time: MediaTime(ticks: 0, timescale: 8000), sampleCount: 160,
      firstArrival: Instant(nanoseconds: 0), lastArrival: Instant(nanoseconds: 0))
    for _ in 0..<300 { input.append(unit) }
    #expect(input.dropped > 200)
  }

  @Test("sound whose clock stands still where a file is to end is written")
  func frozenSound() throws {
    var bench = Bench(.wave, segment: .seconds(1))
    let units = Sound.clicks(seconds: 2)
    for unit in units.prefix(60) { try bench.take(.sound(unit)) }
    for _ in 0..<5000 { try bench.take(.sound(units[60])) }
    #expect(bench.items > 4000)
  }

  @Test("pictures of one time do not wait in memory for sound that the file has no place for")
  func frozenPictures() throws {
    var bench = Bench(.mp4)
    for unit in Sound.clicks(seconds: 1) { try bench.take(.sound(unit)) }
    let (key, other) = try Self.pair(Self.small)
    let (time, arrival) = Self.time(10_000)
    try bench.take(.unit(key.at(time, arriving: arrival)))
    let frozen = other.padded(by: 1 << 18).at(time, arriving: arrival)
    for _ in 0..<400 { try bench.take(.unit(frozen)) }
    #expect(bench.bytes > 60 << 20, "\(bench.bytes)")
  }

  // MARK: - Files

  @Test("parameter sets that change with each picture do not make a file each")
  func changingSets() throws {
    var bench = Bench(.mp4)
    let keys = try [Self.pair(Self.small).key, Self.pair(Self.large).key]
    for number in 0..<900 {
      let (time, arrival) = Self.time(number * 33)
      try bench.take(.unit(keys[number % 2].at(time, arriving: arrival)))
    }
    // In thirty seconds.
    #expect((60...110).contains(bench.files), "\(bench.files)")
    // What has calmed down is recorded again.
    let before = bench.items
    for number in 900..<1100 {
      let (time, arrival) = Self.time(number * 33)
      try bench.take(.unit(keys[0].at(time, arriving: arrival)))
    }
    #expect(bench.items > before + 100)
  }

  @Test("times of sound that leap with each packet do not make a file each")
  func leapingSound() throws {
    var bench = Bench(.wave)
    for (number, unit) in Sound.clicks(seconds: 30).enumerated() {
      let leap = Duration.seconds(number % 2 == 0 ? 0 : 100)
      try bench.take(.sound(unit.moved(by: leap, arriving: .zero)))
    }
    #expect((10...110).contains(bench.files), "\(bench.files)")
  }

  @Test("the segments that were asked for are made, however short")
  func shortSegments() throws {
    var bench = Bench(.matroska, segment: .milliseconds(10))
    let key = try Self.pair(Self.small).key
    for number in 0..<300 {
      let (time, arrival) = Self.time(number * 33)
      try bench.take(.unit(key.at(time, arriving: arrival)))
    }
    #expect(bench.files > 290)
  }

  // MARK: - The end

  @Test(
    "as many parameter sets as there are identifiers cost no picture",
    arguments: Container.recordings)
  func tooManySets(_ container: Container) throws {
    let (key, other) = try Self.pair(Self.small)
    let units = (0..<240).map { number -> AccessUnit in
      let (time, arrival) = Self.time(number * 33)
      let unit = number % 30 == 0 ? (number < 60 ? key.withMoreSets(300) : key) : other
      return unit.at(time, arriving: arrival)
    }
    let disk = try VirtualDisk.record(units, as: container)
    let folder = try TemporaryFolder()
    var frames = 0
    for (number, file) in disk.files.enumerated() {
      let path = try Sound.write(file, to: folder, as: "\(number)." + container.name)
      frames += try FFmpeg.frameHashes(of: path).count
    }
    #expect(frames == 240)
    #expect(disk.skipped == 0)
  }

  @Test("sound that a container cannot hold, between some that it can, costs itself only")
  func otherSound() throws {
    var bench = Bench(.audioDataTransportStream)
    // AAC LC, and the same with a core coder, which libavformat refuses.
    let formats = [[0x11, 0x90], [0x11, 0x92, 0x00, 0x00]].map {
      SoundFormat(codec: AAC.codec, sampleRate: 48_000, channels: 2, configuration: $0)
    }
    for number in 0..<210 {
      let time = Instant(nanoseconds: Int64(number) * 21_333_333)
      try bench.take(
        .sound(
          SoundUnit(
            format: formats[(100..<110).contains(number) ? 1 : 0], bytes: ByteBuffer(bytes: [0x21]),
            time: MediaTime(ticks: Int64(number) * 1024, timescale: 48_000), sampleCount: 1024,
            firstArrival: time, lastArrival: time)))
    }
    try bench.recorder.finish()
    #expect(bench.items >= 199)
    #expect(bench.recorder.skipped == 10)
  }
}
