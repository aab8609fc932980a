import Impairment
import NIOCore
import RTPWire
import Testing

@testable import RTPSend

/// What a bad network does to the RTCP of a sender: the same as to anything else.
@Suite struct ReportImpairmentTests {
  private struct Outcome {
    /// The media, and when each packet left.
    var media: [(time: Int64, bytes: ByteBuffer)] = []
    /// When RTCP left, in nanoseconds since the beginning.
    var reports: [Int64] = []
    var goodbyes = 0
    /// Compounds that were written.
    var written = 0
  }

  /// Forty seconds, with a report at the beginning, each five seconds, and with the goodbye.
  private func run(_ plan: String, sendsRTCP: Bool = true) throws -> Outcome {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height, pattern.framesPerSecond) = (256, 144, 2)
    pattern.frameLimit = 80
    var feed = PacketFeed.Configuration(
      recipe: .pattern(pattern),
      stream: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    feed.payloadLimit = 200
    var configuration = SenderConfiguration(
      feed: feed, destination: .send(host: "127.0.0.1", port: 9))
    configuration.tracks[0].plan = try PlanText.parse(plan)
    configuration.seed = 2
    configuration.sendsRTCP = sendsRTCP
    let beginning: Int64 = 7_000_000_000
    var now = Instant(nanoseconds: beginning)
    var run = try StreamRun(configuration, unixNanoseconds: { 1_000_000_000 }) { now }
    var outcome = Outcome()
    while !run.isFinished, let deadline = run.deadline {
      now = max(now, deadline)
      while let packet = run.next(at: now) {
        let time = now.nanoseconds - beginning
        if packet.isControl {
          outcome.reports.append(time)
        } else {
          outcome.media.append((time, packet.bytes))
        }
      }
      try run.prepare()
    }
    outcome.goodbyes = run.goodbye(at: now).count
    outcome.written = run.report(at: now).reports
    return outcome
  }

  @Test func withoutAPlanEveryReportLeavesAtOnce() throws {
    let outcome = try run("")
    #expect(outcome.reports == (0..<8).map { $0 * 5_000_000_000 })
    #expect(outcome.goodbyes == 1 && outcome.written == 9)
  }

  @Test func someAreLost() throws {
    let outcome = try run("0 loss 50%")
    #expect(outcome.written == 9)
    #expect((1..<8).contains(outcome.reports.count))
    #expect(try run("0 loss 50%").reports == outcome.reports)
    #expect(try run("0 loss 100%").goodbyes == 0)
  }

  @Test func theyTravelAsLongAsMedia() throws {
    let outcome = try run("0 delay 300ms")
    #expect(outcome.reports == (0..<8).map { $0 * 5_000_000_000 + 300_000_000 })
    // Nobody waits for it.
    #expect(outcome.goodbyes == 1)
  }

  @Test func silenceIsTheirsToo() throws {
    let outcome = try run("4-16 silence\n30 duplicate 100%")
    #expect(outcome.reports == [0, 20, 25, 30, 30, 35, 35].map { $0 * 1_000_000_000 })
    #expect(outcome.goodbyes == 2)
  }

  @Test(arguments: [
    "0 loss 10%, duplicate 5%, corrupt 5%", "0 delay 40ms jitter 20ms overtaking, reorder 10% 3",
    "0 rate 50k queue 8k, loss 2%",
  ])
  func whatHappensToMediaDoesNotDependOnThem(plan: String) throws {
    let with = try run(plan)
    let without = try run(plan, sendsRTCP: false)
    #expect(with.media.map(\.bytes) == without.media.map(\.bytes))
    #expect(with.media.map(\.time) == without.media.map(\.time))
    #expect(!with.reports.isEmpty && without.reports.isEmpty)
  }
}
