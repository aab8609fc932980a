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
import TestPattern
import TestSupport
import Testing
import Transports

/// Runs over several connections, each played from memory.
struct ReconnectionTests {
  private static let formats = OutputCatalogue.standard

  typealias Script = ScriptedTransport.Script

  /// The result of a run: the number in each frame's picture, the access units, the report.
  struct Outcome {
    var report: Receiver.Report
    var frames: [UInt32?]
    var sizes: [Int]
    var units: [ByteBuffer]
    var times: [Int64]
    var transports: [ScriptedTransport]
  }

  private static func run(
    _ scripts: [Script], decoding: Bool = true, within seconds: Double = 30,
    setUp: (inout Receiver.Configuration) throws -> Void = { _ in },
    meanwhile: @escaping @Sendable (Receiver) async -> Void = { _ in }
  ) async throws -> Outcome {
    let source = ScriptedSource(scripts)
    let frames = Mutex<[(number: UInt32?, width: Int)]>([])
    let units = Mutex<[(bytes: ByteBuffer, ticks: Int64)]>([])
    var configuration = Receiver.Configuration()
    var reconnection = Reconnection()
    reconnection.firstDelay = .milliseconds(10)
    reconnection.longestDelay = .milliseconds(20)
    reconnection.silence = .seconds(seconds)
    configuration.reconnection = reconnection
    // No test waits forever.
    configuration.firstMediaTimeout = .after(.seconds(seconds))
    configuration.silenceTimeout = .after(.seconds(seconds))
    configuration.onAccessUnit = { unit in
      units.withLock { $0.append((unit.bytes, unit.time.ticks)) }
    }
    if decoding {
      configuration.onFrame = { frame in
        let number = frame.withPlane(0) { bytes, layout in
          bytes.withUnsafeBytes { bytes in
            FrameNumberStrip.read(
              luma: bytes.bindMemory(to: UInt8.self).span, stride: layout.stride,
              width: frame.width)
          }
        }
        frames.withLock { $0.append((number, frame.width)) }
      }
    }
    try setUp(&configuration)
    let receiver = try Receiver(configuration: configuration) { _ in source.make() }
    let companion = Task { await meanwhile(receiver) }
    let report = await receiver.run()
    companion.cancel()
    return Outcome(
      report: report, frames: frames.withLock { $0.map(\.number) },
      sizes: frames.withLock { $0.map(\.width) }, units: units.withLock { $0.map(\.bytes) },
      times: units.withLock { $0.map(\.ticks) }, transports: source.transports)
  }

  private static func session(
    _ ssrc: UInt32, sequence: UInt16, timestamp: UInt32
  ) -> RTPStream.Configuration {
    RTPStream.Configuration(
      ssrc: ssrc, initialSequence: sequence, initialTimestamp: timestamp)
  }

  private static func expectFrames(
    _ outcome: Outcome, _ counts: [Int], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let expected: [UInt32?] = counts.flatMap { (0..<UInt32($0)).map { $0 } }
    #expect(outcome.frames == expected, sourceLocation: sourceLocation)
  }

  struct Restart: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var ssrc: UInt32 = 0xA
    var sequence: UInt16 = 1000
    var timestamp: UInt32 = 90_000
  }

  /// Against one that ends at 1000 + a few hundred packets, with a timestamp of 180,000.
  static let restarts = [
    Restart(testDescription: "all as before, byte for byte"),
    Restart(testDescription: "another SSRC", ssrc: 0xB),
    Restart(
      testDescription: "another SSRC, number and time", ssrc: 0xB, sequence: 60_000, timestamp: 5),
    Restart(testDescription: "a number a little further back", sequence: 1010),
    Restart(testDescription: "a number a little further on", sequence: 1400),
    Restart(testDescription: "a time far ahead", timestamp: 3_000_000_000),
    Restart(testDescription: "a time a little further back", timestamp: 89_000),
  ]

  @Test(
    "a server that restarts: every frame of both sessions, and no other",
    arguments: restarts, [RTPSend.Codec.h264, .h265])
  func restart(_ restart: Restart, codec: RTPSend.Codec) async throws {
    let first = try PatternStream(
      codec, frames: 30, as: Self.session(0xA, sequence: 1000, timestamp: 90_000))
    let second = try PatternStream(
      codec, frames: 25,
      as: Self.session(
        restart.ssrc, sequence: restart.sequence, timestamp: restart.timestamp))
    let outcome = try await Self.run(
      [
        Script(media: [first.media], datagrams: first.datagrams),
        Script(media: [second.media], datagrams: second.datagrams, end: nil),
      ]
    ) { $0.frameLimit = 55 }
    Self.expectFrames(outcome, [30, 25])
    #expect(outcome.units == first.units + second.units)
    #expect(outcome.times == outcome.times.sorted(), "the time of the media goes back")
    #expect(Set(outcome.times).count == 55)
    let reception = try #require(outcome.report.status.stream).reception
    #expect(reception.delivered == UInt64(first.packets.count + second.packets.count))
    #expect(reception.lost == 0)
    #expect(reception.isBalanced)
    let statistics = outcome.report.status.connection.statistics
    #expect((statistics.attempts, statistics.recoveries) == (1, 1))
    #expect(statistics.outages.map(\.hasEnded) == [true])
    #expect(outcome.report.status.transport.delivered == reception.delivered)
    #expect(outcome.transports.allSatisfy { $0.isClosed })
  }

  /// The last packets of an access unit are missing, and are not taken from the next session.
  @Test func whatWasHeldIsNotGluedToWhatComes() async throws {
    let first = try PatternStream(
      .h264, frames: 20, as: Self.session(0xA, sequence: 1000, timestamp: 90_000))
    // The second one continues with exactly the number and time where the first was cut.
    let cut = first.packets.count - 4
    let second = try PatternStream(
      .h264, frames: 20,
      as: Self.session(0xA, sequence: UInt16(1000 + cut), timestamp: 90_000 + 19 * 3000))
    let outcome = try await Self.run(
      [
        Script(media: [first.media], datagrams: Array(first.datagrams.prefix(cut))),
        Script(media: [second.media], datagrams: second.datagrams),
        // Ends the run.
        Script(fault: TLSError.otherCertificate(fingerprint: "AB")),
      ])
    #expect(Array(outcome.units.suffix(20)) == second.units)
    #expect(Array(outcome.frames.suffix(20)) == (0..<20).map { $0 })
  }

  /// A server that is joined in the middle of a group of pictures.
  @Test func aSessionThatBeginsBetweenKeyPictures() async throws {
    let first = try PatternStream(
      .h264, frames: 20, as: Self.session(0xA, sequence: 1, timestamp: 0))
    let second = try PatternStream(
      .h264, frames: 30, as: Self.session(0xB, sequence: 1, timestamp: 0))
    // From the first packet of the fifth picture on; the next key picture is the eleventh.
    let timestamp = UInt32(5 * 3000)
    let late = second.datagrams.filter { datagram in
      (datagram.bytes.getInteger(at: datagram.bytes.readerIndex + 4, as: UInt32.self) ?? 0)
        >= timestamp
    }
    let folder = try TemporaryFolder()
    let path = folder("received.h264")
    let outcome = try await Self.run(
      [
        Script(media: [first.media], datagrams: first.datagrams),
        Script(media: [second.media], datagrams: late, end: nil),
      ]
    ) { configuration in
      configuration.frameLimit = 40
      configuration.outputs = [
        OutputRequest(
          argument: path, format: try #require(Self.formats.format(named: "h264")),
          policy: .dropOldest)
      ]
    }
    #expect(outcome.frames == (0..<20).map { $0 } + (10..<30).map { $0 })
    #expect(outcome.report.status.delivery.skippedAfterReconnecting == 5)
    let written = try Data(contentsOf: URL(fileURLWithPath: path))
    let expected = (first.units + second.units[10...]).reduce(into: Data()) {
      $0.append(contentsOf: $1.readableBytesView)
    }
    #expect(written == expected)
  }

  @Test func anotherPictureSize() async throws {
    let first = try PatternStream(
      .h264, frames: 15, as: Self.session(0xA, sequence: 1, timestamp: 0))
    let second = try PatternStream(
      .h264, frames: 15, width: 512, height: 288,
      as: Self.session(0xB, sequence: 1, timestamp: 0))
    let outcome = try await Self.run(
      [
        Script(media: [first.media], datagrams: first.datagrams),
        Script(media: [second.media], datagrams: second.datagrams),
      ]
    ) { $0.frameLimit = 30 }
    Self.expectFrames(outcome, [15, 15])
    #expect(outcome.sizes == Array(repeating: 256, count: 15) + Array(repeating: 512, count: 15))
  }

  @Test func anotherCodecGoesToAnotherDecoder() async throws {
    let first = try PatternStream(
      .h264, frames: 15, as: Self.session(0xA, sequence: 1, timestamp: 0))
    let second = try PatternStream(
      .h265, frames: 15, as: Self.session(0xA, sequence: 500, timestamp: 50_000))
    let folder = try TemporaryFolder()
    let path = folder("received.h264")
    let outcome = try await Self.run(
      [
        Script(media: [first.media], datagrams: first.datagrams),
        Script(media: [second.media], datagrams: second.datagrams),
        Script(media: [first.media], datagrams: first.datagrams, end: nil),
      ]
    ) { configuration in
      configuration.frameLimit = 45
      configuration.outputs = [
        OutputRequest(
          argument: path, format: try #require(Self.formats.format(named: "h264")),
          policy: .dropOldest),
        // So that there is an output left.
        OutputRequest(
          argument: "/dev/null", format: try #require(Self.formats.format(named: "yuv")),
          policy: .block),
      ]
    }
    Self.expectFrames(outcome, [15, 15, 15])
    // An elementary stream is of one codec.
    #expect(
      outcome.report.outputs[0].error as? OutputError
        == .wrongCodec(expected: H264.codec, found: H265.codec))
    let written = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(written.count == first.units.reduce(0) { $0 + $1.readableBytes })
  }

  /// A camera in NATS that is described otherwise from some message on.
  private struct AnotherKind: TransportFault {
    let description = "another connection receives the rest"
    let fault = ConnectionFault.transient
    let continuesInAnotherConnection = true
  }

  @Test(
    "what goes on in another connection is one run, without reconnecting",
    arguments: [ArrivalClock.monotonic, .recorded])
  func goingOn(clock: ArrivalClock) async throws {
    func script(_ stream: PatternStream, from start: Int64, end: TransportEnd) -> Script {
      let datagrams = stream.datagrams.enumerated().map { index, datagram in
        Datagram(
          bytes: datagram.bytes,
          arrival: Instant(nanoseconds: (start + Int64(index)) * 1_000_000))
      }
      return Script(media: [stream.media], datagrams: datagrams, end: end, clock: clock)
    }
    let first = try PatternStream(
      .h264, frames: 20, as: Self.session(0xA, sequence: 1, timestamp: 0))
    let second = try PatternStream(
      .h265, frames: 15, as: Self.session(0xB, sequence: 1, timestamp: 0))
    let outcome = try await Self.run([
      script(first, from: 0, end: .failed(AnotherKind())),
      script(second, from: 10_000, end: .ended),
    ]) { $0.reconnection = nil }
    Self.expectFrames(outcome, [20, 15])
    #expect(outcome.units == first.units + second.units)
    guard case .ended = outcome.report.reason else {
      Issue.record("\(outcome.report.reason)")
      return
    }
    let statistics = outcome.report.status.connection.statistics
    #expect(statistics.attempts == 1)
    #expect(statistics.outages.isEmpty)
    #expect(outcome.transports.allSatisfy { $0.isClosed })
  }

  @Test func aTransportThatIsTheOnlyOneDoesNotGoOn() async throws {
    let transport = ScriptedTransport(Script(end: .failed(AnotherKind())))
    let report = try await Receiver(transport: transport, configuration: .init()).run()
    guard case .transportFailed(let error) = report.reason else {
      Issue.record("\(report.reason)")
      return
    }
    #expect(error is AnotherKind)
  }

  @Test func aServerThatFallsSilentWithoutClosing() async throws {
    let stream = try PatternStream(
      .h264, frames: 10, as: Self.session(0xA, sequence: 1, timestamp: 0))
    let outcome = try await Self.run(
      [
        Script(media: [stream.media], datagrams: stream.datagrams, end: nil),
        // One that opens and sends nothing.
        Script(media: [stream.media], end: nil),
        Script(media: [stream.media], datagrams: stream.datagrams, end: nil),
      ]
    ) { configuration in
      configuration.frameLimit = 20
      // Long enough to decode the last pictures before the connection counts as silent.
      configuration.reconnection?.silence = .seconds(1.5)
    }
    Self.expectFrames(outcome, [10, 10])
    let statistics = outcome.report.status.connection.statistics
    #expect((statistics.attempts, statistics.recoveries) == (2, 1))
    #expect(statistics.outages.count == 1)
    // Twice the silence, because neither connection brought anything in that time.
    #expect(statistics.withoutMedia >= .seconds(3))
    guard case .mediaLost = statistics.outages.first?.cause else {
      Issue.record("\(statistics.outages)")
      return
    }
  }

  @Test func theFirstConnectionIsTriedAgainToo() async throws {
    let stream = try PatternStream(
      .h264, frames: 10, as: Self.session(0xA, sequence: 1, timestamp: 0))
    let refused = Script(fault: TransportError.connectionRefused(address: "192.0.2.1:554"))
    let outcome = try await Self.run(
      [
        refused, refused, refused,
        Script(
          media: [stream.media], datagrams: stream.datagrams, diagnostics: ["odd", "odder"]),
      ]
    ) { $0.frameLimit = 10 }
    Self.expectFrames(outcome, [10])
    #expect(outcome.transports.count == 4)
    #expect(outcome.report.status.connection.statistics.attempts == 3)
  }

  /// What was wrong with the connection before is not the reason why nothing comes on this one.
  @Test(arguments: [true, false])
  func aServerThatIsSilentAfterRefusing(opens: Bool) async throws {
    let refused = Script(fault: TransportError.connectionRefused(address: "192.0.2.1:554"))
    let outcome = try await Self.run(
      [refused, Script(hangs: !opens, end: nil)], within: 5
    ) { $0.reconnection?.silence = .seconds(600) }
    guard case .noMedia = outcome.report.reason else {
      Issue.record("\(outcome.report.reason)")
      return
    }
    #expect(outcome.report.status.connection.isOpen == opens)
  }

  @Test func whatADeviceDoesEveryTimeIsSaidOnce() async throws {
    let stream = try PatternStream(
      .h264, frames: 10, as: Self.session(0xA, sequence: 1, timestamp: 0))
    let script = Script(
      media: [stream.media], datagrams: stream.datagrams, diagnostics: ["odd", "odder"])
    let outcome = try await Self.run([script, script]) { $0.frameLimit = 20 }
    #expect(outcome.report.status.transport.diagnostics == ["odd", "odder"])
  }

  @Test func aFaultThatStaysEndsTheRun() async throws {
    let stream = try PatternStream(
      .h264, frames: 10, as: Self.session(0xA, sequence: 1, timestamp: 0))
    let outcome = try await Self.run([
      Script(media: [stream.media], datagrams: stream.datagrams),
      Script(fault: TLSError.otherCertificate(fingerprint: "AB")),
    ])
    guard case .cannotOpen(TLSError.otherCertificate) = outcome.report.reason else {
      Issue.record("\(outcome.report.reason)")
      return
    }
    #expect(outcome.transports.count == 2)
    // A description that is no video of a known codec stays too.
    let other = try await Self.run([
      Script(media: [MediaDescription(payloadType: 96, encodingName: "VP8")], end: nil)
    ])
    guard case .unsupportedMedia = other.report.reason else {
      Issue.record("\(other.report.reason)")
      return
    }
  }

  @Test func withoutReconnectionTheFirstEndIsTheEnd() async throws {
    let outcome = try await Self.run([Script()]) { $0.reconnection = nil }
    guard case .ended = outcome.report.reason else {
      Issue.record("\(outcome.report.reason)")
      return
    }
    #expect(outcome.transports.count == 1)
  }

  /// The states of a run when it is told to end.
  enum Moment: String, CaseIterable, Sendable {
    case opening, waiting, silent
  }

  @Test("a run ends at any moment", arguments: Moment.allCases)
  func stop(while moment: Moment) async throws {
    let script =
      switch moment {
      case .opening: Script(hangs: true)
      case .waiting: Script(fault: RTSPError.connectionClosed)
      case .silent: Script(end: nil)
      }
    let begun = ContinuousClock.now
    let outcome = try await Self.run([script]) { configuration in
      configuration.reconnection?.firstDelay = .seconds(600)
      configuration.reconnection?.longestDelay = .seconds(600)
      configuration.reconnection?.silence = .seconds(600)
    } meanwhile: { receiver in
      if moment == .waiting {
        // The wait begins a little later.
        while case .connected = await receiver.status().connection.phase { await Task.yield() }
      }
      receiver.stop()
    }
    guard case .stopped = outcome.report.reason else {
      Issue.record("\(outcome.report.reason)")
      return
    }
    #expect(ContinuousClock.now - begun < .seconds(10))
    #expect(outcome.transports.allSatisfy { $0.isClosed })
  }

  /// The clock of a run advances while it waits for a connection, and while one has no media.
  @Test("a run is over in time", arguments: Moment.allCases)
  func timeout(while moment: Moment) async throws {
    let stream = try PatternStream(
      .h264, frames: 10, as: Self.session(0xA, sequence: 1, timestamp: 0))
    let script =
      switch moment {
      case .opening: Script(hangs: true)
      case .waiting: Script(fault: RTSPError.connectionClosed)
      case .silent: Script(end: nil)
      }
    let never = try await Self.run([script], within: 0.3)
    guard case .noMedia(after: .seconds(0.3)) = never.report.reason else {
      Issue.record("\(never.report.reason)")
      return
    }
    let first = Script(media: [stream.media], datagrams: stream.datagrams)
    let lost = try await Self.run([first, script]) {
      $0.silenceTimeout = .after(.seconds(0.3))
    }
    guard case .mediaLost(after: .seconds(0.3)) = lost.report.reason else {
      Issue.record("\(lost.report.reason)")
      return
    }
    let done = try await Self.run([first, script]) { $0.duration = .seconds(2) }
    guard case .durationReached = done.report.reason else {
      Issue.record("\(done.report.reason)")
      return
    }
    Self.expectFrames(done, [10])
  }

  /// A listening port stays open: the next sender finds it where it was.
  @Test func aListenerDoesNotGoAway() async throws {
    let stream = try PatternStream(
      .h264, frames: 10, as: Self.session(0xA, sequence: 1, timestamp: 0))
    let outcome = try await Self.run(
      [
        Script(
          media: [stream.media], datagrams: stream.datagrams + [goodbye(of: 0xA)], end: nil,
          isPassive: true)
      ]
    ) { $0.silenceTimeout = .after(.seconds(1)) }
    guard case .mediaLost = outcome.report.reason else {
      Issue.record("\(outcome.report.reason)")
      return
    }
    #expect(outcome.transports.count == 1)
  }

  /// Who has not reported yet says no goodbye either (RFC 3550 §6.3.7).
  @Test("the sender says goodbye", arguments: [true, false])
  func goodbye(takesReports: Bool) async throws {
    let stream = try PatternStream(
      .h264, frames: 10, as: Self.session(0xA, sequence: 1, timestamp: 0))
    let outcome = try await Self.run(
      [
        Script(
          media: [stream.media], datagrams: stream.datagrams + [goodbye(of: 0xA)], end: nil,
          takesReports: takesReports)
      ]
    ) { $0.frameLimit = 20 }
    Self.expectFrames(outcome, [10, 10])
    #expect(outcome.transports.allSatisfy { $0.feedback.isEmpty })
  }

  /// The first report is due 1 to 3 s after the start; the last one says goodbye.
  @Test("a sender that takes reports has them to the end", arguments: [true, false])
  func reports(takesReports: Bool) async throws {
    let stream = try PatternStream(
      .h264, frames: 10, as: Self.session(0xA, sequence: 1, timestamp: 0))
    let script = Script(
      media: [stream.media], datagrams: stream.datagrams, end: nil, takesReports: takesReports)
    let outcome = try await Self.run([script]) { configuration in
      configuration.reconnection = nil
      configuration.duration = .seconds(5)
    }
    let transport = try #require(outcome.transports.first)
    let packets = try transport.feedback.map { try RTCPPacket.parse(compound: $0) }
    guard takesReports else { return #expect(packets.isEmpty) }
    #expect(packets.count >= 2)
    #expect(packets.first?.count == 2)
    #expect(packets.last?.count == 3)
    guard case .goodbye = packets.last?.last else {
      Issue.record("\(packets)")
      return
    }
  }

  private func goodbye(of ssrc: UInt32) -> Datagram {
    var bytes = ByteBuffer(bytes: [0x81, 203, 0, 1])
    bytes.writeInteger(ssrc)
    return Datagram(bytes: bytes, arrival: Instant(nanoseconds: 0), channel: .control)
  }
}
