import Decode
import Foundation
import Outputs
import RTPSend
import Receiver
import Synchronization
import Testing
import Transports

struct StopTests {
  /// A hundred frames wait, of which each takes a tenth of a second.
  @Test func aDecoderThatIsBehindDoesNotKeepARunFromEnding() async throws {
    let stream = try PatternStream(
      .h264, frames: 100, as: .init(ssrc: 1, initialSequence: 1, initialTimestamp: 1))
    let transport = ScriptedTransport(
      .init(media: [stream.media], datagrams: stream.datagrams, end: nil))
    let (began, beginning) = AsyncStream.makeStream(of: Void.self)
    let frames = Atomic(0)
    var configuration = Receiver.Configuration()
    configuration.onFrame = { _ in
      beginning.yield()
      frames.add(1, ordering: .relaxed)
      usleep(100_000)
    }
    let receiver = try Receiver(transport: transport, configuration: configuration)
    let run = Task { await receiver.run() }
    for await _ in began { break }
    let stopped = ContinuousClock.now
    receiver.stop()
    let report = await run.value
    #expect(ContinuousClock.now - stopped < .seconds(3))
    #expect(frames.load(ordering: .relaxed) < 90)
    guard case .stopped = report.reason else {
      Issue.record("\(report.reason)")
      return
    }
  }

  /// Cameras send RTCP or rubbish on when their encoder has died.
  @Test func rubbishIsNoMedia() async throws {
    let stream = try PatternStream(
      .h264, frames: 10, as: .init(ssrc: 1, initialSequence: 1, initialTimestamp: 1))
    let transport = ScriptedTransport(
      .init(
        media: [stream.media], datagrams: stream.datagrams, end: nil,
        longestSilence: .milliseconds(100)))
    var configuration = Receiver.Configuration()
    configuration.silenceTimeout = nil
    configuration.duration = .seconds(20)
    let report = try await Receiver(transport: transport, configuration: configuration).run()
    guard case .mediaLost(after: .milliseconds(200)) = report.reason else {
      Issue.record("\(report.reason)")
      return
    }
  }
}
