import Foundation
import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import RTPSend

/// Many streams of the same pictures at once.
@Suite struct LoadTests {
  static let start = Instant(nanoseconds: 5_000_000_000)
  static let step: Int64 = 500_000

  static func loop() throws -> PacketLoop {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height, pattern.bitRate) = (256, 144, 200_000)
    (pattern.groupLength, pattern.frameLimit) = (10, 20)
    return try PacketLoop(
      PacketFeed.Configuration(
        recipe: .pattern(pattern),
        stream: RTPStream.Configuration(ssrc: 7, initialSequence: 65_530, initialTimestamp: 99)))
  }

  static func schedule(_ loop: PacketLoop, count: Int, limit: Int? = nil) -> LoadSchedule {
    LoadSchedule(
      loop, count: count, limit: limit,
      first: RTPStream.Configuration(
        ssrc: 7, initialSequence: 65_530, initialTimestamp: 0xFFFF_FFF0),
      seed: 4, sendsReports: true, at: start)
  }

  struct Sent: Equatable {
    var time: Int64
    var item: LoadSchedule.Item
  }

  /// What each stream sends in so many seconds.
  static func run(_ schedule: inout LoadSchedule, seconds: Int64) -> [[Sent]] {
    var sent = [[Sent]](repeating: [], count: schedule.streams.count)
    for time in stride(from: 0, through: seconds * 1_000_000_000, by: Int(step)) {
      let now = start.advanced(byNanoseconds: Int64(time))
      _ = schedule.take(by: now) { sent[$0].append(Sent(time: Int64(time), item: $1)) }
    }
    return sent
  }

  @Test func everyStreamSendsTheLoopAgainAndAgainUnderItsOwnNumbers() throws {
    let loop = try Self.loop()
    #expect(loop.ticks == 20 * 3000)
    var schedule = Self.schedule(loop, count: 30)
    let sent = Self.run(&schedule, seconds: 6)
    #expect(Set(schedule.streams.map(\.ssrc)).count == 30)
    #expect(schedule.lateness < Self.step)
    for (stream, items) in sent.enumerated() {
      // They begin one after the other within the two thirds of a second of the loop.
      let begin = Int64(stream) * 666_666_666 / 30
      var number: UInt16?
      var first: UInt32?
      var pictures = 0
      for case .picture(let place, let sequence, let timestamp) in items.map(\.item) {
        #expect(place == pictures % 20)
        #expect(sequence == number ?? sequence)
        number = sequence &+ UInt16(loop.pictures[place].packets.count)
        if first == nil { first = timestamp }
        #expect(timestamp == (first ?? 0) &+ UInt32(pictures / 20 * 60_000))
        pictures += 1
      }
      #expect(pictures == Int((6_000_000_000 - begin) * 30 / 1_000_000_000) + 1)
      let reports = items.filter { if case .report = $0.item { true } else { false } }
      #expect(reports.map { ($0.time - begin) / 1_000_000_000 } == [0, 5])
    }
    let numbers = sent[0].first.map(\.item)
    #expect(numbers == .picture(0, sequence: 65_530, timestamp: 0xFFFF_FFF0))
  }

  /// FFmpeg's transport streams begin at 1.4 s, and the reports of the streams at 0.
  @Test func aFileMayBeginAtAnyTime() throws {
    let folder = try TemporaryFolder()
    let file = folder.url("a.ts")
    try FFmpeg.makeClip(file, frames: 10, ["-c:v", "libx264", "-bf", "0"])
    let loop = try PacketLoop(
      PacketFeed.Configuration(
        recipe: .file(path: file.path),
        stream: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0)))
    for picture in loop.pictures {
      #expect(loop.packets[picture.packets].allSatisfy { $0.ticks == picture.ticks })
    }
  }

  @Test func aLimitEndsEachStreamWithOneGoodbye() throws {
    var schedule = Self.schedule(try Self.loop(), count: 5, limit: 25)
    let sent = Self.run(&schedule, seconds: 3)
    #expect(schedule.isFinished)
    for items in sent {
      #expect(items.count { if case .picture = $0.item { true } else { false } } == 25)
      #expect(items.count { if case .goodbye = $0.item { true } else { false } } == 1)
      guard case .goodbye = items.last?.item else {
        Issue.record("something follows the goodbye")
        continue
      }
    }
    #expect(schedule.take(by: .init(nanoseconds: .max)) { _, _ in Issue.record("more") } == nil)
  }

  @Test func aMachineThatSleptDoesNotSendItsSleep() throws {
    var schedule = Self.schedule(try Self.loop(), count: 10)
    _ = Self.run(&schedule, seconds: 1)
    var pictures = 0
    let next = schedule.take(by: Self.start.advanced(byNanoseconds: 60_000_000_000)) { _, _ in
      pictures += 1
    }
    #expect(pictures <= 20)
    #expect(next != nil)
    #expect(schedule.lateness > 58_000_000_000)
  }

  @Test func aSourceWithoutPicturesIsRefused() {
    #expect(throws: SendError.self) {
      try PacketLoop(
        PacketFeed.Configuration(
          recipe: .file(path: "/dev/null"),
          stream: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0)))
    }
  }
}
