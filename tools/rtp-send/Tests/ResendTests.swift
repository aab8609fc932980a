import NIOCore
import RTPWire
import Testing

@testable import RTPSend

/// What a receiver asks for again and again.
struct ResendTests {
  private let begin = Instant(nanoseconds: 0)

  /// A stream of five pictures, all of which have left.
  private func run() throws -> StreamRun {
    var pattern = PatternConfiguration()
    (pattern.width, pattern.height, pattern.frameLimit) = (256, 144, 5)
    var feed = PacketFeed.Configuration(
      recipe: .pattern(pattern),
      stream: RTPStream.Configuration(ssrc: 1, initialSequence: 0, initialTimestamp: 0))
    feed.feedback.requests = [.nack]
    var configuration = SenderConfiguration(feed: feed, destination: .listen(host: "", port: 0))
    configuration.pacing = .unpaced
    configuration.sendsRTCP = false
    var run = try StreamRun(configuration, unixNanoseconds: { 0 }) { begin }
    for _ in 0..<10 {
      while run.next(at: begin) != nil {}
      try run.prepare()
    }
    return run
  }

  private let request: ByteBuffer = {
    var bytes = ByteBuffer()
    let lost = RTCPFeedback.LostPackets(first: SequenceNumber(0))
    bytes.writeFeedback(.genericNACK(media: 1, [lost]), from: 9)
    return bytes
  }()

  @Test func requestsWithoutEndDoNotKeepAStreamThatHasEnded() throws {
    var run = try run()
    var (answers, now) = (0, begin)
    while !run.isFinished, now < begin.advanced(byNanoseconds: 60_000_000_000) {
      now = now.advanced(byNanoseconds: 400_000_000)
      run.answer(request, at: now)
      while run.next(at: now) != nil { answers += 1 }
    }
    #expect(now <= begin.advanced(byNanoseconds: 6_000_000_000))
    #expect(answers > 5)
  }

  @Test func aFloodOfRequestsMakesNoneOfPackets() throws {
    var run = try run()
    for _ in 0..<20_000 { run.answer(request, at: begin) }
    var answers = 0
    while run.next(at: begin) != nil { answers += 1 }
    #expect(answers == ResendAllowance.packets)
  }
}
