import Glibc
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import RTPSend

/// Clients that watch a live stream by multicast, on loopback.
@Suite(.serialized)
struct MulticastServingTests {
  typealias Viewer = RTSPServingTests.Viewer

  /// Takes what comes to a port of a group.
  private final class Listener: Sendable {
    let heard: Record<AddressedEnvelope<ByteBuffer>>
    private let channel: any Channel

    init(_ group: String, _ port: Int) async throws {
      let heard = Record<AddressedEnvelope<ByteBuffer>>()
      self.heard = heard
      channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelOption(.socketOption(.so_reuseaddr), value: 1)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(Inbox(heard))
          }
        }
        .bind(host: group, port: port).get()
      var request = ip_mreq()
      inet_pton(AF_INET, group, &request.imr_multiaddr)
      inet_pton(AF_INET, "127.0.0.1", &request.imr_interface)
      let options = try #require(channel as? any SocketOptionProvider)
      try await options.unsafeSetSocketOption(
        level: .ip, name: .ip_add_membership, value: request
      ).get()
    }

    /// The hosts from which anything has come.
    var origins: Set<String?> { Set(heard.elements.map(\.remoteAddress.ipAddress)) }

    func close() async { try? await channel.close().get() }

    private final class Inbox: ChannelInboundHandler {
      typealias InboundIn = AddressedEnvelope<ByteBuffer>
      private let heard: Record<AddressedEnvelope<ByteBuffer>>

      init(_ heard: Record<AddressedEnvelope<ByteBuffer>>) { self.heard = heard }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        heard.append(unwrapInboundIn(data))
      }
    }
  }

  /// Nobody else uses it at the same time.
  private let group = MulticastGroup(
    address: "239.255.\(Int.random(in: 1...254)).\(Int.random(in: 1...254))",
    port: 2 * Int.random(in: 10_000..<25_000))

  /// A server of pictures and sound, on all addresses of this machine.
  private func serve() async throws -> Sender {
    let tests = RTSPServingTests()
    var live = try tests.stream("live", tests.pattern)
    try RTSPServingTests.change(&live) { $0.feedback.requests = [.nack] }
    var content = try #require(live.content)
    var stream = RTPStream.Configuration(ssrc: 6, initialSequence: 1, initialTimestamp: 0)
    stream.payloadType = 0
    content.sending.tracks.append(
      TrackConfiguration(
        .sound(
          PacketFeed.SoundConfiguration(
            recipe: .tone(try SoundFormat("pcmu"), seconds: nil), stream: stream))))
    var configuration = RTSPServerConfiguration(
      streams: [ServedStream(name: "live", content)], host: "0.0.0.0", port: 0)
    configuration.group = group
    return try await Sender.serve(configuration)
  }

  /// Watches tracks by multicast, as a client that came to `host`.
  private func watch(
    _ sender: Sender, _ tracks: [Int], at host: String = "127.0.0.1"
  ) async throws -> Viewer {
    var address = try SocketAddress(ipAddress: host, port: 0)
    address.port = sender.localAddress.port
    let viewer = try await Viewer(address)
    let url = "rtsp://\(address.hostAndPort)/live"
    var session: [String] = []
    for track in tracks {
      let answer = try await viewer.ask(
        "SETUP", "\(url)/trackID=\(track)", ["Transport: RTP/AVP;multicast"] + session)
      #expect(Conversation.status(answer) == 200, "\(answer)")
      let id = Conversation.header("Session", in: answer).map { String($0.prefix(16)) } ?? ""
      session = ["Session: \(id)"]
    }
    let played = try await viewer.ask("PLAY", url, session)
    #expect(Conversation.status(played) == 200, "\(played)")
    return viewer
  }

  @Test func everyTrackGoesToItsGroupWhoeverSetItUpFirst() async throws {
    let sender = try await serve()
    let (pictures, sound) = (
      try await Listener(group.address, group.port),
      try await Listener(group.address, group.port + 2)
    )
    let first = try await watch(sender, [1])
    _ = try await pictures.heard.first(5)
    #expect(sound.heard.elements.isEmpty)
    let second = try await watch(sender, [1, 2])
    _ = try await sound.heard.first(5)
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    // Two members by one interface are sent everything once.
    let numbers = pictures.heard.elements.compactMap(\.data.rtpSequence)
    #expect(Set(numbers).count == numbers.count)
    for viewer in [first, second] { await viewer.close() }
    for listener in [pictures, sound] { await listener.close() }
  }

  /// Another address of loopback stands for another interface.
  @Test func membersByTwoInterfacesAreSentTheStreamByBoth() async throws {
    let sender = try await serve()
    let pictures = try await Listener(group.address, group.port)
    let first = try await watch(sender, [1])
    let second = try await watch(sender, [1], at: "127.0.0.2")
    try await eventually("it comes by both") {
      pictures.origins.isSuperset(of: ["127.0.0.1", "127.0.0.2"])
    }
    // The others stay when one has gone.
    await first.close()
    let count = pictures.heard.elements.count
    try await eventually("it goes on") {
      pictures.heard.elements.dropFirst(count).count { $0.remoteAddress.ipAddress == "127.0.0.2" }
        > 10
    }
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    await second.close()
    await pictures.close()
  }

  /// What a member says that has lost a packet.
  private static func request(for packet: ByteBuffer) throws -> ByteBuffer {
    let number = try #require(packet.rtpSequence)
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(UInt8(0x80), UInt8(201), UInt16(1), UInt32(1))
    bytes.writeFeedback(
      .genericNACK(media: 5, [RTCPFeedback.LostPackets(first: SequenceNumber(number))]), from: 1)
    return bytes
  }

  /// Some report to the group, others to the port above that from which the media came.
  @Test func whatMembersAskForIsHeardAndAnsweredToTheGroup() async throws {
    let sender = try await serve()
    let pictures = try await Listener(group.address, group.port)
    let viewer = try await watch(sender, [1])
    let (member, stranger) = (try await Client(), try await Client(host: "127.0.0.3"))
    let packets = try await pictures.heard.first(3)
    func request(_ index: Int) throws -> ByteBuffer { try Self.request(for: packets[index].data) }
    func count(_ index: Int) -> Int {
      pictures.heard.elements.count { $0.data == packets[index].data }
    }
    var control = packets[0].remoteAddress
    control.port = (control.port ?? 0) + 1
    stranger.say(try request(2), to: control)
    try await stranger.flushed()
    for (index, place) in [try #require(group.control), control].enumerated() {
      try await eventually("it is sent again") {
        // The group's socket may still be joining.
        if count(index) == 1 { member.say(try request(index), to: place) }
        return count(index) > 1
      }
    }
    #expect(count(2) == 1)
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    for peer in [member, stranger] { await peer.close() }
    await viewer.close()
    await pictures.close()
  }

  /// Another program has it, and does not share it, when the first member comes.
  @Test func aPortThatWasTakenIsOpenedForTheNextMember() async throws {
    let sender = try await serve()
    let pictures = try await Listener(group.address, group.port)
    let control = try #require(group.control)
    let other = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .bind(to: control).get()
    let first = try await watch(sender, [1])
    let packet = try #require(try await pictures.heard.first(1).first).data
    try await other.close().get()
    let second = try await watch(sender, [1])
    let member = try await Client()
    try await eventually("it is sent again") {
      // The group's socket may still be joining.
      member.say(try Self.request(for: packet), to: control)
      return pictures.heard.elements.count { $0.data == packet } > 1
    }
    sender.stop()
    _ = try await withDeadline { try await sender.finished() }
    await member.close()
    for viewer in [first, second] { await viewer.close() }
    await pictures.close()
  }
}
