import Bitstream
import Decode
import Defragment
import Foundation
import NIOCore
import Outputs
import RTPProcessor
import RTPSend
import RTPWire
import Receiver
import Reception
import Synchronization
import TestSupport
import Testing
import Transports

/// Transports with a recorded clock: what comes out depends on the recording and nothing else.
struct RecordingTests {
  /// The pattern with every 17th packet lost and some out of order, `spacing` apart.
  private static func recording(
    frames: Int, spacing: Duration = .milliseconds(2)
  ) throws -> (datagrams: [Datagram], media: MediaDescription) {
    let stream = try PatternStream(
      .h264, frames: frames,
      as: .init(ssrc: 1, initialSequence: 65_500, initialTimestamp: 1))
    var packets = stream.packets.enumerated().filter { $0.offset % 17 != 16 }.map(\.element)
    for index in stride(from: 3, to: packets.count - 8, by: 11) {
      packets.swapAt(index, index + 5)
    }
    let step = spacing.wholeNanoseconds
    return (
      packets.enumerated().map { index, bytes in
        Datagram(bytes: bytes, arrival: Instant(nanoseconds: 1_000_000 + Int64(index) * step))
      }, stream.media
    )
  }

  private static func run(
    _ script: ScriptedTransport.Script, format: String? = nil,
    _ configure: (inout Receiver.Configuration) -> Void = { _ in }
  ) async throws -> (report: Receiver.Report, frames: [FrameSummary], output: Data) {
    var configuration = Receiver.Configuration()
    let frames = Mutex<[FrameSummary]>([])
    // A closure for frames would have them decoded.
    if format != "h264" {
      configuration.onFrame = { frame in frames.withLock { $0.append(FrameSummary(of: frame)) } }
    }
    let folder = try TemporaryFolder()
    let path = folder("recorded.\(format ?? "yuv")")
    if let format {
      configuration.outputs = [
        OutputRequest(
          argument: path,
          format: try #require(
            OutputCatalogue.standard.format(named: format)),
          policy: .dropOldest)
      ]
    }
    configure(&configuration)
    let receiver = try Receiver(
      transport: ScriptedTransport(script), configuration: configuration)
    let report = await receiver.run()
    let output = (try? Data(contentsOf: URL(fileURLWithPath: path))) ?? Data()
    return (report, frames.withLock { $0 }, output)
  }

  @Test func theSameRecordingGivesTheSameEveryTime() async throws {
    let (datagrams, media) = try Self.recording(frames: 60)
    var first: (ReceptionStatistics?, DefragmentStatistics?, [FrameSummary], Data)?
    var random = SeededGenerator(seed: 5)
    for _ in 0..<20 {
      let script = ScriptedTransport.Script(
        media: [media], datagrams: datagrams, clock: .recorded,
        readSize: Int.random(in: 1...400, using: &random))
      let (report, frames, output) = try await Self.run(script, format: "yuv")
      let stream = report.status.stream
      let now = (stream?.reception, stream?.defragmentation, frames, output)
      #expect(now.0?.lost ?? 0 > 0)
      #expect(now.0?.reordered ?? 0 > 0)
      #expect(!now.3.isEmpty)
      #expect(report.status.delivery.latency == 0)
      guard let first else {
        first = now
        continue
      }
      #expect(now.0 == first.0)
      #expect(now.1 == first.1)
      #expect(now.2 == first.2)
      #expect(now.3 == first.3)
    }
  }

  /// What is wanted of a recording, and where else it goes.
  enum Limited: CaseIterable {
    case decoded, copied, both
    /// Nothing but a rate tells when the last frame comes.
    case constantRate
  }

  @Test(
    "of a recording, as much is taken in as brings the frames that are wanted, and no more",
    arguments: Limited.allCases)
  func frameLimit(_ limited: Limited) async throws {
    let (datagrams, media) = try Self.recording(frames: 90)
    let copy = try #require(OutputCatalogue.standard.format(named: "h264"))
    var first: (UInt64, UInt64, DefragmentStatistics?, Data)?
    // A read is taken in at once, however many pictures it brings.
    for readSize in [1, 7, 50, 400, 2000] {
      let folder = try TemporaryFolder()
      let (report, frames, _) = try await Self.run(
        .init(media: [media], datagrams: datagrams, clock: .recorded, readSize: readSize),
        format: limited == .copied ? "h264" : nil
      ) { configuration in
        configuration.frameLimit = 30
        configuration.constantRate = limited == .constantRate
        guard limited == .copied || limited == .both else { return }
        configuration.outputs = [
          OutputRequest(argument: folder("copy.h264"), format: copy, policy: .block)
        ]
      }
      guard case .framesReached = report.reason else {
        Issue.record("\(report.reason)")
        return
      }
      #expect(frames.count == (limited == .copied ? 0 : 30))
      let stream = try #require(report.status.stream)
      let output = (try? Data(contentsOf: URL(fileURLWithPath: folder("copy.h264")))) ?? Data()
      #expect(output.isEmpty == (limited == .decoded || limited == .constantRate))
      let now = (
        stream.reception.received, report.status.delivery.accessUnits, stream.defragmentation,
        output
      )
      #expect(now.0 > 0 && now.0 < datagrams.count)
      // Of 90; a decoder hands out a picture a few access units later.
      #expect((1..<60).contains(now.1))
      #expect(stream.reception.isBalanced)
      guard let first else {
        first = now
        continue
      }
      #expect((now.0, now.1) == (first.0, first.1))
      #expect(now.2 == first.2)
      #expect(now.3 == first.3)
    }
  }

  /// An hour of recorded silence, and a wait for a packet that is lost, take no time.
  @Test func pausesOfTheRecordingAreNotWaitedFor() async throws {
    let (datagrams, media) = try Self.recording(frames: 20)
    let later = datagrams.map { datagram in
      var datagram = datagram
      if datagram.bytes.getInteger(at: 2, as: UInt16.self) ?? 0 < 60_000 {
        datagram.arrival = datagram.arrival.advanced(by: .seconds(3600))
      }
      return datagram
    }
    let start = ContinuousClock.now
    let (report, frames, _) = try await Self.run(
      .init(media: [media], datagrams: later, clock: .recorded)
    ) { configuration in
      configuration.silenceTimeout = .after(.milliseconds(100))
      configuration.firstMediaTimeout = .after(.milliseconds(1))
    }
    guard case .ended = report.reason else {
      Issue.record("\(report.reason)")
      return
    }
    #expect(!frames.isEmpty)
    #expect(ContinuousClock.now - start < .seconds(60))
  }

  /// The reorder window is 200 ms of the recording, however fast it is played.
  @Test(arguments: [(199, false), (201, true)])
  func aPacketIsLateByTheClockOfTheRecording(milliseconds: Int, isLate: Bool) async throws {
    let stream = try PatternStream(
      .h264, frames: 20, as: .init(ssrc: 1, initialSequence: 1, initialTimestamp: 1))
    var datagrams = stream.datagrams
    var held = datagrams.remove(at: datagrams.count / 2)
    held.arrival = Instant(nanoseconds: Int64(milliseconds) * 1_000_000)
    let (report, _, _) = try await Self.run(
      .init(media: [stream.media], datagrams: datagrams + [held], clock: .recorded))
    let reception = try #require(report.status.stream?.reception)
    #expect(reception.late == (isLate ? 1 : 0))
    #expect(reception.lost == (isLate ? 1 : 0))
  }

  @Test func theDurationIsThatOfTheRecording() async throws {
    let (datagrams, media) = try Self.recording(frames: 100, spacing: .milliseconds(10))
    var received: Set<UInt64> = []
    for readSize in [1, 7, 1000] {
      let (report, _, _) = try await Self.run(
        .init(media: [media], datagrams: datagrams, clock: .recorded, readSize: readSize)
      ) { $0.duration = .milliseconds(495) }
      guard case .durationReached = report.reason else {
        Issue.record("\(report.reason)")
        return
      }
      received.insert(report.status.stream?.reception.received ?? 0)
    }
    // From the first packet that is delivered on.
    #expect(received.count == 1)
    #expect((50...60).contains(received.first ?? 0))
  }

  /// The decoder and the outputs are slower than memory: they are waited for, whatever they are.
  @Test(arguments: ["yuv", "h264"])
  func nothingIsLostBecauseSomebodyIsSlow(format: String) async throws {
    let stream = try PatternStream(
      .h264, frames: 700, as: .init(ssrc: 1, initialSequence: 1, initialTimestamp: 1))
    let (report, _, output) = try await Self.run(
      .init(media: [stream.media], datagrams: stream.datagrams, clock: .recorded),
      format: format
    ) { configuration in
      // Slow on purpose.
      if format == "yuv" { configuration.onFrame = { _ in usleep(200) } }
    }
    #expect(report.status.delivery.droppedBeforeDecoder == 0)
    #expect(report.outputs.allSatisfy { $0.error == nil })
    let expected =
      format == "yuv"
      ? 700 * 256 * 144 * 3 / 2 : stream.units.reduce(0) { $0 + $1.readableBytes }
    #expect(output.count == expected)
  }

  @Test func whatIsNoVideoIsSaidAtTheEnd() async throws {
    let packets = (0..<30).map { number in
      var bytes = ByteBuffer(bytes: [0x80, 0x61])
      bytes.writeMultipleIntegers(UInt16(number), UInt32(number * 160), UInt32(9))
      bytes.writeRepeatingByte(0xD5, count: 160)
      return Datagram(bytes: bytes, arrival: Instant(nanoseconds: Int64(number) * 20_000_000))
    }
    let (report, _, _) = try await Self.run(.init(datagrams: packets, clock: .recorded))
    guard case .unrecognizedMedia([97]) = report.reason else {
      Issue.record("\(report.reason)")
      return
    }
  }

  /// A goodbye in the middle of a recording is not its end.
  @Test func whatComesBehindAGoodbyeIsPlayedToo() async throws {
    let stream = try PatternStream(
      .h264, frames: 20, as: .init(ssrc: 1, initialSequence: 1, initialTimestamp: 1))
    var datagrams = stream.datagrams
    let goodbye = ByteBuffer(bytes: [0x81, 203, 0, 1, 0, 0, 0, 1])
    datagrams.insert(
      Datagram(bytes: goodbye, arrival: Instant(nanoseconds: 0), channel: .control),
      at: datagrams.count / 2)
    for index in datagrams.indices {
      datagrams[index].arrival = Instant(nanoseconds: Int64(index) * 400_000_000)
    }
    let (report, _, _) = try await Self.run(
      .init(media: [stream.media], datagrams: datagrams, clock: .recorded))
    #expect(report.status.delivery.frames == 20)
  }

  /// One picture of a stream that does not say its rate: the file has to say one, and the run ends.
  @Test func onePictureOfAnUnknownRateIsWritten() async throws {
    let stream = try EncodedStream(
      .h265, ["libx265", "-x265-params", "vui-timing-info=0:log-level=none"], frames: 3)
    let packets = stream.packets(.init(ssrc: 1, initialSequence: 1, initialTimestamp: 1))
    let datagrams = packets.map { Datagram(bytes: $0, arrival: Instant(nanoseconds: 0)) }
    let (report, frames, output) = try await Self.run(
      .init(media: [stream.media], datagrams: datagrams, clock: .recorded), format: "y4m"
    ) { $0.frameLimit = 1 }
    #expect(frames.count == 1)
    let header = String(decoding: output.prefix { $0 != 10 }, as: UTF8.self)
    #expect(header.hasPrefix("YUV4MPEG2 W256 H144 F25:1 "))
    #expect(output.count == header.utf8.count + 1 + 6 + 256 * 144 * 3 / 2)
    #expect(report.outputs.first?.notes.count == 1)
  }

  @Test func aFolderThatIsMissingEndsTheRunOnlyIfNothingElseIsWritten() async throws {
    let (datagrams, media) = try Self.recording(frames: 20)
    let mp4 = try #require(OutputCatalogue.standard.format(named: "mp4"))
    for isAlone in [true, false] {
      let script = ScriptedTransport.Script(media: [media], datagrams: datagrams, clock: .recorded)
      let (report, _, output) = try await Self.run(script, format: "yuv") { configuration in
        let missing = OutputRequest(
          argument: "/nonexistent/a.mp4", format: mp4, policy: .dropOldest)
        configuration.outputs = (isAlone ? [] : configuration.outputs) + [missing]
      }
      #expect(output.isEmpty == isAlone)
      let last = try #require(report.outputs.last)
      #expect(
        last.error as? OutputError == .cannotOpen(path: "/nonexistent/a.mp4", errno: ENOENT))
      // It was tried until the end.
      #expect(report.status.outputs.last?.events.count == (isAlone ? 0 : 1))
    }
  }
}
