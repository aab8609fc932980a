import Bitstream
import Decode
import Defragment
import Foundation
import NIOCore
import Outputs
import RTPSend
import Receiver
import TestSupport
import Testing
import Transports

/// A far end that sends as fast as it is read, into outputs that are slower.
struct HoldTests {
  /// Makes a decoder that is certainly slower than memory.
  private static func beSlow() { usleep(200) }

  /// More than may wait for the decoder.
  private static let frames = 600

  private static func run(
    format: String, policy: OutputLane.Policy, readSize: Int? = 16,
    onFrame: @escaping @Sendable (RawFrame, ScriptedTransport) -> Void
  ) async throws -> (report: Receiver.Report, transport: ScriptedTransport, size: Int) {
    let stream = try PatternStream(
      .h264, frames: frames, as: .init(ssrc: 1, initialSequence: 1, initialTimestamp: 1))
    let transport = ScriptedTransport(
      .init(media: [stream.media], datagrams: stream.datagrams, readSize: readSize))
    let folder = try TemporaryFolder()
    let path = folder("held.\(format)")
    var configuration = Receiver.Configuration()
    configuration.onFrame = { onFrame($0, transport) }
    configuration.outputs = [
      OutputRequest(
        argument: path,
        format: try #require(
          OutputCatalogue.standard.format(named: format)),
        policy: policy)
    ]
    let report = try await Receiver(transport: transport, configuration: configuration).run()
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    return (report, transport, size ?? 0)
  }

  @Test func whatIsDecodedIntoAFileIsWaitedFor() async throws {
    let (report, transport, size) = try await Self.run(format: "yuv", policy: .block) { _, _ in
      Self.beSlow()
    }
    #expect(report.status.delivery.droppedBeforeDecoder == 0)
    #expect(size == Self.frames * 256 * 144 * 3 / 2)
    #expect(transport.holds > 0)
  }

  @Test func nothingWaitsForAnOutputThatMayLoseFrames() async throws {
    let (_, transport, _) = try await Self.run(format: "yuv", policy: .dropOldest) { _, _ in
      Self.beSlow()
    }
    #expect(transport.holds == 0)
  }

  /// A disk that stalls for good: the far end continues after two seconds, and data is lost.
  @Test func anOutputThatIsStuckIsNotWaitedForForEver() async throws {
    let began = ContinuousClock.now
    let (report, transport, _) = try await Self.run(format: "yuv", policy: .block) { _, transport in
      do { try waitUntil("the far end has ended") { transport.hasEnded } } catch {
        Issue.record(error)
      }
    }
    #expect(transport.holds == 1)
    #expect(ContinuousClock.now - began >= .seconds(2))
    #expect(report.status.delivery.droppedBeforeDecoder > 0)
  }

  /// All of it is read before the far end can be held, as from a server that sends a file at once.
  @Test func whatWasReadBeforeItCouldBeHeldWaitsToo() async throws {
    let (report, transport, size) = try await Self.run(
      format: "yuv", policy: .block, readSize: nil
    ) { _, _ in Self.beSlow() }
    #expect(report.status.delivery.droppedBeforeDecoder == 0)
    #expect(size == Self.frames * 256 * 144 * 3 / 2)
    #expect(transport.holds > 0)
  }
}
