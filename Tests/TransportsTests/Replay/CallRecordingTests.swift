import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// Calls in captures: the media are described by SIP messages in datagrams of their own.
struct CallRecordingTests {
  /// A message as Asterisk, SIPp and others send it, from the one who receives at `port`.
  private static func message(
    _ media: String, _ start: String = "INVITE sip:test@192.0.2.1 SIP/2.0",
    type: String = "Content-Type", length: String? = "Content-Length",
    address: String = "192.0.2.2"
  ) -> ByteBuffer {
    let body =
      "v=0\r\no=- 1 1 IN IP4 \(address)\r\ns=-\r\nc=IN IP4 \(address)\r\nt=0 0\r\n\(media)\r\n"
    let announced = length.map { "\($0): \(body.utf8.count)\r\n" } ?? ""
    return frame(
      ByteBuffer(
        string:
          "\(start)\r\nVia: SIP/2.0/UDP 192.0.2.2\r\nCall-ID: 1\r\n\(type): application/sdp\r\n"
          + "\(announced)\r\n\(body)"), to: 5060)
  }

  private static func frame(_ payload: ByteBuffer, to port: UInt16) -> ByteBuffer {
    FrameBytes.ethernet(FrameBytes.ipv4(FrameBytes.udp(payload, to: port)))
  }

  private static func sound(ssrc: UInt32, type: UInt8 = 99, to port: UInt16 = 6000) -> [ByteBuffer]
  {
    (0..<20).map { index in
      var packet = rtp(UInt16(index), ssrc: ssrc, payload: 160)
      packet.setInteger(type, at: 1)
      packet.setInteger(UInt32(index * 160), at: 4)
      return frame(packet, to: port)
    }
  }

  /// What the flows are said to be, in the order of their sources.
  private func listing(_ frames: [ByteBuffer]) async throws -> [MediaDescription] {
    let file = try ReplayTransportTests.File(RecordingBytes.pcap(frames), ending: "pcap")
    let streams = try await TransportCatalogue.standard.describe(
      source: file.path, on: MultiThreadedEventLoopGroup.singleton.next()
    ).streams
    return streams.sorted { $0.flow?.ssrc ?? 0 < $1.flow?.ssrc ?? 0 }.map(\.description)
  }

  private static let audio = "m=audio 6000 RTP/AVP 0 99\r\na=rtpmap:99 L16/8000/2"

  @Test(arguments: [
    message(audio), message(audio, "SIP/2.0 200 OK"), message(audio, "SIP/2.0 183 Progress"),
    message(audio, "ACK sip:test@192.0.2.1 SIP/2.0", type: "c", length: "l"),
    message(audio, length: nil),
  ])
  func aFlowHasTheDescriptionOfTheCall(message: ByteBuffer) async throws {
    let media = try await listing([message] + Self.sound(ssrc: 1))
    #expect(media.map(\.kind) == [.audio])
    #expect(media.map(\.encodingName) == ["L16"])
    #expect(media.map(\.clockRate) == [8000])
    #expect(media.map(\.channels) == [2])
  }

  @Test(arguments: [
    // Of another address, another port, another payload type; a refusal; another kind of body.
    message(audio, address: "192.0.2.7"),
    message("m=audio 6002 RTP/AVP 99\r\na=rtpmap:99 L16/8000"),
    message("m=audio 6000 RTP/AVP 98\r\na=rtpmap:98 L16/8000"),
    message(audio, "SIP/2.0 488 Not Acceptable Here"), message(audio, type: "X-Type"),
    message(audio, "INVITE sip:test@192.0.2.1 RTSP/1.0"),
  ])
  func whatIsOfNoCallIsNotDescribedByIt(message: ByteBuffer) async throws {
    #expect(try await listing([message] + Self.sound(ssrc: 1)).map(\.encodingName) == [nil])
  }

  /// The next call, or the same one after a change, has the same port.
  @Test func theLatestDescriptionBeforeAFlowHolds() async throws {
    let media = try await listing(
      [Self.message(Self.audio)] + Self.sound(ssrc: 1)
        + [Self.message("m=audio 6000 RTP/AVP 99\r\na=rtpmap:99 opus/48000/2")]
        + Self.sound(ssrc: 2)
        + [Self.message("m=audio 6000 RTP/AVP 99\r\na=rtpmap:99 G722/8000")])
    #expect(media.map(\.encodingName) == ["L16", "opus"])
  }

  @Test func mediaBeforeTheAnswerHasItsDescription() async throws {
    let media = try await listing(Self.sound(ssrc: 1) + [Self.message(Self.audio)])
    #expect(media.map(\.encodingName) == ["L16"])
  }

  /// The camera of a door station is called like a telephone.
  @Test func theVideoOfACallIsPlayedWithItsSound() async throws {
    let video = (0..<60).map { index in
      var packet = rtp(UInt16(index), ssrc: 2, payload: 900)
      packet.setInteger(UInt8(index % 3 == 2 ? 0x80 | 97 : 97), at: 1)
      packet.setInteger(UInt32(index / 3 * 3000), at: 4)
      return Self.frame(packet, to: 6002)
    }
    let invitation = Self.message(
      Self.audio + "\r\nm=video 6002 RTP/AVP 96 97\r\na=rtpmap:96 VP8/90000\r\n"
        + "a=rtpmap:97 H264/90000\r\na=fmtp:97 packetization-mode=1")
    let sink = try await ReplayTransportTests().play(
      RecordingBytes.pcap([invitation] + Self.sound(ssrc: 1) + video)
    ).sink
    let media = try #require(sink.descriptions.elements.first)
    #expect(media.map(\.encodingName) == ["H264", "L16"])
    #expect(media.first?.formatParameters == ["packetization-mode": "1"])
    #expect(sink.datagrams.elements.filter { $0.track == 1 }.count == 20)
  }

  @Test func ofManyCallsTheLatestAreKept() async throws {
    let port = UInt16(10_000)
    let count = UInt16(CallDescriptions.maximumSections) + 1
    let messages = (0..<count).map {
      Self.message("m=audio \(port + 2 * $0) RTP/AVP 99\r\na=rtpmap:99 L16/8000")
    }
    let flows = [0, 1, count - 1].map { (index: UInt16) in
      Self.sound(ssrc: UInt32(index), to: port + 2 * index)
    }
    let media = try await listing(messages + flows.joined())
    #expect(media.map(\.encodingName) == [nil, "L16", "L16"])
  }
}
