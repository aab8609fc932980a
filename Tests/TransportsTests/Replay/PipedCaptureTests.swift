import Foundation
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// Captures that come through a pipe, as in `ssh router tcpdump -U -w - | rtp-recv -`.
struct PipedCaptureTests {
  private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

  /// A pipe with a transport at its reading end.
  private final class PipedTransport {
    let transport: FramedTransport
    let sink = RecordingSink()
    private let reading: CInt
    private let writing: FileHandle

    init(
      _ configuration: ReplayConfiguration = ReplayConfiguration(), on eventLoop: any EventLoop
    ) throws {
      var ends: [CInt] = [-1, -1]
      try #require(pipe(&ends) == 0)
      reading = ends[0]
      writing = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
      transport = FramedTransport(
        source: .pipe(reading), recordings: configuration, on: eventLoop)
    }

    deinit { close(reading) }

    func open() async throws { try await transport.open(delivering: sink) }

    /// Writes from a separate thread, because the pipe may be full.
    func write(_ bytes: ByteBuffer) async throws {
      let writing = self.writing
      try await NIOThreadPool.singleton.runIfActive {
        try writing.write(contentsOf: Data(bytes.readableBytesView))
      }
    }

    func finish() throws { try writing.close() }

    func end() async throws -> TransportEnd { try await sink.ends.first(1)[0] }
  }

  /// As under `ulimit -n`, with many outputs.
  @Test func aPipeBehindTheLastFreeDescriptorIsNotOpened() async throws {
    let piped = try PipedTransport(on: eventLoop)
    // The loop has its own descriptors by now.
    try await eventLoop.submit {}.get()
    var former = rlimit()
    try #require(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &former) == 0)
    var none = rlimit(rlim_cur: 1, rlim_max: former.rlim_max)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
    var failure: (any Error)?
    do { try await piped.open() } catch { failure = error }
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &former)
    guard case TransportError.system? = failure else {
      Issue.record("open threw \(String(describing: failure))")
      return
    }
  }

  /// Two seconds of video of four packets a picture with sound beside it, a millisecond apart.
  private static let frames: [ByteBuffer] = (0..<400).flatMap { index -> [ByteBuffer] in
    var frames: [ByteBuffer] = []
    for part in 0..<4 {
      var packet = rtp(UInt16(index * 4 + part), ssrc: 0xA, payload: 200)
      packet.setInteger(UInt32(index * 450), at: 4)
      frames.append(FrameBytes.udp(packet))
    }
    var sound = rtp(UInt16(index), ssrc: 0xB, payload: 160)
    sound.setInteger(UInt8(0), at: 1)
    sound.setInteger(UInt32(index * 40), at: 4)
    frames.append(FrameBytes.udp(sound, to: 5006))
    return frames.map { FrameBytes.ethernet(FrameBytes.ipv4($0)) }
  }

  static let formats: [(name: String, bytes: ByteBuffer)] = [
    ("pcap", RecordingBytes.pcap(frames)),
    ("pcap, big-endian, nanoseconds", RecordingBytes.pcap(frames, order: .big, isNano: true)),
    ("pcapng", RecordingBytes.pcapng(frames)),
    ("pcapng, big-endian", RecordingBytes.pcapng(frames, .big)),
  ]

  @Test(arguments: formats.indices, [false, true])
  func whatIsPipedInIsPlayedAsAFileIs(format: Int, isCompressed: Bool) async throws {
    let bytes = Self.formats[format].bytes
    let piped = try PipedTransport(on: eventLoop)
    try await piped.open()
    try await piped.write(isCompressed ? GzipTests.gzip(bytes) : bytes)
    try piped.finish()
    guard case .ended = try await piped.end() else { throw CancellationError() }
    let plain = try await ReplayTransportTests().play(bytes).sink
    let datagrams = piped.sink.datagrams.elements
    #expect(datagrams.map(\.bytes) == plain.datagrams.elements.map(\.bytes))
    #expect(datagrams.map(\.track) == plain.datagrams.elements.map(\.track))
    #expect(datagrams.map(\.origin) == plain.datagrams.elements.map(\.origin))
    #expect(datagrams.map(\.arrival) == datagrams.map(\.arrival).sorted())
    #expect(piped.sink.descriptions.elements == plain.descriptions.elements)
    #expect(datagrams.count == 2000)
    let counters = await piped.transport.counters()
    #expect(counters.delivered == 2000)
    #expect(counters.carriage == .udp)
  }

  @Test func whatIsSaidOfTheMediaHoldsToo() async throws {
    let text =
      "v=0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n"
      + "m=audio 5006 RTP/AVP 0\na=rtpmap:0 PCMU/8000\na=ptime:5\n"
    let description = try SessionDescription(parsing: Array(text.utf8))
    var configuration = ReplayConfiguration()
    configuration.description = description
    let piped = try PipedTransport(configuration, on: eventLoop)
    try await piped.open()
    try await piped.write(Self.formats[0].bytes)
    try piped.finish()
    guard case .ended = try await piped.end() else { throw CancellationError() }
    let media = try #require(piped.sink.descriptions.elements.first)
    #expect(media.map(\.encodingName) == ["H264", "PCMU"])
  }

  /// These frames in `order`, each recorded at a millisecond.
  private static func recording(
    order: [Int] = Array(frames.indices), cutting cut: Int? = nil,
    at time: (Int) -> Int = { $0 }
  ) -> ByteBuffer {
    var file = RecordingBytes.section(.little)
    file.writeImmutableBuffer(RecordingBytes.interface(.little))
    for index in order {
      let missing = index == cut ? 5 : 0
      var frame = frames[index]
      frame.moveWriterIndex(to: frame.writerIndex - missing)
      file.writeImmutableBuffer(
        RecordingBytes.packet(
          frame, ticks: UInt64(1_000_000 + time(index)) * 1000, missing: missing, .little))
    }
    return file
  }

  /// What is wrong with a capture, and what is said of it.
  struct Fault: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var bytes: ByteBuffer
    var words: [String] = []
    var isIncomplete = false
  }

  static let faults = [
    Fault(testDescription: "none", bytes: recording()),
    Fault(
      testDescription: "a snap length", bytes: RecordingBytes.pcap(frames, snap: 240),
      words: ["1600 packets left out: recorded only in part; record without a snap length"],
      isIncomplete: true),
    Fault(
      testDescription: "one packet that is cut", bytes: recording(cutting: 700),
      words: ["1 packet left out: recorded only in part; record without a snap length"],
      isIncomplete: true),
    Fault(
      testDescription: "two files behind each other",
      bytes: recording(
        order: Array(0..<500) + Array(600..<1000) + Array(500..<600) + Array(1000..<2000)),
      words: [
        "100 packets behind later ones in the file, so that they seem late; "
          + "Wireshark's reordercap puts them in order"
      ]),
    // Nothing is to be put in order there.
    Fault(
      testDescription: "a clock that was set back",
      bytes: recording { $0 < 1000 ? $0 : $0 - 700 }),
  ]

  @Test(arguments: faults, [false, true])
  func whatTheCaptureLacksIsSaid(_ fault: Fault, isPiped: Bool) async throws {
    let counters: TransportCounters
    if isPiped {
      let piped = try PipedTransport(on: eventLoop)
      try await piped.open()
      try await piped.write(fault.bytes)
      try piped.finish()
      _ = try await piped.end()
      counters = await piped.transport.counters()
    } else {
      counters = try await ReplayTransportTests().play(fault.bytes).counters
    }
    #expect(counters.diagnostics.filter(\.isWarning).map(\.words) == fault.words)
    #expect(counters.isIncompleteRecording == fault.isIncomplete)
  }

  @Test func packetsComeOutAsTheyComeIn() async throws {
    let piped = try PipedTransport(on: eventLoop)
    try await piped.open()
    var first = RecordingBytes.pcap(Array(Self.frames.prefix(1000)))
    try await piped.write(first)
    // The pipe is open, and what came is there.
    _ = try await piped.sink.datagrams.first(1000)
    #expect(piped.sink.ends.elements.isEmpty)
    first = RecordingBytes.pcap(Self.frames)
    first.moveReaderIndex(
      forwardBy: RecordingBytes.pcap(Array(Self.frames.prefix(1000))).readableBytes)
    for frame in 0..<10 {
      // One record of 16 bytes and a frame.
      let length = 16 + Self.frames[1000 + frame].readableBytes
      let slice = first.readSlice(length: length)
      let record = try #require(slice)
      try await piped.write(record)
      _ = try await piped.sink.datagrams.first(1001 + frame)
    }
    try piped.finish()
    guard case .ended = try await piped.end() else { throw CancellationError() }
    #expect(piped.sink.datagrams.elements.count == 1010)
  }

  @Test func whatIsAskedForIsPlayed() async throws {
    var configuration = ReplayConfiguration()
    configuration.ssrc = 0xB
    let piped = try PipedTransport(configuration, on: eventLoop)
    try await piped.open()
    try await piped.write(RecordingBytes.pcap(Self.frames))
    try piped.finish()
    _ = try await piped.end()
    #expect(piped.sink.datagrams.elements.count == 400)
    #expect(piped.sink.descriptions.elements.first?.map(\.encodingName) == ["PCMU"])
  }

  @Test(
    arguments: [
      ("nothing", ByteBuffer(), "before its first packet"),
      ("a header that was cut", ByteBuffer(bytes: [0xD4, 0xC3, 0xB2, 0xA1, 2, 0]), "own header"),
      ("a header alone", RecordingBytes.pcap([]), "no packet was captured"),
      (
        "no RTP",
        RecordingBytes.pcap([
          FrameBytes.ethernet(FrameBytes.ipv4(FrameBytes.udp(ByteBuffer(integer: 7))))
        ]), "1 packet (1 UDP), none of them RTP"
      ),
      ("a text", ByteBuffer(string: "once upon a time there was a file"), "no RTP packets"),
      ("half a signature", ByteBuffer(bytes: [0x1F]), "in the middle of a packet"),
    ] as [(String, ByteBuffer, String)])
  func whatIsPipedInAndCannotBePlayedIsSaid(
    name: String, bytes: ByteBuffer, words: String
  ) async throws {
    let piped = try PipedTransport(on: eventLoop)
    try await piped.open()
    if bytes.readableBytes > 0 { try await piped.write(bytes) }
    try piped.finish()
    guard case .failed(let error) = try await piped.end() else { throw CancellationError() }
    #expect("\(error)".contains(words), "\(name): \(error)")
    #expect(piped.sink.datagrams.elements.isEmpty)
  }

  /// A router that sees everything but RTP must not fill the memory.
  @Test func whatIsKeptIsBounded() throws {
    var survey = CaptureSurvey()
    var wasEnough = false
    for index in 0..<40_000 {
      var bytes = ByteBuffer(repeating: 0x80, count: 1400)
      // Each of another source, so that none is one.
      bytes.setInteger(UInt32(index), at: 8)
      let packet = CarriedPacket(bytes: bytes, time: Int64(index) * 1000, carrier: .file(.media))
      survey.observe(packet, at: Instant(nanoseconds: Int64(index)))
      wasEnough = survey.isEnough(for: FlowSurvey.Wish(), at: packet.time) || wasEnough
    }
    #expect(!wasEnough)
    #expect(survey.kept.count * 1400 <= CaptureSurvey.maximumBytes)
    #expect(survey.kept.count * 1400 > CaptureSurvey.maximumBytes / 2)
  }

  @Test func arrivalsAreSpacedAsTheyWereRecordedAndNeverLaterThanTheyCame() {
    var clock = TransitClock()
    let second: Int64 = 1_000_000_000
    func arrival(_ recorded: Int64, _ read: Int64) -> Int64 {
      clock.arrival(ofRecorded: recorded, readAt: Instant(nanoseconds: read)).nanoseconds
    }
    #expect(arrival(1000 * second, 50 * second) == 50 * second)
    // The pipe held it up for 30 ms.
    #expect(
      arrival(1000 * second + 20_000_000, 50 * second + 50_000_000) == 50 * second + 20_000_000)
    // It arrives sooner after its recording than the first one did.
    #expect(arrival(1001 * second, 50 * second + 900_000_000) == 50 * second + 900_000_000)
    // The recording's clock was set back, and the pipe paused for an hour.
    #expect(arrival(1001 * second, 3650 * second) == 3650 * second)
    #expect(arrival(1002 * second, 3651 * second) == 3651 * second)
  }
}
