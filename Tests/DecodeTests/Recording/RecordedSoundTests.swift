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
    drift: Double = 0
  ) -> [SoundUnit] {
    let format = SoundFormat(
      codec: SoundCodec(name: "pcmu", decoderName: "pcm_mulaw"), sampleRate: 8000, channels: 1)
    return (0..<seconds * 50).map { number in
      // 0xFF is silence, 0x00 the lowest value.
      let bytes = (0..<160).map { index -> UInt8 in
        let sample = number * 160 + index
        return (2000..<2080).contains(sample % 4000) ? (sample % 8 < 4 ? 0x00 : 0x80) : 0xFF
      }
      let time = start.wholeNanoseconds + Int64(Double(number) * 20_000_000 * (1 + drift))
      var unit = SoundUnit(
        format: format, bytes: ByteBuffer(bytes: bytes),
        time: MediaTime(ticks: Int64(number) * 160, timescale: 8000), sampleCount: 160,
        firstArrival: Instant(nanoseconds: time + delay.wholeNanoseconds),
        lastArrival: Instant(nanoseconds: time + delay.wholeNanoseconds))
      unit.alignedTime = MediaTime(ticks: time * 9 / 100_000, timescale: 90_000)
      return unit
    }
  }

  static func pictures(_ frames: Int) throws -> [AccessUnit] {
    let clip = Clip(
      name: "GOPs", frames: frames, encoder: ["-bf", "2", "-g", "30", "-sc_threshold", "0"])
    return try clip.timedUnits(of: clip.encoded())
  }

  /// Both in the order of their arrivals.
  static func merged(_ pictures: [AccessUnit], _ sound: [SoundUnit]) -> [OutputItem] {
    let items =
      pictures.map { ($0.firstArrival, OutputItem.unit($0)) }
      + sound.map { ($0.firstArrival, .sound($0)) }
    return items.enumerated().sorted { ($0.element.0, $0.offset) < ($1.element.0, $1.offset) }
      .map(\.element.1)
  }

  /// When the clicks begin in the file at `path`, in seconds from its start.
  static func clickTimes(_ path: String) throws -> [Double] {
    // Of a transport stream, FFmpeg counts from the first of the streams that it reads.
    let samples = try FFmpeg.output([
      "-i", path, "-map", "0:a", "-af", "aresample=8000:async=1:first_pts=0", "-f", "s16le", "-ac",
      "1", "-", "-map", "0", "-c", "copy", "-f", "null", "/dev/null",
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
    let items = Self.merged(try Self.pictures(180), Self.clicks(seconds: 6, drift: 0.002))
    let disk = try VirtualDisk.record(items: items, as: container)
    let path = try Self.write(disk.files[0], to: folder, as: "a." + container.name)
    for (number, time) in try Self.clickTimes(path).enumerated() {
      #expect(abs(time - (0.25 + Double(number) / 2) * 1.002) < 0.02)
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
}
