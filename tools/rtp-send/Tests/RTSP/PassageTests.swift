import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing
import Transports

@testable import RTPSend

/// Parts of files, played on a virtual clock.
@Suite struct PassageTests {
  static let b = ["-c:v", "libx264", "-g", "30", "-bf", "2", "-pix_fmt", "yuv420p"]
  static let h265 = [
    "-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-x265-params",
    "keyint=30:min-keyint=30:scenecut=0:bframes=3:pools=none:frame-threads=1:log-level=none",
  ]

  struct Sent {
    var timestamp: UInt32
    var sequence: UInt16
    var time: Int64
    var isSound: Bool
  }

  struct Play {
    var run: StreamRun
    var now = Instant(nanoseconds: 0)
    var sent: [Sent] = []

    init(_ path: String, sound: Bool = false, key: SRTPKeyMaterial? = nil) throws {
      var feed = PacketFeed.Configuration(
        recipe: .file(path: path),
        stream: RTPStream.Configuration(ssrc: 1, initialSequence: 100, initialTimestamp: 1_000_000))
      feed.payloadLimit = 60_000
      feed.key = key
      var tracks = [TrackConfiguration(.video(feed))]
      if sound {
        tracks.append(
          TrackConfiguration(
            .sound(
              PacketFeed.SoundConfiguration(
                recipe: .file(path: path),
                stream: RTPStream.Configuration(
                  ssrc: 2, initialSequence: 500, initialTimestamp: 2_000_000)))))
      }
      let configuration = SenderConfiguration(
        tracks: tracks, destination: .listen(host: "", port: 0))
      run = try StreamRun(configuration, unixNanoseconds: { 0 }) { Instant(nanoseconds: 0) }
    }

    /// Sends what is due within so many seconds, or to the end.
    mutating func go(seconds: Double = 1000) throws {
      let end = now.advanced(byNanoseconds: Int64(seconds * 1e9))
      while let deadline = run.deadline, deadline <= end, !run.isFinished {
        now = max(now, deadline)
        while let packet = run.next(at: now) {
          guard !packet.isControl else { continue }
          sent.append(
            Sent(
              timestamp: packet.bytes.rtpTimestamp ?? 0, sequence: packet.bytes.rtpSequence ?? 0,
              time: now.nanoseconds, isSound: packet.track == 1))
        }
        try run.prepare()
      }
      if seconds < 1000 { now = end }
    }

    var pictures: [Sent] { sent.filter { !$0.isSound } }
  }

  func clip(_ folder: TemporaryFolder, _ name: String, _ options: [String]) async throws -> String {
    let file = folder.url(name)
    try FFmpeg.makeClip(file, frames: 300, options)
    return file.path
  }

  @Test(arguments: [
    ("a.mp4", b), ("a.mkv", b), ("a.ts", b), ("a.h264", b), ("a.mp4", h265), ("a.h265", h265),
  ])
  func aPassageBeginsAtTheKeyPictureBefore(name: String, options: [String]) async throws {
    let folder = try TemporaryFolder()
    let path = try await clip(folder, name, options)
    let survey = try FileSurvey(ofFile: path, framesPerSecond: 30)
    #expect(abs(survey.duration - 10_000_000_000) < 150_000_000, "\(survey.duration)")
    var play = try Play(path)
    for (wanted, key) in [(4.5, 4.0), (9.9, 9.0), (4.0, 4.0), (0.5, 0.0), (2.0, 2.0)] {
      play.sent = []
      let beginning = try play.run.play(
        Passage(start: Int64(wanted * 1e9)), in: survey, at: play.now)
      let start = Double(beginning.start ?? -1) / 1e9
      #expect(abs(start - key) < 0.15, "\(wanted): \(start)")
      try play.go()
      // Every picture from there to the end, the first of them at once.
      #expect(play.pictures.count == Int((10 - key) * 30), "\(wanted)")
      let first = try #require(play.pictures.first)
      #expect(beginning.packets[0]?.sequence == first.sequence)
      #expect(beginning.packets[0]?.timestamp == first.timestamp)
      #expect(play.pictures.allSatisfy { Int32(bitPattern: $0.timestamp &- first.timestamp) >= 0 })
      let length = Double(play.now.nanoseconds - first.time) / 1e9
      #expect(abs(length - (10 - key)) < 0.2)
    }
    // What follows is numbered on.
    #expect(play.run.isFinished)
  }

  @Test func whatAnEditListHidesIsPartOfTheFile() async throws {
    let folder = try TemporaryFolder()
    let path = try await clip(folder, "a.mp4", ["-c:v", "libx264", "-bf", "0"])
    let hiding = folder("b.mp4")
    _ = try await FFmpeg.run(["-itsoffset", "-0.2", "-i", path, "-c", "copy", hiding])
    let survey = try FileSurvey(ofFile: hiding, framesPerSecond: nil)
    #expect(abs(survey.duration - 10_000_000_000) < 1_000_000, "\(survey.duration)")
    var play = try Play(hiding)
    let beginning = try play.run.play(Passage(start: 0), in: survey, at: play.now)
    #expect(beginning.start == 0)
    try play.go()
    #expect(play.pictures.count == 300)
  }

  @Test func numbersAndTimestampsGoOnBehindASeek() async throws {
    let folder = try TemporaryFolder()
    let path = try await clip(folder, "a.mp4", Self.b)
    let survey = try FileSurvey(ofFile: path, framesPerSecond: nil)
    var play = try Play(path)
    try play.go(seconds: 2)
    _ = try play.run.play(Passage(start: 8_000_000_000), in: survey, at: play.now)
    try play.go(seconds: 1)
    _ = try play.run.play(Passage(start: 1_000_000_000), in: survey, at: play.now)
    try play.go(seconds: 1)
    let numbers = play.sent.map(\.sequence)
    #expect(numbers == numbers.indices.map { UInt16(100 + $0) })
    let ticks = play.sent.map { Int($0.timestamp) }
    // Pictures are reordered by two at most.
    for index in ticks.indices.dropFirst(3) { #expect(ticks[index] > ticks[index - 3]) }
  }

  @Test func aPauseIsNoPartOfTheStream() async throws {
    let folder = try TemporaryFolder()
    let path = try await clip(folder, "a.mp4", Self.b)
    let survey = try FileSurvey(ofFile: path, framesPerSecond: nil)
    var play = try Play(path)
    try play.go(seconds: 2)
    let before = play.pictures.count
    play.run.hold(at: play.now)
    #expect(play.run.deadline == nil)
    play.now = play.now.advanced(byNanoseconds: 60_000_000_000)
    let beginning = try play.run.play(Passage(), in: survey, at: play.now)
    #expect(abs(Double(beginning.start ?? 0) / 1e9 - 2) < 0.15)
    try play.go(seconds: 1)
    #expect(abs(play.pictures.count - before - 30) <= 1)
    let ticks = play.pictures.map { Int($0.timestamp) }
    #expect((ticks.max() ?? 0) - (ticks.min() ?? 0) < 4 * 90_000)
  }

  /// A client that is slow pauses while it waits for the end of a picture.
  @Test func whatIsStillWithTheClientComesBeforeTheRest() async throws {
    func packet(_ sent: Sent) -> PacketFeed.Packet {
      var bytes = ByteBuffer()
      bytes.writeMultipleIntegers(
        UInt8(0x80), UInt8(96), sent.sequence, sent.timestamp, UInt32(1))
      return PacketFeed.Packet(bytes: bytes)
    }
    let folder = try TemporaryFolder()
    let path = try await clip(folder, "a.mp4", Self.b)
    let survey = try FileSurvey(ofFile: path, framesPerSecond: nil)
    var play = try Play(path)
    try play.go(seconds: 2)
    let last = try #require(play.sent.last)
    play.run.hold(at: play.now)
    let beginning = try play.run.play(
      Passage(), in: survey, behind: [packet(last)], at: play.now)
    #expect(beginning.packets[0]?.sequence == last.sequence)
    #expect(!beginning.isElsewhere)
    #expect(abs(Double(beginning.start ?? 0) / 1e9 - 2) < 0.15)
    // At the end of the file too: it does not begin again before the client has had it.
    try play.go()
    #expect(play.run.isFinished)
    let end = try #require(play.sent.last)
    let rest = try play.run.play(Passage(), in: survey, behind: [packet(end)], at: play.now)
    #expect(rest.packets[0]?.sequence == end.sequence)
    #expect(!rest.isElsewhere)
    let other = try play.run.play(
      Passage(start: 0), in: survey, behind: [packet(end)], at: play.now)
    #expect(other.isElsewhere)
    #expect(other.packets[0]?.sequence == end.sequence + 1)
  }

  @Test func aRangeEnds() async throws {
    let folder = try TemporaryFolder()
    let path = try await clip(folder, "a.mp4", Self.b)
    let survey = try FileSurvey(ofFile: path, framesPerSecond: nil)
    var play = try Play(path)
    let passage = Passage(start: 3_000_000_000, end: 5_000_000_000)
    let beginning = try play.run.play(passage, in: survey, at: play.now)
    #expect(beginning.end == 5_000_000_000)
    try play.go()
    #expect(play.run.isFinished)
    #expect(abs(play.pictures.count - 60) <= 3)
    // Playing on from the end begins again.
    let again = try play.run.play(Passage(), in: survey, at: play.now)
    #expect(again.start == 0)
  }

  /// A number encrypts one packet, so that none can be given again under a key.
  @Test(arguments: [false, true])
  func noNumbersAreMissingBehindTheEndOfARange(isProtected: Bool) async throws {
    let folder = try TemporaryFolder()
    let path = try await clip(folder, "a.mp4", Self.b)
    let survey = try FileSurvey(ofFile: path, framesPerSecond: nil)
    let bytes = [UInt8](repeating: 5, count: 30)
    let key = try SRTPKeyMaterial(suite: .aesCM128SHA1Tag80, keyAndSalt: bytes.span.bytes)
    var play = try Play(path, key: isProtected ? key : nil)
    let passage = Passage(start: 3_000_000_000, end: 5_000_000_000)
    _ = try play.run.play(passage, in: survey, at: play.now)
    try play.go()
    _ = try play.run.play(Passage(start: 0), in: survey, at: play.now)
    try play.go(seconds: 1)
    let numbers = play.sent.map(\.sequence)
    let first = try #require(numbers.first)
    #expect(numbers.count > 80)
    #expect(numbers == numbers.indices.map { first + UInt16($0) })
  }

  @Test(arguments: [0.5, 2.0]) func aScaleSpreadsTimestamps(scale: Double) async throws {
    let folder = try TemporaryFolder()
    let path = try await clip(folder, "a.mp4", Self.b)
    let survey = try FileSurvey(ofFile: path, framesPerSecond: nil)
    var play = try Play(path)
    _ = try play.run.play(Passage(start: 0, scale: scale), in: survey, at: play.now)
    try play.go()
    #expect(play.pictures.count == 300)
    let ticks = play.pictures.map { Int($0.timestamp) }
    let length = Double((ticks.max() ?? 0) - (ticks.min() ?? 0)) / 90_000
    #expect(abs(length - 299.0 / 30 / scale) < 0.01)
    #expect(abs(Double(play.now.nanoseconds) / 1e9 - 10 / scale) < 0.3)
  }

  @Test func soundBeginsWithThePictures() async throws {
    let folder = try TemporaryFolder()
    let path = folder("a.mp4")
    _ = try await FFmpeg.run(
      [
        "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=30", "-f", "lavfi", "-i", "sine", "-t",
        "10",
      ]
        + Self.b + ["-c:a", "aac", path])
    let survey = try FileSurvey(ofFile: path, framesPerSecond: nil)
    var play = try Play(path, sound: true)
    try play.go(seconds: 1)
    play.sent = []
    let beginning = try play.run.play(Passage(start: 6_500_000_000), in: survey, at: play.now)
    #expect(abs(Double(beginning.start ?? 0) / 1e9 - 6) < 0.15)
    try play.go()
    let first = try #require(play.sent.first { $0.isSound })
    let time = try #require(beginning.packets[1])
    #expect(time.sequence == first.sequence)
    // Both tracks' times in RTP-Info are those of the same moment, and no packet is before.
    #expect(first.timestamp &- time.timestamp < 1024 * 2)
    let heard: Int = play.sent.count { $0.isSound }
    #expect(heard >= 4 * 44_100 / 1024 - 2)
    // At another pace there is none.
    play.sent = []
    _ = try play.run.play(Passage(start: 6_500_000_000, scale: 2), in: survey, at: play.now)
    try play.go()
    #expect(!play.pictures.isEmpty)
    #expect(play.sent.allSatisfy { !$0.isSound })
  }
}
