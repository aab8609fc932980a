import NIOCore
import RTPProcessor
import RTPWire
import Reception
import TestSupport
import Testing

/// Sound and pictures whose clocks start anywhere and run at their own speeds.
@Suite("Sound in step with pictures")
struct SoundAlignmentTests {
  /// What reaches the receiver, on a virtual clock.
  struct Network: Sendable, CustomTestStringConvertible {
    /// How much faster the clocks of sound and pictures run than they say, in millionths.
    var soundDrift = 0.0
    var pictureDrift = 0.0
    /// The most that a packet of each is delayed, in milliseconds.
    var soundJitter = 0
    var pictureJitter = 0
    /// By how much the sound is delayed beyond the pictures, always.
    var soundDelay = 0
    var hasReports = false

    var testDescription: String {
      "\(soundDrift) \(pictureDrift) \(soundJitter) \(pictureJitter) reports \(hasReports)"
    }
  }

  /// The error of the alignment, in milliseconds, each second; positive where the sound is late.
  private func errors(of network: Network, seconds: Int) -> (errors: [Double], steps: Int) {
    var random = SeededGenerator(seed: 7)
    var alignment = SoundAlignment()
    var errors: [Double] = []
    let (soundRate, pictureRate) = (48_000.0, 90_000.0)
    let (soundStart, pictureStart) = (Int64(3_000_000_000), Int64(77_000))
    func ticks(_ at: Double, _ rate: Double, _ drift: Double, _ start: Int64) -> Int64 {
      start + Int64((at * rate * (1 + drift / 1e6)).rounded())
    }
    func sound(at: Double) -> MediaTime {
      MediaTime(
        ticks: ticks(at, soundRate, network.soundDrift, soundStart), timescale: UInt32(soundRate))
    }
    func picture(at: Double) -> MediaTime {
      MediaTime(
        ticks: ticks(at, pictureRate, network.pictureDrift, pictureStart),
        timescale: UInt32(pictureRate))
    }
    var (soundClock, pictureClock) = (ReportedClock(), ReportedClock())
    for step in 0..<seconds * 100 {
      let at = Double(step) / 100
      let now = Instant(nanoseconds: Int64(at * 1e9))
      func arrival(_ jitter: Int, _ delay: Int) -> Instant {
        let late = jitter == 0 ? 0 : random.integer(below: jitter * 1000)
        return now.advanced(by: .microseconds(20_000 + late + delay * 1000))
      }
      if step % 4 == 0 {
        alignment.notePicture(picture(at: at), arrival: arrival(network.pictureJitter, 0))
      }
      if network.hasReports, step % 500 == 130 { soundClock.note(sound(at: at), wall: at) }
      if network.hasReports, step % 500 == 390 { pictureClock.note(picture(at: at), wall: at) }
      guard step % 2 == 0 else { continue }
      let time = sound(at: at)
      alignment.noteSound(time, arrival: arrival(network.soundJitter, network.soundDelay))
      alignment.noteClocks(sound: soundClock.mapping, pictures: pictureClock.mapping)
      guard let aligned = alignment.align(time), step % 100 == 0 else { continue }
      errors.append(Double(aligned.nanoseconds - picture(at: at).nanoseconds) / 1e6)
    }
    return (errors, alignment.hardSteps)
  }

  /// Such as an encoder with another delay, behind a change of the resolution.
  @Test("Pictures of another source are followed by its own reports")
  func otherPictures() throws {
    var alignment = SoundAlignment()
    var (soundClock, pictureClock) = (ReportedClock(), ReportedClock())
    var difference = 0.0
    for step in 0..<5500 {
      let at = Double(step) / 100
      let time = MediaTime(ticks: Int64(step) * 900, timescale: 90_000)
      let now = Instant(nanoseconds: Int64(step) * 10_000_000)
      if step == 4000 {
        alignment.restartPictures()
        pictureClock = ReportedClock()
      }
      if step % 4 == 0 { alignment.notePicture(time, arrival: now) }
      if step % 500 == 130 { soundClock.note(time, wall: at) }
      if step % 500 == 390 { pictureClock.note(time, wall: step < 4000 ? at : at - 0.2) }
      alignment.noteSound(time, arrival: now)
      alignment.noteClocks(sound: soundClock.mapping, pictures: pictureClock.mapping)
      guard let aligned = alignment.align(time) else { continue }
      difference = Double(aligned.nanoseconds - time.nanoseconds) / 1e6
      if step == 3999 { #expect(abs(difference) < 5, "\(difference)") }
    }
    #expect(abs(difference - 200) < 5, "\(difference)")
    #expect(alignment.hardSteps == 0)
  }

  static let networks = [
    Network(soundDrift: 200, soundJitter: 100), Network(pictureDrift: 200, pictureJitter: 100),
    Network(soundDrift: -100, pictureDrift: 100, soundJitter: 100),
  ]

  @Test("Clocks differ by 200 ppm, and one stream jitters by 100 ms", arguments: networks)
  func drift(_ network: Network) {
    var reported = network
    reported.hasReports = true
    let (errors, steps) = errors(of: reported, seconds: 600)
    #expect(errors.count > 590)
    #expect(errors.dropFirst(5).allSatisfy { abs($0) < 20 }, "\(errors.map(abs).max() ?? 0)")
    #expect(steps == 0)
    // By arrivals alone, as soon as a few have come.
    let (others, otherSteps) = self.errors(of: network, seconds: 600)
    #expect(others.dropFirst(3).allSatisfy { abs($0) < 20 }, "\(others.map(abs).max() ?? 0)")
    #expect(otherSteps == 0)
  }

  @Test("Sound is always late: only reports can tell")
  func constantDelay() {
    let (errors, steps) = errors(of: Network(soundDelay: 300, hasReports: true), seconds: 60)
    #expect(abs(errors[1]) > 250)
    // 50 ms a second, and inaudibly at the end.
    #expect(errors.dropFirst(11).allSatisfy { abs($0) < 5.1 })
    #expect(errors.dropFirst(30).allSatisfy { abs($0) < 2 })
    #expect(zip(errors, errors.dropFirst()).allSatisfy { abs($1 - $0) < 51 })
    #expect(steps == 0)
  }

  @Test("Reports that contradict the arrivals by more than 5 s are ignored")
  func wrongReports() {
    var alignment = SoundAlignment()
    var (soundClock, pictureClock) = (ReportedClock(), ReportedClock())
    for second in 0..<20 {
      let now = Instant(nanoseconds: Int64(second) * 1_000_000_000)
      let sound = MediaTime(ticks: Int64(second) * 8000, timescale: 8000)
      let picture = MediaTime(ticks: Int64(second) * 90_000, timescale: 90_000)
      alignment.notePicture(picture, arrival: now)
      alignment.noteSound(sound, arrival: now)
      soundClock.note(sound, wall: Double(second) + 7)
      pictureClock.note(picture, wall: Double(second))
      alignment.noteClocks(sound: soundClock.mapping, pictures: pictureClock.mapping)
      #expect(alignment.align(sound) == sound)
    }
    #expect(alignment.source == .arrivals)
  }

  /// What leaps, in seconds.
  struct Leap: Sendable, CustomTestStringConvertible {
    var sound = 0
    var pictures = 0
    var testDescription: String { "sound \(sound) pictures \(pictures)" }
  }

  @Test(
    "A clock that leaps is followed with the second picture, although the reports said otherwise",
    arguments: [
      Leap(pictures: -3600), Leap(pictures: 3600), Leap(sound: -3600), Leap(sound: 3600),
      Leap(sound: 3600, pictures: -3600), Leap(pictures: -7),
    ])
  func leap(_ leap: Leap) throws {
    var alignment = SoundAlignment()
    var (soundClock, pictureClock) = (ReportedClock(), ReportedClock())
    for step in 0..<6000 {
      let now = Instant(nanoseconds: Int64(step) * 20_000_000)
      let hasLeapt = step >= 3000
      let start = 5_000
      let sound = MediaTime(
        ticks: Int64(step) * 160 + Int64(start + (hasLeapt ? leap.sound : 0)) * 8000,
        timescale: 8000)
      let picture = MediaTime(
        ticks: Int64(step) * 1800 + Int64(start + (hasLeapt ? leap.pictures : 0)) * 90_000,
        timescale: 90_000)
      alignment.notePicture(picture, arrival: now)
      alignment.noteSound(sound, arrival: now)
      let wall = Double(step) / 50
      if step % 250 == 100 { soundClock.note(sound, wall: wall) }
      if step % 250 == 150 { pictureClock.note(picture, wall: wall) }
      alignment.noteClocks(sound: soundClock.mapping, pictures: pictureClock.mapping)
      let time = alignment.align(sound)
      let aligned = try #require(time)
      // A single picture may have a wrong time.
      let expected =
        step == 3000
        ? picture.advanced(byNanoseconds: Int64(-leap.pictures) * 1_000_000_000) : picture
      #expect(abs(aligned.nanoseconds - expected.nanoseconds) < 1_000_000, "\(step)")
    }
    #expect(alignment.source == .reports)
  }

  /// Intelbras recorders stamp a picture every few seconds with a time hours away.
  @Test("A picture whose time is wrong moves no sound", arguments: [-9800, 9800] as [Int64])
  func strays(seconds: Int64) throws {
    var alignment = SoundAlignment()
    for step in 0..<2000 {
      let now = Instant(nanoseconds: Int64(step) * 20_000_000)
      let sound = MediaTime(ticks: Int64(step) * 160, timescale: 8000)
      let picture = MediaTime(ticks: Int64(step) * 1800, timescale: 90_000)
      let isWrong = step % 100 == 99
      alignment.notePicture(
        isWrong ? picture.advanced(byNanoseconds: seconds * 1_000_000_000) : picture, arrival: now)
      alignment.noteSound(sound, arrival: now)
      let time = alignment.align(sound)
      let aligned = try #require(time)
      #expect(abs(aligned.nanoseconds - picture.nanoseconds) < 1_000_000, "\(step)")
    }
    #expect(alignment.hardSteps == 0)
  }

  @Test("A network that stalls for longer than that changes nothing")
  func stall() throws {
    var alignment = SoundAlignment()
    var (soundClock, pictureClock) = (ReportedClock(), ReportedClock())
    for step in 0..<3000 {
      // What is sent from the 30th second on comes in the 38th.
      let stalled = (1500..<1900).contains(step)
      let now = Instant(nanoseconds: Int64(stalled ? 1900 : step) * 20_000_000)
      let sound = MediaTime(ticks: Int64(step) * 160, timescale: 8000)
      let picture = MediaTime(ticks: Int64(step) * 1800, timescale: 90_000)
      alignment.noteSound(sound, arrival: now)
      let wall = Double(step) / 50
      if step % 250 == 100 { soundClock.note(sound, wall: wall) }
      if step % 250 == 150 { pictureClock.note(picture, wall: wall) }
      alignment.noteClocks(sound: soundClock.mapping, pictures: pictureClock.mapping)
      if step > 0 {
        let time = alignment.align(sound)
        let aligned = try #require(time)
        #expect(abs(aligned.nanoseconds - picture.nanoseconds) < 21_000_000, "\(step)")
      }
      alignment.notePicture(picture, arrival: now)
    }
    #expect(alignment.source == .reports && alignment.hardSteps <= 1)
  }

  @Test("Corrections are slow unless they are large")
  func slew() throws {
    var alignment = SoundAlignment()
    func align(_ milliseconds: Int64, late: Int64) throws -> Int64 {
      let time = MediaTime(ticks: milliseconds * 8, timescale: 8000)
      let now = Instant(nanoseconds: milliseconds * 1_000_000)
      alignment.notePicture(
        MediaTime(ticks: milliseconds * 90, timescale: 90_000), arrival: now)
      alignment.noteSound(time, arrival: now.advanced(by: .milliseconds(late)))
      let aligned = alignment.align(time)
      return try #require(aligned).nanoseconds - time.nanoseconds
    }
    for at in 0..<100 { #expect(try align(Int64(at) * 100, late: 0) == 0) }
    // 400 ms later from now on: at most 500 ppm of the time that passes.
    var last: Int64 = 0
    for at in 100..<400 {
      let difference = try align(Int64(at) * 100, late: 400)
      #expect(abs(difference - last) <= 50_000 + 125_000)
      last = difference
    }
    #expect(last > 2_000_000 && last < 20_000_000)
    // A second later: at once, as soon as that is certain.
    for at in 400..<600 { last = try align(Int64(at) * 100, late: 1400) }
    #expect(abs(last - 1_400_000_000) < 20_000_000)
    #expect(alignment.hardSteps == 1)
  }

  @Test("Nothing is aligned before the first picture, and no time traps")
  func extremes() {
    var alignment = SoundAlignment()
    let time = MediaTime(ticks: 1, timescale: 48_000)
    alignment.noteSound(time, arrival: Instant(nanoseconds: 0))
    #expect(alignment.align(time) == nil)
    var random = SeededGenerator(seed: 1)
    for _ in 0..<10_000 {
      func value() -> Int64 {
        Int64(bitPattern: random.next()) >> Int64(random.integer(below: 63))
      }
      let rate = UInt32(truncatingIfNeeded: random.next() >> UInt64(random.integer(below: 33)))
      alignment.notePicture(
        MediaTime(ticks: value(), timescale: 90_000), arrival: Instant(nanoseconds: value()))
      let sound = MediaTime(ticks: value(), timescale: rate)
      alignment.noteSound(sound, arrival: Instant(nanoseconds: value()))
      #expect(alignment.align(sound) != nil)
    }
  }
}

/// A clock with sender reports, as a processor maps it.
private struct ReportedClock {
  private(set) var mapping = ClockMapping()

  /// Notes a report that says that `time` was at `wall` seconds.
  mutating func note(_ time: MediaTime, wall: Double) {
    // Reports reach a mapping through the RTCP of a source.
    var configuration = RTPProcessor.Configuration()
    configuration.clockRate = time.timescale
    var fresh = RTPProcessor(configuration: configuration)
    for number in 0..<2 {
      var packet = ByteBuffer(bytes: [0x80, 96])
      packet.writeMultipleIntegers(
        UInt16(number), UInt32(truncatingIfNeeded: time.ticks), UInt32(9), UInt8(1))
      _ = fresh.receive(Datagram(bytes: packet, arrival: Instant(nanoseconds: 0))) { _ in true }
    }
    while fresh.next(at: Instant(nanoseconds: 0)) != nil {}
    var report = ByteBuffer(bytes: [0x80, 200])
    let seconds = UInt64(wall) + 3_900_000_000
    let fraction = UInt64((wall - wall.rounded(.down)) * 4_294_967_296)
    report.writeMultipleIntegers(
      UInt16(6), UInt32(9), seconds << 32 | fraction, UInt32(truncatingIfNeeded: time.ticks),
      UInt32(0), UInt32(0))
    _ = fresh.receive(
      Datagram(bytes: report, arrival: Instant(nanoseconds: 0), channel: .control)
    ) { _ in true }
    mapping = fresh.clock
  }
}
