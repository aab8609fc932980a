import Bitstream
import Defragment
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Outputs

/// Pictures and sound of any times, sizes and formats, into every container.
@Suite("Random streams into recordings")
struct RecorderFuzzTests {
  /// A sender whose clocks mostly run, and sometimes do anything.
  private struct Sender {
    var random: SeededGenerator
    let pictures: [AccessUnit]
    private var now: Int64 = 1_000_000_000
    private var pictureTicks: Int64 = 90_000
    private var soundTime: Int64 = 0
    private var kind = 0

    init(seed: UInt64, pictures: [AccessUnit]) {
      random = SeededGenerator(seed: seed)
      self.pictures = pictures
    }

    private struct Kind {
      let format: SoundFormat
      let samples: Int

      init(
        _ codec: SoundCodec, _ rate: Int, _ channels: Int, _ samples: Int, _ bytes: [UInt8] = []
      ) {
        format = SoundFormat(
          codec: codec, sampleRate: rate, channels: channels, configuration: bytes)
        self.samples = samples
      }
    }

    private static let kinds: [Kind] = [
      Kind(G711.muLaw, 8000, 1, 160), Kind(G711.aLaw, 16_000, 2, 320),
      Kind(LinearPCM.l16, 384_000, 8, 384), Kind(LinearPCM.l24, 4000, 3, 80),
      Kind(AAC.codec, 48_000, 2, 1024, [0x11, 0x90]), Kind(Opus.codec, 48_000, 2, 960),
      Kind(AAC.codec, 24_000, 1, 1024, [0x13, 0x08]),
    ]

    private mutating func any() -> Int64 {
      Int64(truncatingIfNeeded: random.next()) >> random.integer(below: 64)
    }

    mutating func next() -> OutputItem {
      switch random.integer(below: 40) {
      case 0: now += any() & 0x1F_FFFF_FFFF
      case 1: now = max(0, now - Int64(random.integer(below: 3_000_000_000)))
      case 2:
        if random.integer(below: 4) == 0 { return .interruption }
      default: now += 20_000_000
      }
      return random.integer(below: 2) == 0 ? .unit(picture()) : .sound(sound())
    }

    private mutating func picture() -> AccessUnit {
      switch random.integer(below: 30) {
      case 0: pictureTicks = any()
      case 1: pictureTicks = random.integer(below: 2) == 0 ? Int64.min : Int64.max
      case 2...4: break
      default: pictureTicks = pictureTicks.addingSaturating(3600)
      }
      var timescale: UInt32 = 90_000
      switch random.integer(below: 200) {
      case 0: timescale = 1
      case 1: timescale = UInt32.max
      case 2: timescale = 1000
      default: break
      }
      var unit = pictures[random.integer(below: pictures.count)]
      if random.integer(below: 40) == 0 { unit = unit.withMoreSets(random.number(upTo: 40)) }
      if random.integer(below: 40) == 0 { unit = unit.withoutSets }
      return unit.at(
        MediaTime(ticks: pictureTicks, timescale: timescale),
        arriving: Instant(nanoseconds: now),
        integrity: random.integer(below: 20) == 0 ? .damaged : .whole)
    }

    private mutating func sound() -> SoundUnit {
      switch random.integer(below: 30) {
      case 0: soundTime = any()
      case 1: soundTime = random.integer(below: 2) == 0 ? Int64.min : Int64.max
      case 2: soundTime = soundTime.addingSaturating(Int64(random.integer(below: 6_000_000_000)))
      case 3...4: break
      default: soundTime = soundTime.addingSaturating(20_000_000)
      }
      if random.integer(below: 50) == 0 { kind = random.integer(below: Self.kinds.count) }
      let format = Self.kinds[kind].format
      let samples = Self.kinds[kind].samples
      let time = MediaTime(ticks: 0, timescale: UInt32(format.sampleRate))
        .advanced(byNanoseconds: soundTime)
      var bytes: [UInt8] = [0xF8, 1, 2]
      if format.codec.name != "opus", random.integer(below: 10) > 0 {
        bytes = random.bytes(samples)
      }
      let count = random.integer(below: 100) == 0 ? random.number(upTo: 1 << 30) : samples
      let lost = random.integer(below: 20) == 0 ? random.number(upTo: 65_535) : 0
      let arrival = Instant(nanoseconds: now)
      var unit = SoundUnit(
        format: format, bytes: ByteBuffer(bytes: bytes), time: time, sampleCount: count,
        firstArrival: arrival, lastArrival: arrival, lostBefore: lost,
        isDiscontinuity: random.integer(below: 60) == 0)
      switch random.integer(below: 20) {
      case 0: break
      case 1: unit.alignedTime = MediaTime(ticks: any(), timescale: 90_000)
      default: unit.alignedTime = MediaTime(ticks: pictureTicks, timescale: 90_000)
      }
      return unit
    }
  }

  private static let pictures: Result<[AccessUnit], any Error> = Result {
    let options = ["-g", "4", "-bf", "1", "-sc_threshold", "0"]
    let small = Clip(name: "small", width: 64, height: 48, frames: 12, encoder: options)
    let large = Clip(name: "large", width: 96, height: 64, frames: 12, encoder: options)
    let units: [AccessUnit] = try small.timedUnits(of: small.encoded())
    return units + (try large.timedUnits(of: large.encoded()))
  }

  @Test(
    "no items trap, or end the recording",
    arguments: Container.recordings + Container.sounds, fuzzSeeds)
  func items(_ container: Container, _ seed: UInt64) throws {
    var sender = Sender(seed: seed, pictures: try Self.pictures.get())
    let isPipe = seed % 3 == 0
    var recorder = Recorder(
      Recorder.Configuration(
        container: container, segment: seed % 2 == 0 ? .seconds(2) : nil,
        clock: WallClock { 1_795_428_900_250_000_000 }, canSeek: !isPipe, canContinue: !isPipe))
    var offered = 0
    var written = 0
    var isOpen = false
    func perform() {
      while let action = recorder.nextAction() {
        switch action {
        case .begin:
          #expect(!isOpen)
          isOpen = true
        case .write(let record):
          #expect(isOpen)
          written += record.items
        case .end: isOpen = false
        }
      }
    }
    do {
      for _ in 0..<600 {
        let item = sender.next()
        if !container.holdsPictures, case .unit = item { continue }
        if !item.isInterruption { offered += 1 }
        try recorder.take(item)
        perform()
      }
      try recorder.finish()
      perform()
      #expect(!isOpen)
      // Sound that could not be decoded is in neither.
      #expect(written + recorder.skipped <= offered)
      #expect(written > 0)
    } catch RecordingError.cannotChange {
      #expect(isPipe)
    }
  }
}
