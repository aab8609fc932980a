import Bitstream
import Defragment
import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Outputs

/// Files of sound alone.
struct SoundFileTests {
  private static func samples(in path: String) throws -> [UInt8] {
    Array(try FFmpeg.output(["-i", path, "-f", "s16le", "-c:a", "pcm_s16le", "-"]))
  }

  @Test("a .wav file holds the samples that ffmpeg makes of it", arguments: SoundDecoderTests.clips)
  func wave(clip: SoundClip) throws {
    let (units, expected) = try clip.made()
    let folder = try TemporaryFolder()
    let disk = try VirtualDisk.record(items: units.map { .sound($0) }, as: .wave)
    let path = try RecordedSoundTests.write(
      try #require(disk.files.first), to: folder, as: "a.wav")
    let found = Array(
      try Self.samples(in: path).dropFirst(2 * clip.padding * clip.channels)
        .prefix(expected.count))
    #expect(found.count == expected.count)
    let isEqual = found == expected
    #expect(isEqual)
    #expect(disk.files.first?.ending?.isSoundOnly == true)
    // The header says the length.
    let bytes = disk.files[0].bytes
    #expect(Array(bytes.prefix(4)) == Array("RIFF".utf8))
    let size = bytes[4..<8].reversed().reduce(0) { $0 << 8 | Int($1) }
    #expect(size == bytes.count - 8)
  }

  @Test(
    "files of sound begin when their first piece came, and what is left at the end is no file",
    arguments: Container.recordings + Container.sounds)
  func segments(container: Container) throws {
    // Five seconds and a last unit.
    let units = RecordedSoundTests.clicks(seconds: 6).prefix(251)
    let disk = try VirtualDisk.record(
      items: units.map { .sound($0) }, as: container, segment: .seconds(1))
    #expect(disk.files.map(\.ending?.reason) == [.time, .time, .time, .time, .end])
    for (number, file) in disk.files.enumerated() {
      let start = file.beginning.start.nanoseconds - NamePatternTests.time.nanoseconds
      // A unit of AAC lasts 128 ms here.
      #expect(abs(Double(start) / 1e9 - Double(number)) < 0.35, "\(number): \(start)")
    }
    #expect(disk.skipped == 0)
    #expect(try #require(disk.files.last?.ending).duration > 0.5)
  }

  @Test(
    "coded sound is copied into the file of its kind",
    arguments: [("aac", Container.audioDataTransportStream), ("opus", .opus)])
  func copied(decoder: String, container: Container) throws {
    let clip = try #require(SoundDecoderTests.clips.first { $0.decoder == decoder })
    let (units, _) = try clip.made()
    let folder = try TemporaryFolder()
    let disk = try VirtualDisk.record(items: units.map { .sound($0) }, as: container)
    let path = try RecordedSoundTests.write(
      try #require(disk.files.first), to: folder, as: "a." + container.name)
    let packets = try RunningProcess.output(
      of: "ffprobe",
      [
        "-v", "error", "-count_packets", "-show_entries", "stream=nb_read_packets", "-of",
        "csv=p=0",
      ]
        + [path])
    #expect(String(decoding: packets, as: UTF8.self).contains("\(units.count)"))
    _ = try FFmpeg.output(["-xerror", "-i", path, "-f", "null", "-"])
  }

  @Test(
    "AAC is copied into .ts and .aac where a header of ADTS can say what it is",
    arguments: [
      ("LC", "1190", true), ("HE-AAC", "2b118800", true), ("LD", "b99100", false),
      ("units of 960 samples", "131400", false),
      ("a program config element", "118004c4010020000d4c61766335392e33372e31303056e500", false),
    ])
  func namedByADTS(name: String, hex: String, isCopied: Bool) throws {
    let format = try AudioSpecificConfig(parsing: ByteBuffer(bytes: bytes(hex))).format
    #expect(Container.transportStream.copies(format) == isCopied, "\(name)")
    #expect(Container.audioDataTransportStream.copies(format) == isCopied, "\(name)")
    #expect(Container.mp4.copies(format) && Container.matroska.copies(format), "\(name)")
  }

  @Test(
    "Opus lasts as long as the sound that it is made of, at rates that it does not have",
    arguments: [44_100, 32_000, 22_050])
  func opusOfOtherRates(rate: Int) throws {
    let clip = SoundClip(
      encoder: "pcm_s16be", decoder: "pcm_s16be", rate: rate, unitBytes: rate / 50 * 2,
      rawFormat: "s16be")
    let disk = try VirtualDisk.record(
      items: try clip.made().units.map { .sound($0) }, as: .opus, segment: .seconds(1))
    #expect(disk.files.count == 2)
    let durations = disk.files.map { $0.ending?.duration ?? 0 }
    #expect(abs(durations.reduce(0, +) - 2) < 0.05, "\(durations)")
    let starts = disk.files.map {
      Double($0.beginning.start.nanoseconds - NamePatternTests.time.nanoseconds) / 1e9
    }
    #expect(zip(starts, [0, 1]).allSatisfy { abs($0 - $1) < 0.03 }, "\(starts)")
  }

  @Test(
    "a crash costs less than a second and a half of sound",
    arguments: Container.recordings + Container.sounds)
  func crash(container: Container) throws {
    let units = RecordedSoundTests.clicks(seconds: 6)
    let disk = try VirtualDisk.record(items: units.map { .sound($0) }, as: container, isCut: true)
    let folder = try TemporaryFolder()
    let path = try RecordedSoundTests.write(
      try #require(disk.files.first), to: folder, as: "a." + container.name)
    let samples = try FFmpeg.output(["-i", path, "-ac", "1", "-ar", "8000", "-f", "s16le", "-"])
    #expect(samples.count / 2 > 36_000, "\(container.name): \(samples.count / 2)")
  }

  @Test(
    "in each kind of file, what is missing is silence of the same length",
    arguments: Container.sounds)
  func holes(container: Container) throws {
    var units = RecordedSoundTests.clicks(seconds: 6)
    // A second without a packet, from 2.0 s on.
    units.removeSubrange(100..<150)
    let (next, format) = (units[100], units[100].format)
    units[100] = SoundUnit(
      format: format, bytes: next.bytes, time: next.time, sampleCount: next.sampleCount,
      firstArrival: next.firstArrival, lastArrival: next.lastArrival, lostBefore: 50)
    let folder = try TemporaryFolder()
    let disk = try VirtualDisk.record(items: units.map { .sound($0) }, as: container)
    #expect(disk.files.count == 1)
    let path = try RecordedSoundTests.write(
      try #require(disk.files.first), to: folder, as: "a." + container.name)
    let times = try RecordedSoundTests.clickTimes(path)
    #expect(times.count == 10)
    // Encoders delay all alike.
    let first = try #require(times.first)
    for (time, place) in zip(times, [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]) {
      #expect(abs(time - first - Double(place) / 2) < 0.03, "\(times)")
    }
  }

  @Test(
    "in copied sound, what is missing is coded silence",
    arguments: [("aac", Container.audioDataTransportStream), ("opus", .opus)])
  func holesInCopies(decoder: String, container: Container) throws {
    let clip = try #require(SoundDecoderTests.clips.first { $0.decoder == decoder })
    var (units, _) = try clip.made()
    let whole = units.count
    units.removeSubrange(20..<50)
    let next = units[20]
    units[20] = SoundUnit(
      format: next.format, bytes: next.bytes, time: next.time, sampleCount: next.sampleCount,
      firstArrival: next.firstArrival, lastArrival: next.lastArrival, lostBefore: 30)
    let folder = try TemporaryFolder()
    let disk = try VirtualDisk.record(items: units.map { .sound($0) }, as: container)
    let path = try RecordedSoundTests.write(
      try #require(disk.files.first), to: folder, as: "a." + container.name)
    let samples = try Self.samples(in: path)
    let expected = whole * next.sampleCount * 2 * clip.channels
    #expect(abs(samples.count - expected) <= 2 * next.sampleCount * 2 * clip.channels)
    // In the middle of the hole there is nothing to hear.
    let middle = 35 * next.sampleCount * 2 * clip.channels
    let quiet = samples[middle..<middle + 4096]
    let loudest = stride(from: quiet.startIndex, to: quiet.endIndex - 1, by: 2).map {
      Int(Int16(bitPattern: UInt16(samples[$0 + 1]) << 8 | UInt16(samples[$0]))).magnitude
    }.max()
    #expect(loudest ?? 0 < 64)
  }
}
