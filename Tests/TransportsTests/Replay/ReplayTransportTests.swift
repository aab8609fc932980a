import Foundation
import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import Transports

/// Recordings through the transport, as a receiver gets them.
struct ReplayTransportTests {
  private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

  /// A recording on disk, gone with the object.
  final class File {
    let path: String

    init(_ bytes: ByteBuffer, ending: String = "bin") throws {
      path = NSTemporaryDirectory() + "\(UUID().uuidString).\(ending)"
      try Data(bytes.readableBytesView).write(to: URL(fileURLWithPath: path))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  func play(
    _ bytes: ByteBuffer, _ configure: (inout ReplayConfiguration) -> Void = { _ in }
  ) async throws -> (sink: RecordingSink, counters: TransportCounters) {
    let file = try File(bytes)
    var configuration = ReplayConfiguration()
    configure(&configuration)
    let transport = ReplayTransport(
      path: file.path, configuration: configuration, on: eventLoop)
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    _ = try await sink.ends.first(1)
    return (sink, await transport.counters())
  }

  /// Video of four packets a picture to port 5004 with its RTCP, audio to 5006, and noise.
  static let mixed: [ByteBuffer] = (0..<40).flatMap { index -> [ByteBuffer] in
    var frames: [ByteBuffer] = []
    for part in 0..<4 {
      var packet = rtp(UInt16(index * 4 + part), ssrc: 0xA, payload: 500)
      packet.setInteger(UInt32(index * 3000), at: 4)
      if part == 3 { packet.setInteger(UInt8(0x80 | 96), at: 1) }
      frames.append(FrameBytes.udp(packet))
    }
    var audio = rtp(UInt16(index), ssrc: 0xB, payload: 700)
    audio.setInteger(UInt8(97), at: 1)
    audio.setInteger(UInt32(index * 960), at: 4)
    frames += [
      FrameBytes.udp(audio, to: 5006), FrameBytes.udp(senderReport(ssrc: 0xA), to: 5005),
      FrameBytes.udp(ByteBuffer(repeating: 0x80, count: 40 + index), to: 53),
    ]
    return frames.map { FrameBytes.ethernet(FrameBytes.ipv4($0)) }
  }

  @Test func byDefaultWhatLooksLikeVideoIsPlayedWithItsRTCP() async throws {
    let (sink, counters) = try await play(RecordingBytes.pcap(Self.mixed))
    let all = sink.datagrams.elements
    let datagrams = all.filter { $0.track == 0 }
    #expect(datagrams.filter { $0.channel == .media }.count == 160)
    #expect(datagrams.filter { $0.channel == .control }.count == 40)
    let sound = all.filter { $0.track != 0 }
    #expect(sound.count == 40)
    #expect(sound.allSatisfy { $0.track == 1 && $0.bytes.readableBytes == 712 })
    #expect(datagrams.allSatisfy { $0.origin == endpoint("192.0.2.1", 6000) })
    #expect(all.map(\.arrival) == all.map(\.arrival).sorted())
    #expect(datagrams.first?.arrival == Instant(nanoseconds: 1_000_000_000_000))
    #expect(counters.delivered == 240)
    #expect(sink.descriptions.elements.first?.map(\.kind) == [.video, .application])
    guard case .ended? = sink.ends.elements.first else {
      Issue.record("no orderly end")
      return
    }
  }

  @Test(arguments: [(UInt32?.some(0xB), nil, nil), (nil, 5006, nil), (nil, nil, 97)])
  func whatIsAskedForIsPlayed(ssrc: UInt32?, port: UInt16?, payloadType: UInt8?) async throws {
    let (sink, _) = try await play(RecordingBytes.pcapng(Self.mixed)) {
      ($0.ssrc, $0.port, $0.payloadType) = (ssrc, port, payloadType)
    }
    #expect(sink.datagrams.elements.count == 40)
    #expect(sink.datagrams.elements.allSatisfy { $0.bytes.readableBytes == 712 })
  }

  /// As `tcpdump -i any` sees each packet at a bridge and behind it.
  @Test func packetsThatWereCapturedTwiceAreTheSameMedia() async throws {
    let (sink, _) = try await play(RecordingBytes.pcap(Self.mixed.flatMap { [$0, $0] }))
    #expect(sink.descriptions.elements.first?.map(\.kind) == [.video, .application])
    let media = sink.datagrams.elements.filter { $0.channel == .media }
    #expect(media.filter { $0.track == 0 }.count == 320)
    #expect(media.filter { $0.track == 1 }.count == 80)
  }

  @Test func mediaThatSharesAPortIsOneStream() async throws {
    let frames = Self.mixed.map { frame -> ByteBuffer in
      var frame = frame
      // Everything for 5006 goes to 5004.
      if frame.getInteger(at: 40, as: UInt16.self) == 5006 {
        frame.setInteger(UInt16(5004), at: 40)
      }
      return frame
    }
    let (sink, _) = try await play(RecordingBytes.pcap(frames))
    let media = sink.datagrams.elements.filter { $0.channel == .media }
    #expect(media.filter { $0.track == 0 }.count == 200)
  }

  @Test(arguments: [PacketFraming.rtp4, .rfc4571])
  func packetsBehindLengths(framing: PacketFraming) async throws {
    let packets = (0..<50).map { rtp(UInt16($0), payload: 100) }
    let (sink, _) = try await play(RecordingBytes.framed(packets, framing)) {
      $0.framing = framing
    }
    #expect(sink.datagrams.elements.map(\.bytes) == packets)
    #expect(sink.datagrams.elements.allSatisfy { $0.origin == nil })
  }

  @Test func rtpdumpWithControl() async throws {
    let packets = (0..<20).map { (rtp(UInt16($0), payload: 100), false) }
    let (sink, _) = try await play(
      RecordingBytes.rtpdump(packets + [(senderReport(), true)]))
    #expect(sink.datagrams.elements.map(\.bytes) == packets.map(\.0) + [senderReport()])
    #expect(sink.datagrams.elements.last?.channel == .control)
  }

  @Test func aFileThatWasCutIsPlayedUpToThere() async throws {
    var file = RecordingBytes.pcap(Self.mixed)
    file.moveWriterIndex(to: file.writerIndex - 10)
    let (sink, counters) = try await play(file)
    #expect(sink.datagrams.elements.filter { $0.track == 0 }.count == 200)
    #expect(counters.diagnostics.contains { $0.words.contains("in the middle of a packet") })
    guard case .ended? = sink.ends.elements.first else {
      Issue.record("no orderly end")
      return
    }
  }

  @Test func aFileThatIsDamagedIsPlayedUpToThere() async throws {
    var file = RecordingBytes.pcap(Self.mixed)
    file.writeRepeatingByte(0xFF, count: 64)
    let (sink, _) = try await play(file)
    #expect(sink.datagrams.elements.filter { $0.track == 0 }.count == 200)
    guard case .failed(let error)? = sink.ends.elements.first else {
      Issue.record("no failure")
      return
    }
    #expect("\(error)".contains("damaged at byte"))
  }

  @Test func whatKeepsARecordingFromBeingPlayedIsSaid() async throws {
    func failure(_ path: String, _ wish: ReplayConfiguration = .init()) async -> String {
      let transport = ReplayTransport(path: path, configuration: wish, on: eventLoop)
      do { try await transport.open(delivering: RecordingSink(keepsDatagrams: false)) } catch {
        return "\(error)"
      }
      return "none"
    }
    #expect(await failure("/nowhere/x.pcap").contains("No such file"))
    #expect(await failure("/tmp").contains("directory"))
    #expect(await failure("/dev/null").contains("neither a file nor a pipe"))
    let text = try File(ByteBuffer(string: "once upon a time there was a file"))
    #expect(await failure(text.path).contains("pcap, pcapng, rtpdump and rtp4"))
    let empty = try File(RecordingBytes.pcap([]))
    #expect(await failure(empty.path).contains("no packet was captured"))
    let noise = try File(
      RecordingBytes.pcap(
        (0..<30).map {
          FrameBytes.ethernet(FrameBytes.ipv4(FrameBytes.udp(ByteBuffer(integer: $0)), number: 17))
        }))
    #expect(await failure(noise.path).contains("30 packets (30 UDP), none of them RTP"))
    var bytes = RecordingBytes.pcap(
      (0..<3).map { FrameBytes.ethernet(FrameBytes.ipv4(FrameBytes.udp(rtp(UInt16($0))))) })
    bytes.moveWriterIndex(to: bytes.writerIndex - 5)
    let cut = try File(bytes)
    #expect(await failure(cut.path).contains("cut short"))
    #expect(await failure(cut.path).contains("2 packets (2 UDP), is too little"))
    var transportStream = ByteBuffer()
    for _ in 0..<7 {
      transportStream.writeInteger(UInt8(0x47))
      transportStream.writeRepeatingByte(0xFF, count: 187)
    }
    let raw = try File(
      RecordingBytes.pcap(
        (0..<40).map { _ in
          FrameBytes.ethernet(FrameBytes.ipv4(FrameBytes.udp(transportStream)))
        }))
    #expect(await failure(raw.path).contains("40 packets (40 UDP): MPEG-TS video without RTP"))
    var wish = ReplayConfiguration()
    wish.ssrc = 0xC
    let mixed = try File(RecordingBytes.pcap(Self.mixed))
    let message = await failure(mixed.path, wish)
    #expect(message.contains("SSRC 0xc"))
    #expect(
      message.contains(
        "192.0.2.1:6000 → 192.0.2.2:5004: --ssrc 0x0000000a, payload type 96, 160 packets"))
  }

  @Test(
    arguments: [
      ("nothing", [], "it is empty"),
      (
        "a header that was cut", [0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0], "ends inside its own header"
      ),
      (
        "a cut header of pcapng", [0x0A, 0x0D, 0x0D, 0x0A, 28, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A],
        "own header"
      ),
      ("an MP4 file", [0, 0, 0, 24] + Array("ftypisom".utf8), "MP4 video"),
      ("a QuickTime file", [0, 0, 0, 24] + Array("moov".utf8), "MP4 video"),
      ("Matroska", [0x1A, 0x45, 0xDF, 0xA3, 1, 2, 3, 4], "Matroska"),
      ("AVI", Array("RIFF1234AVI LIST".utf8), "AVI video"),
      ("WAV", Array("RIFF1234WAVEfmt ".utf8), "WAV sound"),
      ("MPEG-TS", ([0x47] + [UInt8](repeating: 0, count: 187)) + [0x47, 0, 0, 0], "MPEG-TS"),
      ("H.264", [0, 0, 0, 1, 0x67, 0x42, 0, 0x1E], "elementary stream"),
      ("JPEG", [0xFF, 0xD8, 0xFF, 0xE0, 0, 16, 0x4A, 0x46], "JPEG picture"),
      ("zstd", [0x28, 0xB5, 0x2F, 0xFD, 1, 2, 3, 4], "zstd -d"),
      ("xz", [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0, 1, 2], "xz -d"),
      ("snoop", Array("snoop\0\0\0".utf8), "editcap"),
      ("a playlist", Array("#EXTM3U\n#EXT".utf8), "playlist"),
      ("an RTSP server's bytes", Array("RTSP/1.0 200 OK\r\n".utf8), "an RTSP connection"),
      ("a web page", Array("<!DOCTYPE html>".utf8), "web page"),
    ] as [(String, [UInt8], String)])
  func whatAFileIsInsteadIsSaid(name: String, bytes: [UInt8], words: String) async throws {
    let file = try File(ByteBuffer(bytes: bytes))
    let transport = ReplayTransport(path: file.path, on: eventLoop)
    let error = await #expect(throws: ReplayError.self) {
      try await transport.open(delivering: RecordingSink(keepsDatagrams: false))
    }
    let description = error?.description ?? ""
    #expect(description.contains(words), "\(name): \(description)")
    #expect(description.utf8.count < 160)
  }

  @Test func theRecordedPaceIsKept() async throws {
    let frames = (0..<30).map { FrameBytes.ethernet(FrameBytes.ipv4(FrameBytes.udp(rtp($0)))) }
    let start = ContinuousClock.now
    let (sink, _) = try await play(RecordingBytes.pcap(frames)) { $0.speed = 0.1 }
    // 29 ms at a tenth of the pace.
    #expect(ContinuousClock.now - start >= .milliseconds(290))
    #expect(sink.datagrams.elements.count == 30)
  }

  @Test func nothingComesWhileItIsHeld() async throws {
    let file = try File(RecordingBytes.pcap(Self.mixed))
    let transport = ReplayTransport(path: file.path, on: eventLoop)
    let isHeld = Mutex(false)
    // Held after each datagram, and let go a little later.
    let sink = RecordingSink { _, _ in
      if isHeld.withLock(\.self) { Issue.record("a datagram while held") }
      isHeld.withLock { $0 = true }
      transport.holdReading(true)
      transport.eventLoop.execute {
        isHeld.withLock { $0 = false }
        transport.holdReading(false)
      }
    }
    try await transport.open(delivering: sink)
    _ = try await sink.ends.first(1)
    #expect(sink.datagrams.elements.count == 240)
  }

  @Test(arguments: [false, true])
  func closingEndsItOnce(isOpen: Bool) async throws {
    let file = try File(RecordingBytes.pcap(Self.mixed))
    var configuration = ReplayConfiguration()
    configuration.speed = 0.001
    let transport = ReplayTransport(
      path: file.path, configuration: configuration, on: eventLoop)
    let sink = RecordingSink()
    if isOpen {
      try await transport.open(delivering: sink)
      transport.close()
      guard case .closed = try await sink.ends.first(1)[0] else {
        Issue.record("not closed")
        return
      }
    }
    transport.close()
    await #expect(throws: TransportError.self) { try await transport.open(delivering: sink) }
  }
}
