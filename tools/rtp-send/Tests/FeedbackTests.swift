import Impairment
import NIOCore
import RTPWire
import Testing

@testable import RTPSend

@Suite struct FeedbackTests {
  private func feed(
    _ requests: Set<FeedbackRequest>, codec: Codec = .h264,
    _ change: (inout PacketFeed.Configuration) -> Void = { _ in }
  ) throws -> PacketFeed {
    var pattern = PatternConfiguration()
    pattern.codec = codec
    pattern.width = 256
    pattern.height = 144
    pattern.groupLength = 300
    var configuration = PacketFeed.Configuration(
      recipe: .pattern(pattern),
      stream: RTPStream.Configuration(ssrc: 1, initialSequence: 65_530, initialTimestamp: 7))
    configuration.feedback.requests = requests
    change(&configuration)
    return try PacketFeed(configuration)
  }

  private func compound(_ messages: RTCPFeedback...) -> ByteBuffer {
    var bytes = ByteBuffer()
    for message in messages { bytes.writeFeedback(message, from: 9) }
    return bytes
  }

  /// Takes the packets of so many pictures, as if they were sent.
  private func packets(of feed: inout PacketFeed, frames: Int) throws -> [ByteBuffer] {
    let packets = try (0..<frames).flatMap { _ in try feed.next().element?.packets ?? [] }
    for packet in packets { feed.noteSent(packet) }
    return packets.map(\.bytes)
  }

  private let now = Instant(nanoseconds: 0)

  @Test func whatIsAskedForIsSentAgainAsItWas() throws {
    var feed = try feed([.nack])
    let sent = try packets(of: &feed, frames: 5)
    let entry = RTCPFeedback.LostPackets(first: SequenceNumber(65_530), mask: 0b101)
    let other = RTCPFeedback.LostPackets(first: SequenceNumber(30_000))
    let again = feed.answer(compound(.genericNACK(media: 1, [entry, other])), at: now)
    #expect(again.map(\.bytes) == [sent[0], sent[1], sent[3]])
    #expect(feed.feedback.requested == 4)
    #expect(feed.feedback.resent == 3)
  }

  /// A picture is packetized before it is due, and some receivers ask for what they expect next.
  @Test(arguments: [nil, 98] as [UInt8?])
  func whatHasNotBeenSentYetIsNotSentAgain(retransmission: UInt8?) throws {
    let feed = try feed([.nack]) { $0.feedback.retransmissionPayloadType = retransmission }
    var delivery = try Delivery(
      feed, through: NetworkSimulator(Impairments(), seed: 1), pacing: .mediaTime(speed: 1))
    delivery.begin(at: now)
    let entry = RTCPFeedback.LostPackets(first: SequenceNumber(65_530))
    let request = compound(.genericNACK(media: 1, [entry]))
    delivery.answer(request, at: now)
    #expect(delivery.feedback.requested == 1)
    #expect(delivery.feedback.resent == 0)
    let early = delivery.release(by: now)
    #expect(early == nil)
    delivery.step(to: now)
    delivery.answer(request, at: now)
    #expect(delivery.feedback.resent == 1)
    let first = delivery.release(by: now)
    #expect(first?.bytes.rtpSequence == 65_530)
    #expect(first?.isAnswer == false)
  }

  @Test func orInAStreamOfTheirOwn() throws {
    var feed = try feed([.nack]) {
      $0.feedback.retransmissionPayloadType = 98
      $0.stream.correction = RTPStream.Correction(payloadType: 97, interval: 2)
    }
    let sent = try packets(of: &feed, frames: 5)
    let entry = RTCPFeedback.LostPackets(first: SequenceNumber(65_530), mask: 0b11)
    let again = try feed.answer(compound(.genericNACK(media: 1, [entry])), at: now)
      .map { try RTPPacket(parsing: $0.bytes) }
    // The third is a correction packet, which is no media.
    #expect(again.map { $0.original(payloadType: 96, ssrc: 1)?.bytes } == [sent[0], sent[1]])
    #expect(again.allSatisfy { $0.payloadType == 98 && $0.ssrc == again[0].ssrc && $0.ssrc != 1 })
    #expect(again[0].sequenceNumber.next == again[1].sequenceNumber)
  }

  /// RFC 4588 §5.3: under the SSRC of the media.
  @Test func orInASessionOfTheirOwn() throws {
    var feed = try feed([.nack]) {
      $0.feedback.retransmissionPayloadType = 98
      $0.feedback.hasRetransmissionSession = true
    }
    let sent = try packets(of: &feed, frames: 5)
    let entry = RTCPFeedback.LostPackets(first: SequenceNumber(65_531))
    let again = feed.answer(compound(.genericNACK(media: 1, [entry])), at: now)
    #expect(again.map(\.portOffset) == [2])
    let packet = try RTPPacket(parsing: try #require(again.first).bytes)
    #expect(packet.payloadType == 98 && packet.ssrc == 1)
    #expect(packet.original(payloadType: 96, ssrc: 1)?.bytes == sent[1])
  }

  @Test func aFloodOfRequestsMakesNoFlood() throws {
    var feed = try feed([.nack])
    _ = try packets(of: &feed, frames: 20)
    let entries = (0..<16_000).map { number in
      RTCPFeedback.LostPackets(
        first: SequenceNumber(65_530).advanced(by: number % 16), mask: 0xFFFF)
    }
    let again = feed.answer(compound(.genericNACK(media: 1, entries)), at: now)
    #expect(again.count <= FeedbackAnswers.maximumAnswers)
    let all = RTCPFeedback.genericNACK(
      media: 1, [RTCPFeedback.LostPackets(first: SequenceNumber(65_530), mask: 0xFFFF)])
    var messages = ByteBuffer()
    for _ in 0..<100 { messages.writeFeedback(all, from: 9) }
    #expect(feed.answer(messages, at: now).count < 2 * FeedbackAnswers.maximumAnswers)
    for noise in [[], [0x81], [0x81, 205, 0, 0], [0x81, 205, 0xFF, 0xFF, 0]] as [[UInt8]] {
      #expect(feed.answer(ByteBuffer(bytes: noise), at: now).isEmpty)
    }
  }

  /// The sound has the same numbers, and its requests come by the same way.
  @Test(arguments: [nil, 98] as [UInt8?])
  func whatIsMissingOfAnotherSourceIsNotSent(retransmission: UInt8?) throws {
    var feed = try feed([.nack]) { $0.feedback.retransmissionPayloadType = retransmission }
    _ = try packets(of: &feed, frames: 5)
    let entry = RTCPFeedback.LostPackets(first: SequenceNumber(65_530), mask: 0b101)
    #expect(feed.answer(compound(.genericNACK(media: 2, [entry])), at: now).isEmpty)
    #expect(feed.feedback.resent == 0)
    #expect(feed.answer(compound(.genericNACK(media: 1, [entry])), at: now).count == 3)
  }

  /// The timestamps of the key pictures in three seconds, in which `requests` come before each
  /// picture.
  private func keyPictures(
    _ requests: Set<FeedbackRequest>, _ request: (_ picture: Int) -> RTCPFeedback?
  ) throws -> [UInt32] {
    let feed = try feed(requests) {
      $0.frameLimit = 90
      ($0.stream.initialSequence, $0.stream.initialTimestamp) = (0, 0)
    }
    var delivery = try Delivery(
      feed, through: NetworkSimulator(Impairments(), seed: 1), pacing: .mediaTime(speed: 1))
    var now = Instant(nanoseconds: 0)
    delivery.begin(at: now)
    var keys: [UInt32] = []
    var picture = 0
    while let deadline = delivery.deadline {
      now = max(now, deadline)
      if let message = request(picture) { delivery.answer(compound(message), at: now) }
      picture += 1
      delivery.step(to: now)
      while let packet = delivery.release(by: now) {
        guard packet.isKey, let timestamp = packet.bytes.rtpTimestamp else { continue }
        if keys.last != timestamp { keys.append(timestamp) }
      }
      try delivery.prepare()
    }
    return keys
  }

  /// Key pictures are large, and everybody who watches gets them.
  @Test(arguments: [FeedbackRequest.pli, .fir])
  func aFloodOfRequestsMakesAKeyPictureASecond(request: FeedbackRequest) throws {
    let keys = try keyPictures([request]) { picture in
      let command = RTCPFeedback.IntraRequest(ssrc: 1, number: UInt8(truncatingIfNeeded: picture))
      return request == .pli
        ? RTCPFeedback.pictureLossIndication(media: 1) : RTCPFeedback.fullIntraRequest([command])
    }
    // The first of all, the one after the first request, and those a second and two later.
    #expect((3...4).contains(keys.count), "\(keys)")
    for (before, after) in zip(keys.dropFirst(), keys.dropFirst(2)) {
      #expect(after - before >= 90_000 - 3000, "\(keys)")
    }
  }

  /// RFC 5104 §4.3.1.2: a command that is repeated is the same, and must not be forgotten.
  @Test func aRequestThatComesTooSoonIsMadeUpFor() throws {
    let keys = try keyPictures([.fir]) { picture in
      let number: UInt8? = picture == 0 ? 1 : picture == 10 ? 2 : nil
      return number.map {
        RTCPFeedback.fullIntraRequest([RTCPFeedback.IntraRequest(ssrc: 1, number: $0)])
      }
    }
    #expect(keys.count == 3, "\(keys)")
    #expect(keys.last.map { (90_000...96_000).contains($0) } == true, "\(keys)")
  }

  @Test func whatIsNotSwitchedOnIsNotAnswered() throws {
    var feed = try feed([.pli])
    _ = try packets(of: &feed, frames: 5)
    let entry = RTCPFeedback.LostPackets(first: SequenceNumber(65_530))
    let intra = RTCPFeedback.IntraRequest(ssrc: 1, number: 0)
    #expect(
      feed.answer(
        compound(.genericNACK(media: 1, [entry]), .fullIntraRequest([intra])), at: now
      ).isEmpty)
    #expect(feed.feedback.requested == 0 && feed.feedback.keyPictures == 0)
  }

  @Test(arguments: [Codec.h264, .h265])
  func theNextPictureIsAKeyPictureWhenOneIsAskedFor(codec: Codec) throws {
    let source = try PatternSource(
      {
        var pattern = PatternConfiguration()
        (pattern.codec, pattern.width, pattern.height) = (codec, 256, 144)
        pattern.groupLength = 300
        return pattern
      }())
    var keys: [Bool] = []
    for number in 0..<10 {
      if number == 4 { source.requestKeyPicture() }
      keys.append(try #require(try source.next().element).isRandomAccess)
    }
    #expect(keys.indices.filter { keys[$0] } == [0, 4])
  }

  /// RFC 5104 §4.3.1.2: the same number is the same command.
  @Test func aCommandThatIsRepeatedCountsOnce() throws {
    var feed = try feed([.fir])
    for number in [5, 5, 6, 6, 5] as [UInt8] {
      let request = RTCPFeedback.IntraRequest(ssrc: 1, number: number)
      _ = feed.answer(compound(.fullIntraRequest([request])), at: now)
    }
    #expect(feed.feedback.keyPictures == 3)
    // Another receiver counts for itself.
    var other = ByteBuffer()
    other.writeFeedback(.fullIntraRequest([.init(ssrc: 1, number: 5)]), from: 10)
    _ = feed.answer(other, at: now)
    #expect(feed.feedback.keyPictures == 4)
  }

  @Test func theDescriptionSaysWhatMayBeAskedFor() throws {
    var description = SessionDescription(
      try StreamDescription(of: .pattern(PatternConfiguration())), payloadType: 96,
      packetization: .nonInterleaved,
      address: try SocketAddress(ipAddress: "127.0.0.1", port: 5004), multiplexesRTCP: true)
    description.feedback.requests = [.nack, .pli, .fir]
    description.feedback.retransmissionPayloadType = 98
    for line in [
      "m=video 5004 RTP/AVPF 96 98", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli",
      "a=rtcp-fb:96 ccm fir", "a=rtpmap:98 rtx/90000", "a=fmtp:98 apt=96",
    ] { #expect(description.text.contains(line + "\r\n")) }
    description.feedback.hasRetransmissionSession = true
    #expect(
      description.text.hasSuffix(
        [
          "a=rtcp-mux", "a=mid:1", "m=video 5006 RTP/AVPF 98", "a=mid:2", "a=rtpmap:98 rtx/90000",
          "a=fmtp:98 apt=96", "a=rtcp-mux",
        ].map { $0 + "\r\n" }.joined()))
    for line in ["a=group:FID 1 2", "m=video 5004 RTP/AVPF 96"] {
      #expect(description.text.contains(line + "\r\n"))
    }
  }
}
