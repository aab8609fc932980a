import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import RTPSend

@Suite struct SoundFileTests {
  private func makeFile(_ file: URL, _ options: [String]) async throws {
    _ = try await FFmpeg.run(
      [
        "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30:duration=2", "-f", "lavfi", "-i",
        "sine=frequency=500:sample_rate=48000:duration=2", "-c:v", "libx264", "-bf", "0",
      ] + options + [file.path])
  }

  private func read(_ file: URL) throws -> (units: [SourceAccessUnit], source: any SoundSource) {
    let source = try SoundRecipe.file(path: file.path).make()
    var units: [SourceAccessUnit] = []
    while let unit = try source.next().element { units.append(unit) }
    return (units, source)
  }

  private func bytes(_ units: [SourceAccessUnit]) -> [UInt8] {
    units.flatMap { Array($0.units[0].readableBytesView) }
  }

  @Test(arguments: [
    ("wav", ["-c:a", "pcm_s16le", "-ac", "2"], "s16be", "L16/48000/2"),
    ("wav", ["-c:a", "pcm_s24le"], "s24be", "L24/48000"),
    ("wav", ["-c:a", "pcm_u8"], "u8", "L8/48000"),
    ("mov", ["-c:a", "pcm_s16be"], "s16be", "L16/48000"),
    ("mkv", ["-c:a", "pcm_s24be"], "s24be", "L24/48000"),
    ("mkv", ["-c:a", "pcm_mulaw", "-ar", "8000"], "mulaw", "PCMU/8000"),
    ("wav", ["-c:a", "pcm_alaw", "-ar", "8000"], "alaw", "PCMA/8000"),
    ("mkv", ["-c:a", "g722", "-ar", "16000"], "g722", "G722/8000"),
  ])
  func samplesAreThoseOfTheFile(
    ending: String, options: [String], raw: String, map: String
  ) async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.\(ending)")
    try await makeFile(file, options)
    let (units, source) = try read(file)
    #expect(source.format.map == map)
    let coder = raw == "g722" ? ["-c:a", "copy"] : []
    let expected = try await FFmpeg.run(
      ["-i", file.path, "-map", "0:a"] + coder + ["-f", raw, "-"])
    #expect(bytes(units) == [UInt8](expected))
    // Times count on, whatever the container rounds them to.
    var packetizer = SoundPacketization().packetizer(for: source)
    let payloads = units.flatMap { packetizer.packetize($0) } + packetizer.finish()
    #expect(payloads.map(\.marker) == payloads.indices.map { $0 == 0 })
  }

  @Test(arguments: ["mp4", "mkv", "ts", "aac"])
  func framesOfAACAreTheSameInEveryContainer(ending: String) async throws {
    let folder = try TemporaryFolder()
    let first = folder.url("first.mp4")
    try await makeFile(first, ["-c:a", "aac"])
    let file = folder.url("second.\(ending)")
    _ = try await FFmpeg.run(
      ["-i", first.path, "-c", "copy"] + (ending == "aac" ? ["-vn"] : []) + [file.path])
    let (expected, original) = try read(first)
    let (units, source) = try read(file)
    #expect(units.map(\.units) == expected.map(\.units))
    #expect(source.configuration.prefix(2) == original.configuration.prefix(2))
    #expect(source.format.map == "mpeg4-generic/48000")
    let distances = Set(
      zip(units, units.dropFirst()).map { $1.presentationTicks - $0.presentationTicks })
    #expect(distances == [1024])
  }

  @Test func framesOfOpusCountOn() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.mkv")
    try await makeFile(file, ["-c:a", "libopus"])
    let (units, source) = try read(file)
    #expect(source.format.map == "opus/48000/2")
    #expect(source.format.channels == 1)
    #expect(units.count > 100)
    let distances = Set(
      zip(units, units.dropFirst()).map { $1.presentationTicks - $0.presentationTicks })
    #expect(distances == [960])
  }

  @Test func whatHasNoPayloadFormatIsRefused() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.mkv")
    try await makeFile(file, ["-c:a", "mp2"])
    #expect(throws: SendError.unsupportedSound(path: file.path, codec: "mp2")) { try read(file) }
    let silent = folder.url("silent.mp4")
    try await makeFile(silent, ["-map", "0:v"])
    #expect(throws: SendError.noSound(path: silent.path)) { try read(silent) }
    #expect(throws: SendError.self) { try read(folder.url("absent.mp4")) }
  }

  /// Repeated, sound and pictures begin again at the same time, whichever is longer.
  @Test func repetitionsOfBothTracksStayTogether() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url("clip.mkv")
    try await makeFile(file, ["-c:a", "pcm_s16le", "-af", "atrim=0:1.5"])
    let period = try SourceRecipe.duration(ofFile: file.path)
    #expect(abs(period - 2_000_000_000) < 2_000_000)
    let stream = RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0)
    var video = PacketFeed.Configuration(
      recipe: .file(path: file.path), stream: stream)
    (video.repetitions, video.period) = (3, period)
    var sound = PacketFeed.SoundConfiguration(recipe: .file(path: file.path), stream: stream)
    (sound.repetitions, sound.period) = (3, period)
    var feeds = [try PacketFeed(video), try PacketFeed(sound)]
    for (index, rate) in [90_000.0, 48_000].enumerated() {
      var times: [Double] = []
      while let batch = try feeds[index].next().element { times.append(Double(batch.ticks) / rate) }
      for repetition in 1...2 {
        let start = Double(repetition * Int(period)) / 1e9
        #expect(times.contains { abs($0 - start) < 0.0001 })
      }
      #expect(times == times.sorted())
    }
  }
}
