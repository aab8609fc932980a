import Bitstream
import Defragment
import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Outputs

@Suite struct RecordedSoundTests {
  /// A click every half second, as µ-law of 8 kHz in packets of 20 ms; the first after a quarter.
  static func clicks(
    seconds: Int, from start: Duration = .zero, lateBy delay: Duration = .zero,
    drift: Double = 0, jitter: Duration = .zero
  ) -> [SoundUnit] {
    var random = SeededGenerator(seed: 5)
    let format = SoundFormat(
      codec: SoundCodec(name: "pcmu", decoderName: "pcm_mulaw"), sampleRate: 8000, channels: 1)
    return (0..<seconds * 50).map { number in
      // 0xFF is silence, 0x00 the lowest value.
      let bytes = (0..<160).map { index -> UInt8 in
        let sample = number * 160 + index
        return (2000..<2080).contains(sample % 4000) ? (sample % 8 < 4 ? 0x00 : 0x80) : 0xFF
      }
      let time = start.wholeNanoseconds + Int64(Double(number) * 20_000_000 * (1 + drift))
      let late = random.integer(below: Int(jitter.wholeNanoseconds) + 1)
      let arrival = Instant(nanoseconds: time + delay.wholeNanoseconds + Int64(late))
      var unit = SoundUnit(
        format: format, bytes: ByteBuffer(bytes: bytes),
        time: MediaTime(ticks: Int64(number) * 160, timescale: 8000), sampleCount: 160,
        firstArrival: arrival, lastArrival: arrival)
      unit.alignedTime = MediaTime(ticks: time * 9 / 100_000, timescale: 90_000)
      return unit
    }
  }

  static func pictures(_ frames: Int) throws -> [AccessUnit] {
    let clip = Clip(
      name: "GOPs", frames: frames, encoder: ["-bf", "2", "-g", "30", "-sc_threshold", "0"])
    return try clip.timedUnits(of: clip.encoded())
  }

  /// Both in the order of their arrivals; what overtakes waits for what it has overtaken.
  static func merged(_ pictures: [AccessUnit], _ sound: [SoundUnit]) -> [OutputItem] {
    var latest = Instant(nanoseconds: .min)
    let items =
      pictures.map { ($0.firstArrival, OutputItem.unit($0)) }
      + sound.map { unit in
        latest = max(latest, unit.firstArrival)
        return (latest, .sound(unit))
      }
    return items.enumerated().sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }
      .map(\.element.1)
  }

  /// When the clicks begin in the file at `path`, in seconds from its start.
  static func clickTimes(_ path: String) throws -> [Double] {
    // Of a transport stream, FFmpeg counts from the first of the streams that it reads.
    // Unless it is told otherwise, it takes sound that is up to 100 ms off for what it should be.
    let samples = try FFmpeg.output([
      "-i", path, "-map", "0:a", "-af", "aresample=8000:async=1:min_hard_comp=0.002:first_pts=0",
      "-f", "s16le", "-ac", "1", "-", "-map", "0", "-c", "copy", "-f", "null", "/dev/null",
    ])
    let values = stride(from: 0, to: samples.count - 1, by: 2).map {
      Int(Int16(truncatingIfNeeded: Int(samples[$0]) | Int(samples[$0 + 1]) << 8).magnitude)
    }
    var times: [Double] = []
    var quiet = 1000
    for (place, value) in values.enumerated() {
      if value > 8000 {
        if quiet >= 1000 { times.append(Double(place) / 8000) }
        quiet = 0
      } else {
        quiet += 1
      }
    }
    return times
  }

  static func write(_ file: VirtualDisk.File, to folder: TemporaryFolder, as name: String)
    throws -> String
  {
    try Data(file.bytes).write(to: folder.url(name))
    return folder(name)
  }

  @Test(
    "the clicks are where they were, beside the pictures", arguments: Container.recordings,
    [Duration.zero, .milliseconds(300), .milliseconds(-300)])
  func inStep(_ container: Container, lateBy delay: Duration) throws {
    let folder = try TemporaryFolder()
    let items = Self.merged(try Self.pictures(120), Self.clicks(seconds: 4, lateBy: delay))
    let disk = try VirtualDisk.record(items: items, as: container)
    #expect(disk.files.count == 1)
    #expect(disk.files.first?.ending?.frames == 120)
    let path = try Self.write(disk.files[0], to: folder, as: "a." + container.name)
    let times = try Self.clickTimes(path)
    #expect(times.count == 8)
    for (number, time) in times.enumerated() {
      #expect(abs(time - 0.25 - Double(number) / 2) < 0.02, "\(times)")
    }
    #expect(try FFmpeg.frameHashes(of: path).count == 120)
  }

  @Test("a sound clock that runs 200 ppm apart stays in step", arguments: Container.recordings)
  func drift(_ container: Container) throws {
    let folder = try TemporaryFolder()
    // A hundred times as much, over a hundredth of the time.
    let items = Self.merged(try Self.pictures(180), Self.clicks(seconds: 6, drift: 0.02))
    let disk = try VirtualDisk.record(items: items, as: container)
    let path = try Self.write(disk.files[0], to: folder, as: "a." + container.name)
    for (number, time) in try Self.clickTimes(path).enumerated() {
      #expect(abs(time - (0.25 + Double(number) / 2) * 1.02) < 0.02)
    }
  }

  @Test("sound before the first picture is left out, and later sound keeps its place")
  func offset() throws {
    let folder = try TemporaryFolder()
    let items = Self.merged(
      try Self.pictures(120), Self.clicks(seconds: 4, from: .milliseconds(-510)))
    let disk = try VirtualDisk.record(items: items, as: .mp4)
    let path = try Self.write(disk.files[0], to: folder, as: "a.mp4")
    let times = try Self.clickTimes(path)
    // The first click was before the first picture.
    #expect(abs(try #require(times.first) - 0.24) < 0.02, "\(times)")
    #expect(disk.skipped > 0)
  }

  @Test(
    "sound that begins a moment before the first picture is not left out, whichever came first",
    arguments: [-5, 0, 5])
  func almostWithThePicture(lateBy delay: Int) throws {
    let folder = try TemporaryFolder()
    let items = Self.merged(
      try Self.pictures(120),
      Self.clicks(seconds: 4, from: .milliseconds(-3), lateBy: .milliseconds(delay)))
    let disk = try VirtualDisk.record(items: items, as: .matroska)
    #expect(disk.skipped == 0)
    let path = try Self.write(disk.files[0], to: folder, as: "a.mkv")
    let times = try Self.clickTimes(path)
    #expect(times.count == 8)
    for (number, time) in times.enumerated() {
      #expect(abs(time - 0.247 - Double(number) / 2) < 0.02, "\(times)")
    }
  }

  @Test(
    "at a cut, each piece of sound is in the file to which it belongs",
    arguments: Container.recordings)
  func seams(_ container: Container) throws {
    let folder = try TemporaryFolder()
    let items = Self.merged(
      try Self.pictures(180), Self.clicks(seconds: 6, lateBy: .milliseconds(200)))
    let disk = try VirtualDisk.record(items: items, as: container, segment: .seconds(2))
    #expect(disk.files.map(\.ending?.frames) == [60, 60, 60])
    for (number, file) in disk.files.enumerated() {
      let path = try Self.write(file, to: folder, as: "\(number)." + container.name)
      let times = try Self.clickTimes(path)
      #expect(times.count == 4, "\(times)")
      for (number, time) in times.enumerated() {
        #expect(abs(time - 0.25 - Double(number) / 2) < 0.03, "\(times)")
      }
    }
  }

  /// How sound comes that is cut.
  struct Coming: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// In seconds, before the first picture.
    var start = 2.0
    var lateBy = Duration.zero
    /// Between which seconds of the pictures' time there is none.
    var hole = 0.0..<0.0
  }

  static let comings = [
    Coming(testDescription: "steadily"),
    Coming(testDescription: "1.5 s later than its pictures", lateBy: .milliseconds(1500)),
    // If it began sooner, it would be alone at first.
    Coming(testDescription: "1.5 s before its pictures", start: 0, lateBy: .milliseconds(-1500)),
    Coming(testDescription: "not for 0.7 s before a cut", hole: 1.3..<2),
    Coming(testDescription: "not for 0.9 s around a cut", hole: 1.5..<2.4),
    Coming(testDescription: "not for 2 s around a cut", hole: 1.2..<3.2),
  ]

  /// Of each piece of sound in the file at `path`, its hash.
  private static func soundHashes(_ path: String) throws -> [Substring] {
    let listing = try FFmpeg.output([
      "-i", path, "-map", "0:a", "-c", "copy", "-f", "framemd5", "-",
    ])
    return String(decoding: listing, as: UTF8.self).split(separator: "\n")
      .filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").dropFirst(5).first }
  }

  @Test(
    "at a cut, no sound is lost or doubled, however it comes", arguments: Container.recordings,
    comings)
  func cuts(_ container: Container, _ coming: Coming) throws {
    let sound = Self.clicks(
      seconds: 6 + Int(coming.start), from: .seconds(-coming.start), lateBy: coming.lateBy
    ).enumerated()
      .filter { !coming.hole.contains(Double($0.offset) / 50 - coming.start) }.map(\.element)
    let items = Self.merged(try Self.pictures(180), sound)
    let whole = try VirtualDisk.record(items: items, as: container)
    let cut = try VirtualDisk.record(items: items, as: container, segment: .seconds(2))
    #expect(cut.files.map(\.ending?.frames) == [60, 60, 60])
    #expect(cut.skipped == whole.skipped)
    let folder = try TemporaryFolder()
    let all = try Self.write(whole.files[0], to: folder, as: "all." + container.name)
    let pieces = try cut.files.enumerated().flatMap { number, file in
      try Self.soundHashes(Self.write(file, to: folder, as: "\(number)." + container.name))
    }
    #expect(try pieces == Self.soundHashes(all))
    let expected = (0..<12).map { 0.25 + Double($0) / 2 }.filter { !coming.hole.contains($0) }
    let found = try Self.clickTimes(all)
    #expect(found.count == expected.count, "\(found)")
    for (time, place) in zip(found, expected) { #expect(abs(time - place) < 0.03, "\(found)") }
  }

  @Test("sound alone makes a file too", arguments: Container.recordings)
  func soundAlone(_ container: Container) throws {
    let folder = try TemporaryFolder()
    let disk = try VirtualDisk.record(
      items: Self.clicks(seconds: 6).map { .sound($0) }, as: container)
    #expect(disk.files.count == 1)
    let path = try Self.write(try #require(disk.files.first), to: folder, as: "a." + container.name)
    #expect(try Self.clickTimes(path).count == 12)
    #expect(disk.skipped == 0)
  }

  @Test(
    "sound that stops before the first picture holds nothing back", arguments: Container.recordings)
  func soundThatStops(_ container: Container) throws {
    let folder = try TemporaryFolder()
    let sound = Self.clicks(seconds: 1, from: .milliseconds(-1500))
    let disk = try VirtualDisk.record(
      items: Self.merged(try Self.pictures(150), sound), as: container)
    let file = try #require(disk.files.first)
    // A fragment each second, and the rest.
    #expect(file.lengths.count { $0.items > 0 } >= 3)
    #expect(file.ending?.frames == 150)
    let path = try Self.write(file, to: folder, as: "a." + container.name)
    #expect(try FFmpeg.frameHashes(of: path).count == 150)
  }

  @Test("sound that cannot be decoded does not stop the pictures")
  func hopeless() throws {
    let format = SoundFormat(
      codec: SoundCodec(name: "strange", decoderName: "strange"), sampleRate: 8000, channels: 1)
    let sound = Self.clicks(seconds: 4).map { unit in
      SoundUnit(
        format: format, bytes: unit.bytes, time: unit.time, sampleCount: unit.sampleCount,
        firstArrival: unit.firstArrival, lastArrival: unit.lastArrival)
    }
    let disk = try VirtualDisk.record(items: Self.merged(try Self.pictures(120), sound), as: .mp4)
    #expect(disk.files.map(\.ending?.frames) == [120])
    #expect(disk.soundFailure != nil)
  }

  static let coded = [
    SoundClip(encoder: "aac", decoder: "aac", rate: 48_000, channels: 2, padding: 1024),
    SoundClip(encoder: "libopus", decoder: "opus", rate: 48_000, channels: 2, padding: 312),
  ]

  /// The times and lengths of the packets of sound in the file at `path`, in seconds.
  private static func soundPackets(
    in path: String
  ) throws -> [(time: Double, duration: Double)] {
    let text = try RunningProcess.output(
      of: "ffprobe",
      [
        "-v", "error", "-select_streams", "a", "-show_entries", "packet=pts_time,duration_time",
        "-of", "csv=p=0", path,
      ])
    return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
      // Of a first packet, the length may not be known.
      let fields = line.split(separator: ",").map { Double($0) }
      return fields.count >= 2 ? fields[0].map { ($0, fields[1] ?? 0) } : nil
    }
  }

  @Test("in mp4, sound that catches up keeps its times at the seams of fragments")
  func catchingUp() throws {
    let units = try Self.coded[0].made().units.enumerated().map { number, unit in
      var unit = unit
      unit.alignedTime = MediaTime(ticks: Int64(number) * 203, timescale: 10_000)
      return unit
    }
    let disk = try VirtualDisk.record(items: Self.merged(try Self.pictures(90), units), as: .mp4)
    let folder = try TemporaryFolder()
    let path = try Self.write(disk.files[0], to: folder, as: "a.mp4")
    let packets = try Self.soundPackets(in: path)
    #expect(packets.count == units.count)
    for (number, packet) in packets.enumerated() {
      #expect(abs(packet.time - Double(number) * 0.0203) < 0.0003, "\(number)")
    }
  }

  @Test("in mp4, sound behind a gap has its time, also where a fragment begins in the gap")
  func gapInFragment() throws {
    var units = try Self.coded[0].made().units.map { unit in
      var unit = unit
      unit.alignedTime = unit.time
      return unit
    }
    units.removeSubrange(40..<60)
    let disk = try VirtualDisk.record(items: Self.merged(try Self.pictures(90), units), as: .mp4)
    let folder = try TemporaryFolder()
    let path = try Self.write(disk.files[0], to: folder, as: "a.mp4")
    let packets = try Self.soundPackets(in: path)
    #expect(packets.count == units.count)
    for (packet, unit) in zip(packets, units) {
      #expect(abs(packet.time - Double(unit.time.ticks) / 48_000) < 0.0003)
    }
  }

  @Test("sound that begins long after the pictures of its file has its time")
  func soundBehindTheHeader() throws {
    // None from before the second file until shortly before the third.
    let units = try Self.coded[0].made().units.enumerated().map { number, unit in
      var unit = unit
      unit.alignedTime = unit.time
      return number < 40 ? unit : unit.moved(by: .seconds(3))
    }
    let disk = try VirtualDisk.record(
      items: Self.merged(try Self.pictures(180), units), as: .mp4, segment: .seconds(2))
    #expect(disk.files.count == 3)
    let folder = try TemporaryFolder()
    let path = try Self.write(disk.files[1], to: folder, as: "b.mp4")
    let packets = try Self.soundPackets(in: path)
    #expect(packets.count == 7)
    for (packet, unit) in zip(packets, units[40...]) {
      #expect(abs(packet.time - Double(unit.time.ticks) / 48_000 + 2) < 0.0003)
    }
  }

  @Test("a wrong time of one piece of sound costs that piece", arguments: Container.recordings)
  func farPiece(_ container: Container) throws {
    var sound = Self.clicks(seconds: 4)
    // So many make at least one piece of AAC, in which is what came before; no click is in it.
    for number in container.name == "mkv" ? 102..<110 : 110..<118 {
      sound[number].alignedTime = MediaTime(ticks: 100 * 90_000, timescale: 90_000)
    }
    let disk = try VirtualDisk.record(
      items: Self.merged(try Self.pictures(120), sound), as: container)
    #expect(disk.files.map(\.ending?.frames) == [120])
    #expect(try #require(disk.files[0].ending).duration < 5)
    let folder = try TemporaryFolder()
    let path = try Self.write(disk.files[0], to: folder, as: "a." + container.name)
    let times = try Self.clickTimes(path)
    #expect(times.count == 8, "\(times)")
    for (number, time) in times.enumerated() {
      #expect(abs(time - 0.25 - Double(number) / 2) < 0.03, "\(times)")
    }
  }

  @Test("AAC and Opus are copied", arguments: coded, Container.recordings)
  func copied(_ sound: SoundClip, _ container: Container) throws {
    let folder = try TemporaryFolder()
    let units = try sound.made().units
    let disk = try VirtualDisk.record(
      items: Self.merged(try Self.pictures(60), units), as: container)
    let path = try Self.write(disk.files[0], to: folder, as: "a." + container.name)
    let codec = try RunningProcess.output(
      of: "ffprobe",
      [
        "-v", "error", "-count_packets", "-select_streams", "a", "-show_entries",
        "stream=codec_name,nb_read_packets", "-of", "csv=p=0", path,
      ])
    let said = String(decoding: codec, as: UTF8.self).split(separator: "\n").first ?? ""
    #expect(said == "\(sound.decoder),\(units.count)")
    _ = try FFmpeg.output(["-xerror", "-i", path, "-map", "0:a", "-f", "null", "-"])
  }

  @Test(
    "sound of another package's decoder is copied as what it is called",
    arguments: coded, [Container.mp4, .matroska])
  func foreignDecoder(_ sound: SoundClip, _ container: Container) throws {
    let folder = try TemporaryFolder()
    let decoder = sound.decoder == "aac" ? "aac_fixed" : "libopus"
    let units = try sound.made().units.map { unit in
      let own = unit.format
      let format = SoundFormat(
        codec: SoundCodec(name: own.codec.name, decoderName: decoder),
        sampleRate: own.sampleRate, channels: own.channels,
        configuration: own.codec == Opus.codec ? [] : own.configuration)
      return SoundUnit(
        format: format, bytes: unit.bytes, time: unit.time, sampleCount: unit.sampleCount,
        firstArrival: unit.firstArrival, lastArrival: unit.lastArrival)
    }
    let disk = try VirtualDisk.record(
      items: Self.merged(try Self.pictures(60), units), as: container)
    let path = try Self.write(disk.files[0], to: folder, as: "a." + container.name)
    let sizes = try RunningProcess.output(
      of: "ffprobe",
      [
        "-v", "error", "-select_streams", "a", "-show_entries", "packet=size", "-of", "csv=p=0",
        path,
      ])
    let found = String(decoding: sizes, as: UTF8.self).split(separator: "\n").compactMap { line in
      line.split(separator: ",").first.flatMap { Int($0) }
    }
    #expect(found == units.map(\.bytes.readableBytes))
    // Opus cannot be read without its header.
    _ = try FFmpeg.output(["-xerror", "-i", path, "-map", "0:a", "-f", "null", "-"])
  }
}
