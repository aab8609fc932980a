import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// The media of one sender in a recording, separated and listed.
struct RecordedTracksTests {
  private static func packet(
    _ number: Int, ssrc: UInt32, type: UInt8, ticks: Int, marker: Bool = false, payload: Int = 300
  ) -> ByteBuffer {
    var packet = rtp(UInt16(number), ssrc: ssrc, payload: payload)
    packet.setInteger(type | (marker ? 0x80 : 0), at: 1)
    packet.setInteger(UInt32(ticks), at: 4)
    return packet
  }

  private static func frame(_ payload: ByteBuffer, from: UInt16 = 6000, to: UInt16) -> ByteBuffer {
    FrameBytes.ethernet(FrameBytes.ipv4(FrameBytes.udp(payload, from: from, to: to)))
  }

  /// Four packets, a millisecond apart, to port 5004; the last is sound of `type` to `port`.
  private static func capture(
    type: UInt8, port: UInt16, lostEvery: Int? = nil
  ) -> ByteBuffer {
    let frames = (0..<100).flatMap { index -> [ByteBuffer] in
      let video = (0..<3).map { part in
        frame(
          packet(
            index * 3 + part, ssrc: 0xA, type: 96, ticks: index * 360, marker: part == 2), to: 5004)
      }
      let sound = frame(
        packet(index, ssrc: 0xB, type: type, ticks: index * 32, payload: 100), from: 6002, to: port)
      let isLost = lostEvery.map { index % $0 == $0 - 1 } ?? false
      return video + (isLost ? [] : [sound])
        + (index % 50 == 0
          ? [
            frame(senderReport(ssrc: 0xA), to: 5005),
            frame(senderReport(ssrc: 0xB), from: 6002, to: port + 1),
          ] : [])
    }
    return RecordingBytes.pcap(frames)
  }

  private func play(
    _ capture: ByteBuffer, _ description: SessionDescription? = nil
  ) async throws -> RecordingSink {
    try await ReplayTransportTests().play(capture) { $0.description = description }.sink
  }

  @Test func soundBesideVideoIsATrackOfItsOwn() async throws {
    let sink = try await play(Self.capture(type: 8, port: 5006))
    let datagrams = sink.datagrams.elements
    #expect(datagrams.filter { $0.track == 0 && $0.channel == .media }.count == 300)
    #expect(datagrams.filter { $0.track == 1 && $0.channel == .media }.count == 100)
    for track in 0..<2 {
      let control = datagrams.filter { $0.track == track && $0.channel == .control }
      #expect(
        control.map(\.bytes)
          == [UInt32](repeating: track == 0 ? 0xA : 0xB, count: 2).map {
            senderReport(ssrc: $0)
          })
    }
    let media = try #require(sink.descriptions.elements.first)
    #expect(media.map(\.kind) == [.video, .audio])
    #expect(media[1].encodingName == "PCMA" && media[1].clockRate == 8000)
    #expect(media[0] == MediaDescription())
  }

  /// The sender may change its payload type, or have several: who receives it finds out.
  @Test func mediaOnOnePortThatNothingDescribesAreOneTrackAsTheyWereForTheirReceiver() async throws
  {
    let sink = try await play(Self.capture(type: 111, port: 5004))
    let datagrams = sink.datagrams.elements
    #expect(datagrams.filter { $0.channel == .media }.count == 400)
    #expect(datagrams.filter { $0.channel == .control }.count == 4)
    #expect(datagrams.allSatisfy { $0.track == 0 })
    #expect(sink.descriptions.elements.isEmpty)
  }

  /// As WebRTC bundles them (RFC 8843): payload types tell RTP apart, and sources RTCP.
  @Test func mediaOnOnePortAreToldWhereTheyAreDescribed() async throws {
    let text =
      "v=0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n"
      + "m=audio 5004 RTP/AVP 111\na=rtpmap:111 opus/48000/2\n"
    let description = try SessionDescription(parsing: Array(text.utf8))
    let sink = try await play(Self.capture(type: 111, port: 5004), description)
    let datagrams = sink.datagrams.elements
    #expect(datagrams.filter { $0.track == 0 && $0.channel == .media }.count == 300)
    #expect(datagrams.filter { $0.track == 1 && $0.channel == .media }.count == 100)
    let control = datagrams.filter { $0.channel == .control }
    #expect(control.filter { $0.track == 0 }.allSatisfy { $0.bytes == senderReport(ssrc: 0xA) })
    #expect(control.filter { $0.track == 1 }.allSatisfy { $0.bytes == senderReport(ssrc: 0xB) })
    #expect(control.count == 4)
    let media = try #require(sink.descriptions.elements.first)
    #expect(media.map(\.kind) == [.video, .audio])
  }

  /// The sender may use any of the formats that a section lists (RFC 8866 §5.14).
  @Test func soundThatGoesOnInAnotherListedFormatStaysOneTrack() async throws {
    let text =
      "v=0\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\nm=audio 5004 RTP/AVP 0 8\n"
    let description = try SessionDescription(parsing: Array(text.utf8))
    let frames = (0..<100).flatMap { index -> [ByteBuffer] in
      let video = Self.packet(index, ssrc: 0xA, type: 96, ticks: index * 360, marker: true)
      let sound = Self.packet(
        index, ssrc: 0xB, type: index < 50 ? 0 : 8, ticks: index * 160, payload: 160)
      return [Self.frame(video, to: 5004), Self.frame(sound, from: 6002, to: 5004)]
    }
    let sink = try await play(RecordingBytes.pcap(frames), description)
    #expect(sink.datagrams.elements.filter { $0.track == 1 }.count == 100)
    let media = try #require(sink.descriptions.elements.first)
    #expect(media.map(\.payloadType) == [96, 0])
    #expect(media.map(\.otherTypes) == [[], [8]])
  }

  /// RTCP beside media to port 5004: where the description says (RFC 3605), or the answer to SETUP,
  /// or else at the next port.
  @Test(
    arguments: [
      (description: "m=video 5004 RTP/AVP 96\na=rtcp:5010\n", transport: nil, port: 5010),
      // One port for both is an offer (RFC 5761 §5.1.1).
      ("m=video 5004 RTP/AVP 96\na=rtcp:5004\n", nil, 5005),
      (nil, "client_port=5004-5010;server_port=6000-6001", 5010),
      (nil, "client_port=5004-5005;server_port=6000-6001", 5005),
      // WebRTC writes port 9 for one that is not known yet (RFC 8829 §5.2.1).
      ("m=video 9 RTP/AVP 96\na=rtcp:9 IN IP4 0.0.0.0\n", nil, 5005), (nil, nil, 5005),
    ] as [(description: String?, transport: String?, port: UInt16)])
  func controlIsTakenFromThePortThatWasAgreedUpon(
    description: String?, transport: String?, port: UInt16
  ) async throws {
    var frames: [ByteBuffer] = []
    if let transport {
      let answer = "RTSP/1.0 200 OK\r\nCSeq: 3\r\nTransport: RTP/AVP;unicast;\(transport)\r\n\r\n"
      let segment = FrameBytes.tcp(ByteBuffer(string: answer), sequence: 1)
      frames.append(FrameBytes.ethernet(FrameBytes.ipv4(segment, number: 6)))
    }
    for index in 0..<40 {
      frames.append(
        Self.frame(
          Self.packet(index, ssrc: 0xA, type: 96, ticks: index * 90, marker: true), to: 5004))
    }
    frames.append(Self.frame(senderReport(ssrc: 0xA), from: 6001, to: port))
    let said = try description.map { try SessionDescription(parsing: Array("v=0\n\($0)".utf8)) }
    let sink = try await play(RecordingBytes.pcap(frames), said)
    let control = sink.datagrams.elements.filter { $0.channel == .control }
    #expect(control.map(\.bytes) == [senderReport(ssrc: 0xA)])
  }

  @Test func anotherSendersMediaAreNone() async throws {
    var frames = (0..<100).map {
      Self.frame(Self.packet($0, ssrc: 0xA, type: 96, ticks: $0 * 360, marker: true), to: 5004)
    }
    frames += (0..<50).map {
      FrameBytes.ethernet(
        FrameBytes.ipv4(
          FrameBytes.udp(Self.packet($0, ssrc: 0xC, type: 0, ticks: $0 * 160), to: 7000),
          isReversed: true))
    }
    let sink = try await play(RecordingBytes.pcap(frames))
    #expect(sink.datagrams.elements.count == 100)
    #expect(sink.descriptions.elements.isEmpty)
  }

  @Test func soundAloneIsDescribedByItsType() async throws {
    let frames = (0..<100).map {
      Self.frame(Self.packet($0, ssrc: 1, type: 0, ticks: $0 * 160, payload: 160), to: 5004)
    }
    let sink = try await play(RecordingBytes.pcap(frames))
    #expect(sink.datagrams.elements.count == 100)
    #expect(sink.descriptions.elements.first?.map(\.encodingName) == ["PCMU"])
    #expect(sink.descriptions.elements.first?.map(\.kind) == [.audio])
  }

  // MARK: Lists

  private func listing(
    _ capture: ByteBuffer, ssrc: UInt32? = nil
  ) async throws -> [ListedStream] {
    var options = TransportOptions()
    options.replay.ssrc = ssrc
    let file = try ReplayTransportTests.File(capture, ending: "pcap")
    return try await TransportCatalogue.standard.describe(
      source: file.path, options: options, on: MultiThreadedEventLoopGroup.singleton.next()
    ).streams
  }

  @Test func everyFlowOfACaptureIsListed() async throws {
    let streams = try await listing(Self.capture(type: 0, port: 5006, lostEvery: 10))
    #expect(streams.map(\.description.kind) == [.video, .audio])
    #expect(streams.map(\.description.payloadType) == [96, 0])
    #expect(streams.map(\.description.encodingName) == [nil, "PCMU"])
    let flows = streams.compactMap(\.flow)
    #expect(flows.map(\.source) == ["192.0.2.1:6000", "192.0.2.1:6002"])
    #expect(flows.map(\.destination) == ["192.0.2.2:5004", "192.0.2.2:5006"])
    #expect(flows.map(\.ssrc) == [0xA, 0xB])
    #expect(flows.map(\.packets) == [300, 90])
    // The last one follows the last that came, so it is not missed.
    #expect(flows.map(\.lost) == [0, 9])
    #expect(
      flows.allSatisfy { $0.duration > .milliseconds(370) && $0.duration < .milliseconds(410) })
    #expect(flows.allSatisfy { $0.jitter.map { $0 < .milliseconds(5) } ?? false })
    #expect(flows[0].samples.count <= 32 && !flows[0].samples.isEmpty)
  }

  /// `tcpdump -i any` sees each packet at the bridge and behind it.
  @Test func whatIsRecordedTwiceDoesNotMakeUpForLosses() async throws {
    let frames = (0..<100).filter { $0 % 10 != 5 }.flatMap { index in
      [ByteBuffer](
        repeating: Self.frame(
          Self.packet(index, ssrc: 0xA, type: 0, ticks: index * 16), to: 5004), count: 2)
    }
    let flow = try #require(try await listing(RecordingBytes.pcap(frames)).first?.flow)
    #expect((flow.packets, flow.repeated, flow.lost) == (180, 90, 10))
  }

  /// What is recorded without its end came, and only the rest of it is missing in the file.
  @Test func whatIsRecordedOnlyInPartIsNotLost() async throws {
    let frames = (0..<100).filter { $0 % 10 != 5 }.map { index in
      let frame = Self.frame(Self.packet(index, ssrc: 0xA, type: 0, ticks: index * 16), to: 5004)
      let length = frame.readableBytes - (index % 10 == 7 ? 8 : 0)
      return frame.getSlice(at: frame.readerIndex, length: length) ?? frame
    }
    let flow = try #require(try await listing(RecordingBytes.pcap(frames)).first?.flow)
    #expect((flow.packets, flow.lost) == (80, 10))
  }

  /// All packets of a key have one timestamp, as those of a picture have (RFC 4733 §2.2).
  @Test func keysOfATelephoneAreNoVideo() async throws {
    let frames = (0..<40).map {
      Self.frame(
        Self.packet($0, ssrc: 0xA, type: 101, ticks: $0 / 10 * 1600, payload: 4), to: 5004)
    }
    let streams = try await listing(RecordingBytes.pcap(frames))
    #expect(streams.map(\.description.payloadType) == [101])
    #expect(streams.map(\.description.kind) == [.application])
  }

  @Test func onlyTheSourceThatIsAskedForIsListed() async throws {
    let capture = Self.capture(type: 0, port: 5006)
    #expect(try await listing(capture, ssrc: 0xB).compactMap(\.flow).map(\.ssrc) == [0xB])
    await #expect(throws: ReplayError.self) { _ = try await listing(capture, ssrc: 0xC) }
  }

  /// A slow machine sends slower than its timestamps say.
  @Test func theClockRateOfVideoIsNotEstimated() async throws {
    let frames = (0..<300).map { index in
      // 48 ticks a millisecond.
      Self.frame(
        Self.packet(index, ssrc: 0xA, type: 96, ticks: index / 3 * 144, marker: index % 3 == 2),
        to: 5004)
    }
    let streams = try await listing(RecordingBytes.pcap(frames))
    #expect(streams.map(\.description.clockRate) == [90_000])
    #expect(streams.first?.flow?.jitter == streams.first?.flow?.jitters[90_000])
  }

  /// The larger one by bytes has fewer packets.
  @Test func theVideoWithTheMostPacketsIsPlayed() async throws {
    func packet(_ index: Int, ssrc: UInt32, size: Int, to port: UInt16) -> ByteBuffer {
      Self.frame(
        Self.packet(
          index, ssrc: ssrc, type: 96, ticks: index * 3600, marker: true, payload: size), to: port)
    }
    let frames = (0..<100).flatMap { index -> [ByteBuffer] in
      (index < 60 ? [packet(index, ssrc: 0xC, size: 900, to: 5008)] : [])
        + [packet(index, ssrc: 0xA, size: 100, to: 5004)]
        + [packet(index, ssrc: 0xB, size: 100, to: 5006)]
    }
    let capture = RecordingBytes.pcap(frames)
    let (sink, counters) = try await ReplayTransportTests().play(capture)
    let played = sink.datagrams.elements.first { $0.track == 0 }
    #expect(played?.bytes.getInteger(at: 8, as: UInt32.self) == 0xA)
    let warning = try #require(counters.diagnostics.first { $0.isWarning })
    #expect(warning.words.contains("of 3 flows that look like video"), "\(warning.words)")
    #expect(try await listing(capture).map(\.isPlayed) == [true, false, false])
  }

  /// RFC 3550 A.1 and A.8 over numbers that wrap, are swapped, repeated, missing, or restart.
  @Test(arguments: [
    ([65_534, 65_535, 0, 1], 0), ([1, 2, 4, 5], 1), ([1, 3, 2, 4], 0), ([1, 2, 2, 3], 0),
    ([1, 2, 6, 7, 7], 2), ([1, 2, 3, 40_000, 40_001, 40_003], 1), ([5, 4, 3, 6], 0),
    ([103, 100, 101, 102, 105], 1), ([30_000, 2, 30_001], 0),
  ])
  func lossIsWhatTheNumbersHavePlacesFor(numbers: [Int], lost: Int) throws {
    let packets = try numbers.map { try RTPPacket(parsing: rtp(UInt16($0))) }
    var reception = FlowReception(packets[0], at: 0)
    for packet in packets.dropFirst() { reception.observe(packet, at: 0) }
    #expect(reception.lost == UInt64(lost))
    #expect(reception.received == UInt64(numbers.count))
  }

  /// Fifty packets a second for ten seconds, and again after `silence` seconds, in which `missing`
  /// numbers and `ticks` seconds of the timestamps have passed.
  @Test(arguments: [
    // An outage of the network, also over more than all 65,536 numbers.
    (100, 5000, 100, 5000), (1800, 90_000, 1800, 90_000),
    // The sender has begun anew: its numbers, its timestamps or both.
    (100, 20_000, 100, 0), (100, 5000, 1000, 0), (0, 5000, 0, 0),
  ])
  func anOutageIsLossAndANewBeginningIsNot(
    silence: Int, missing: Int, ticks: Int, lost: UInt64
  ) throws {
    func packet(_ number: Int, _ ticks: Int) throws -> RTPPacket {
      try RTPPacket(
        parsing: Self.packet(number & 0xFFFF, ssrc: 1, type: 0, ticks: ticks))
    }
    var reception = FlowReception(try packet(0, 0), at: 0)
    for index in 1..<1000 {
      let isAfter = index >= 500
      reception.observe(
        try packet(index + (isAfter ? missing : 0), index * 160 + (isAfter ? ticks * 8000 : 0)),
        at: Int64(index * 20 + (isAfter ? silence * 1000 : 0)) * 1_000_000)
    }
    #expect(reception.lost == lost)
    #expect(reception.received == 1000)
    // What is lost does not change the rate of the clock.
    if lost > 0 { #expect(reception.clockRate == 8000) }
  }

  @Test func jitterIsThatOfTheClockRate() throws {
    var random = SeededGenerator(seed: 1)
    func packet(_ index: Int) throws -> RTPPacket {
      try RTPPacket(parsing: Self.packet(index, ssrc: 1, type: 0, ticks: index * 160))
    }
    var steady = FlowReception(try packet(0), at: 0)
    var shaken = FlowReception(try packet(0), at: 0)
    for index in 1..<1000 {
      steady.observe(try packet(index), at: Int64(index) * 20_000_000)
      let shift = Int64.random(in: 0...4_000_000, using: &random)
      shaken.observe(try packet(index), at: Int64(index) * 20_000_000 + shift)
    }
    #expect(try #require(steady.jitter(clockRate: 8000)) < 1000)
    #expect(steady.clockRate == 8000)
    // The mean difference of two such shifts is a third of their range.
    #expect((1_000_000...1_700_000).contains(try #require(shaken.jitter(clockRate: 8000))))
    #expect(steady.jitter(clockRate: 7) == nil)
  }
}
