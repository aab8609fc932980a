import Decode
import Defragment
import Foundation
import Outputs
import RTPSend
import RTPWire
import Receiver
import Reception
import Synchronization
import TestSupport
import Testing
import Transports

struct StopTests {
  /// No run may take longer to end: far beyond the two seconds that a stalled decoder and the
  /// outputs have, so that a busy machine is no failure.
  private static let longestEnd = Duration.seconds(20)

  /// A hundred frames wait, each of which takes a tenth of a second.
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
      // Slow on purpose: what waits would take ten seconds.
      usleep(100_000)
    }
    let receiver = try Receiver(transport: transport, configuration: configuration)
    let run = Task { await receiver.run() }
    for await _ in began { break }
    let stopped = ContinuousClock.now
    receiver.stop()
    let report = await run.value
    #expect(ContinuousClock.now - stopped < Self.longestEnd)
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
    configuration.silenceTimeout = .never
    configuration.duration = .seconds(20)
    let report = try await Receiver(transport: transport, configuration: configuration).run()
    guard case .mediaLost(after: .milliseconds(200)) = report.reason else {
      Issue.record("\(report.reason)")
      return
    }
  }

  /// Pictures larger than a pipe holds, into a pipe that is not read.
  @Test(arguments: [ArrivalClock.monotonic, .recorded])
  func aReaderThatHasStoppedDoesNotKeepARunFromEnding(clock: ArrivalClock) async throws {
    try await Self.runIntoAStalledPipe(end: nil, clock: clock)
  }

  @Test func aReaderThatHasStoppedDoesNotKeepALiveRunFromItsOwnEnd() async throws {
    try await Self.runIntoAStalledPipe(end: .ended, clock: .monotonic)
  }

  /// Stops the run unless it ends by itself, and expects the end soon after.
  private static func runIntoAStalledPipe(end: TransportEnd?, clock: ArrivalClock) async throws {
    let stream = try PatternStream(
      .h264, frames: 300, width: 640, height: 480,
      as: .init(ssrc: 1, initialSequence: 1, initialTimestamp: 1))
    let transport = ScriptedTransport(
      .init(media: [stream.media], datagrams: stream.datagrams, end: end, clock: clock))
    let folder = try TemporaryFolder()
    let path = folder("pipe")
    try #require(mkfifo(path, 0o600) == 0)
    let reader = open(path, O_RDONLY | O_NONBLOCK)
    defer { close(reader) }
    let (began, beginning) = AsyncStream.makeStream(of: Void.self)
    var configuration = Receiver.Configuration()
    configuration.outputs = [
      OutputRequest(
        argument: path,
        format: try #require(
          OutputCatalogue.standard.format(named: "yuv")),
        policy: .block)
    ]
    configuration.onFrame = { _ in beginning.yield() }
    let receiver = try Receiver(transport: transport, configuration: configuration)
    let run = Task { await receiver.run() }
    // More than may wait for the output: the decoder waits for it.
    var count = 0
    for await _ in began {
      count += 1
      if count == 70 { break }
    }
    let stopped = ContinuousClock.now
    if end == nil { receiver.stop() }
    let report = await run.value
    // What was not decoded is counted, and a run that was not stopped says that it lacks its end.
    #expect(report.isCutShort == (end != nil))
    let delivery = report.status.delivery
    #expect(delivery.undecodedAtEnd > 0)
    #expect(delivery.undecodedAtEnd == delivery.failures[.closed])
    #expect(ContinuousClock.now - stopped < Self.longestEnd)
    switch report.reason {
    case .stopped where end == nil, .ended where end != nil: break
    default: Issue.record("\(report.reason)")
    }
  }
}
