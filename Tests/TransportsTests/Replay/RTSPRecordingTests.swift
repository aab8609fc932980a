import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// RTSP sessions in captures: TCP segments that were repeated, swapped and lost.
struct RTSPRecordingTests {
  private static let description = """
    v=0\r
    m=audio 0 RTP/AVP 97\r
    a=rtpmap:97 MPEG4-GENERIC/12000\r
    m=video 0 RTP/AVP 96\r
    a=rtpmap:96 H264/90000\r
    a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0LgHtoCgPRA,aM4wpIA=\r

    """

  private static let video = (0..<120).map { index in
    var packet = rtp(UInt16(index), ssrc: 0xA, payload: 900)
    packet.setInteger(UInt32(index / 4 * 3000), at: 4)
    return packet
  }

  /// A server's output: answers, and frames on unexpected channels.
  static func server(hasMessages: Bool) -> ByteBuffer {
    var bytes = ByteBuffer()
    if hasMessages {
      bytes.writeString(
        "RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Type: application/sdp\r\n"
          + "Content-Length: \(description.utf8.count)\r\n\r\n" + description)
      for (number, channels) in [(3, "20-21"), (4, "30-33")] {
        bytes.writeString(
          "RTSP/1.0 200 OK\r\nCSeq: \(number)\r\n"
            + "Transport: RTP/AVP/TCP;unicast;interleaved=\(channels)\r\n\r\n")
      }
    }
    let channels: (audio: UInt8, video: UInt8, control: UInt8) =
      hasMessages ? (20, 30, 33) : (0, 2, 3)
    for (index, packet) in video.enumerated() {
      write(packet, on: channels.video, to: &bytes)
      if index.isMultiple(of: 8) {
        var audio = rtp(UInt16(index / 8), ssrc: 0xB, payload: 60)
        audio.setInteger(UInt8(97), at: 1)
        write(audio, on: channels.audio, to: &bytes)
        write(senderReport(ssrc: 0xA), on: channels.control, to: &bytes)
      }
      if index == 60, hasMessages { bytes.writeString("RTSP/1.0 200 OK\r\nCSeq: 9\r\n\r\n") }
    }
    return bytes
  }

  private static func write(_ packet: ByteBuffer, on channel: UInt8, to bytes: inout ByteBuffer) {
    bytes.writeMultipleIntegers(UInt8(ascii: "$"), channel, UInt16(packet.readableBytes))
    bytes.writeImmutableBuffer(packet)
  }

  /// The stream in segments of random lengths, some of which come twice, with other borders or
  /// late.
  static func frames(
    of stream: ByteBuffer, seed: UInt64, isImpaired: Bool
  ) -> [ByteBuffer] {
    var random = SeededGenerator(seed: seed)
    let start = UInt32.max - 20_000
    var segments: [ByteBuffer] = []
    var position = 0
    while position < stream.readableBytes {
      let length = min(Int.random(in: 1...1460, using: &random), stream.readableBytes - position)
      func segment(_ from: Int, _ count: Int) -> ByteBuffer {
        FrameBytes.tcp(
          stream.getSlice(at: from, length: count) ?? ByteBuffer(),
          sequence: start &+ UInt32(from))
      }
      segments.append(segment(position, length))
      if isImpaired, Bool.random(using: &random) {
        let from = max(0, position - Int.random(in: 0...2000, using: &random))
        segments.append(segment(from, position + length - from))
      }
      position += length
    }
    if isImpaired {
      for index in segments.indices.dropFirst().dropLast() where Bool.random(using: &random) {
        segments.swapAt(index, index + 1)
      }
    }
    let opening = FrameBytes.tcp(ByteBuffer(), sequence: start &- 1, isSynchronizing: true)
    return ([opening] + segments).map { FrameBytes.ethernet(FrameBytes.ipv4($0, number: 6)) }
  }

  private func play(_ frames: [ByteBuffer]) async throws -> RecordingSink {
    let file = try ReplayTransportTests.File(RecordingBytes.pcap(frames))
    let transport = ReplayTransport(
      path: file.path, on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    _ = try await sink.ends.first(1)
    return sink
  }

  @Test(arguments: [false, true], 0..<6)
  func aSessionWithItsMessages(isImpaired: Bool, seed: UInt64) async throws {
    let sink = try await play(
      Self.frames(of: Self.server(hasMessages: true), seed: seed, isImpaired: isImpaired))
    let datagrams = sink.datagrams.elements.filter { $0.track == 0 }
    let sound = sink.datagrams.elements.filter { $0.track == 1 }
    #expect(sound.count == 15 && sound.allSatisfy { $0.channel == .media })
    #expect(sink.descriptions.elements.first?.map(\.kind) == [.video, .audio])
    #expect(sink.descriptions.elements.first?.last?.encodingName == "MPEG4-GENERIC")
    #expect(datagrams.filter { $0.channel == .media }.map(\.bytes) == Self.video)
    #expect(datagrams.filter { $0.channel == .control }.count == 15)
    let description = try #require(sink.descriptions.elements.first?.first)
    #expect(description.encodingName == "H264")
    #expect(
      description.formatParameters["sprop-parameter-sets"] == "Z0LgHtoCgPRA,aM4wpIA=")
  }

  /// FFmpeg and OBS have the parameter sets of what they publish in the request alone.
  @Test func whoeverPublishesDescribesTheStreams() async throws {
    var stream = ByteBuffer(
      string: "ANNOUNCE rtsp://server/live RTSP/1.0\r\nCSeq: 2\r\n"
        + "Content-Type: application/sdp\r\nContent-Length: \(Self.description.utf8.count)\r\n\r\n"
        + Self.description + "RECORD rtsp://server/live RTSP/1.0\r\nCSeq: 3\r\n\r\n")
    stream.writeImmutableBuffer(Self.server(hasMessages: false))
    let sink = try await play(Self.frames(of: stream, seed: 1, isImpaired: false))
    let media = sink.datagrams.elements.filter { $0.channel == .media && $0.track == 0 }
    #expect(media.map(\.bytes) == Self.video)
    let descriptions = try #require(sink.descriptions.elements.first)
    #expect(descriptions.map(\.encodingName) == ["H264", "MPEG4-GENERIC"])
    #expect(
      descriptions.first?.formatParameters["sprop-parameter-sets"] == "Z0LgHtoCgPRA,aM4wpIA=")
  }

  @Test func aSessionOfWhichTheBeginningWasNotRecorded() async throws {
    var stream = Self.server(hasMessages: false)
    stream.moveReaderIndex(forwardBy: 333)
    let sink = try await play(
      Self.frames(of: ByteBuffer(buffer: stream), seed: 1, isImpaired: false))
    let media = sink.datagrams.elements.filter { $0.channel == .media && $0.track == 0 }
    #expect(media.map(\.bytes) == Array(Self.video.dropFirst()))
    // Nothing describes them.
    #expect(sink.descriptions.elements.first?.map(\.encodingName) == [nil, nil])
  }

  /// Two sessions of one server, over TCP and over UDP, with one payload type for both.
  @Test(arguments: [false, true])
  func aFlowHasTheDescriptionOfItsOwnSession(isDatagrams: Bool) async throws {
    func answers(sets: String, port: Int) -> ByteBuffer {
      let description =
        "v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
        + "a=fmtp:96 sprop-parameter-sets=\(sets)\r\n"
      let way =
        isDatagrams
        ? "RTP/AVP;unicast;client_port=\(port)-\(port + 1);server_port=\(port)-\(port + 1)"
        : "RTP/AVP/TCP;unicast;interleaved=0-1"
      return ByteBuffer(
        string: "RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Type: application/sdp\r\n"
          + "Content-Length: \(description.utf8.count)\r\n\r\n" + description
          + "RTSP/1.0 200 OK\r\nCSeq: 3\r\nTransport: \(way)\r\n\r\n")
    }
    let frames = ["Zzzz", "Zyyy"].enumerated().flatMap { number, sets -> [ByteBuffer] in
      let port = UInt16(7000 + 2 * number)
      var stream = answers(sets: sets, port: Int(port))
      let packets = Self.video.prefix(120 - 40 * number)
      if !isDatagrams { for packet in packets { Self.write(packet, on: 0, to: &stream) } }
      let opening = FrameBytes.tcp(
        ByteBuffer(), sequence: 99, isSynchronizing: true, to: 40_000 + port)
      var segments = [opening]
      var sequence: UInt32 = 100
      while let piece = stream.readSlice(length: min(1000, stream.readableBytes)),
        piece.readableBytes > 0
      {
        segments.append(FrameBytes.tcp(piece, sequence: sequence, to: 40_000 + port))
        sequence += UInt32(piece.readableBytes)
      }
      let datagrams = isDatagrams ? packets.map { FrameBytes.udp($0, from: port, to: port) } : []
      return segments.map { FrameBytes.ethernet(FrameBytes.ipv4($0, number: 6)) }
        + datagrams.map { FrameBytes.ethernet(FrameBytes.ipv4($0)) }
    }
    let file = try ReplayTransportTests.File(RecordingBytes.pcap(frames), ending: "pcap")
    let streams = try await TransportCatalogue.standard.describe(
      source: file.path, on: MultiThreadedEventLoopGroup.singleton.next()
    ).streams
    #expect(
      streams.map { $0.description.formatParameters["sprop-parameter-sets"] } == ["Zzzz", "Zyyy"])
  }

  /// A session whose media are datagrams says nothing for half a minute, beside many connections.
  @Test func otherConnectionsDoNotMakeASessionForgotten() {
    let answer = Self.server(hasMessages: true).getSlice(at: 0, length: 600) ?? ByteBuffer()
    var dissection = Dissection()
    func receive(_ bytes: ByteBuffer, sequence: UInt32, to port: UInt16) {
      dissection.receive(
        Recording(
          time: 1,
          content: .frame(
            FrameBytes.ethernet(
              FrameBytes.ipv4(FrameBytes.tcp(bytes, sequence: sequence, to: port), number: 6)),
            LinkType(rawValue: 1)), missing: 0)
      ) { _ in }
    }
    receive(answer, sequence: 100, to: 40_000)
    #expect(dissection.descriptions.count == 1)
    for port in UInt16(1000)..<1500 {
      receive(ByteBuffer(string: "GET / HTTP/1.1"), sequence: 1, to: port)
    }
    #expect(dissection.descriptions.count == 1)
    // Nor are more of them kept than fit.
    for port in UInt16(2000)..<2500 { receive(answer, sequence: 100, to: port) }
    #expect(dissection.descriptions.count == Dissection.maximumDescribed)
  }

  @Test func segmentsThatWereNotRecordedCostTheirPacketsAlone() async throws {
    var frames = Self.frames(of: Self.server(hasMessages: true), seed: 2, isImpaired: false)
    for index in [100, 60] { frames.remove(at: index) }
    let sink = try await play(frames)
    let media = sink.datagrams.elements.filter { $0.channel == .media && $0.track == 0 }
      .map(\.bytes)
    #expect(media.count >= Self.video.count - 8)
    #expect(media.count < Self.video.count)
    #expect(media.allSatisfy(Self.video.contains))
  }
}
