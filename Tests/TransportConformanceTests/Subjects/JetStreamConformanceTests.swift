import JetStream
import NIOCore
import Synchronization
import TestSupport
import Testing
import TransportConformance
import Transports

@Suite(.serialized) struct JetStreamConformanceTests {
  @Test func aCameraInNATSConforms() async {
    let report = await checkConformance(of: JetStreamSubject())
    #expect(report.isConforming, "\(report)")
  }

  @Test func whatWasPublishedToNATSConforms() async {
    let report = await checkConformance(of: JetStreamSubject(isRecorded: true))
    #expect(report.isConforming, "\(report)")
  }

  @Test func aCameraInNATSConformsWrappedInSRTP() async {
    let report = await checkConformance(of: ProtectedSubject(JetStreamSubject()))
    #expect(report.isConforming, "\(report)")
  }
}

/// A server of NATS, and somebody who publishes packets to it.
private struct JetStreamSubject: ConformanceSubject {
  /// Whether what was published before is received, and nothing else.
  var isRecorded = false

  var name: String { "NATS JetStream" + (isRecorded ? ", recorded" : "") }

  var carrier: Carrier {
    var carrier = Carrier()
    carrier.tracks = 2
    // Every size of larger packets would be two gigabytes.
    carrier.everySizeUpTo = 8192
    if isRecorded {
      carrier.isPrepared = true
      carrier.lacks = [
        .failure: "what was published is all there, or not at all",
        .feedback: "who publishes does not listen", .byteStream: "messages have boundaries",
        .silence: "it ends where nothing more was published",
        .garbage: "the live subject has it",
      ]
      return carrier
    }
    carrier.lacks = [
      .orderlyEnd: "a camera in NATS has no end, because another machine may go on",
      .feedback: "who publishes does not listen",
      .byteStream: "messages have boundaries",
    ]
    carrier.hostilities = JetStreamEnd.hostilities.keys.sorted()
    return carrier
  }

  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd {
    try await JetStreamEnd(behaviour, isRecorded: isRecorded)
  }
}

private final class JetStreamEnd: FarEnd {
  /// What servers say that are none of NATS, or are bad ones.
  static let hostilities: [String: (start: String, again: String?)] = [
    "a web page without end": ("HTTP/1.1 200 OK\r\n\r\n", "<p>"),
    "a greeting without end": ("INFO {", "\"a\":1,"),
    "commands without end": (
      "INFO {\"server_id\":\"x\",\"max_payload\":1048576,\"headers\":true}\r\n", "PING\r\n"
    ),
    "a message of any size": (
      "INFO {\"server_id\":\"x\",\"max_payload\":1048576,\"headers\":true}\r\nPONG\r\n",
      "MSG a 1 999999999999\r\n"
    ),
    "nothing but a FIN": ("", nil),
  ]

  private static let description = """
    v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=camera\r\nt=0 0\r\nm=video 0 RTP/AVP 96\r\n\
    a=rtpmap:96 H264/90000\r\nm=audio 0 RTP/AVP 97\r\na=rtpmap:97 L16/44100/2\r\n
    """
  /// Bytes of a message, below what the server takes.
  private static let messageLength = 512 << 10
  /// Messages that may wait in the server before more are published.
  private static let mostPending = 8

  private let isRecorded: Bool
  private let server: NATSServer?
  private let peer: Mutex<NATSPeer?>
  private let hostile: StreamPeer?

  init(_ behaviour: FarEndBehaviour, isRecorded: Bool) async throws {
    self.isRecorded = isRecorded
    if case .hostile(let name) = behaviour {
      let (start, again) = try #require(Self.hostilities[name])
      hostile = try await .hostile(start: start, again: again)
      server = nil
      peer = Mutex(nil)
      return
    }
    hostile = nil
    let server = try NATSServer()
    let peer = try NATSPeer(port: server.port)
    self.server = server
    let answer = try peer.request(
      "$JS.API.STREAM.CREATE.rtp_camera",
      "{\"name\":\"rtp_camera\",\"subjects\":[\"rtp.camera.*\"],\"storage\":\"memory\","
        + "\"retention\":\"limits\",\"discard\":\"old\",\"num_replicas\":1}")
    try #require(!String(decoding: answer, as: UTF8.self).contains("\"error\""))
    if behaviour != .silent {
      try peer.request("rtp.camera.description", Array(Self.description.utf8))
    }
    self.peer = Mutex(peer)
  }

  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport {
    let port = server.map { Int($0.port) } ?? hostile?.port ?? 0
    var options = JetStreamOptions()
    if isRecorded { options.since = .seconds(3600) }
    return JetStreamTransport(
      address: try StreamAddress(parsing: "nats://127.0.0.1:\(port)/camera", known: []),
      login: try NATSLogin(), options: options, patience: .seconds(1), on: eventLoop)
  }

  func send(_ packets: [ByteBuffer]) async throws { try await send(packets, onTrack: 0) }

  func send(_ packets: [ByteBuffer], onTrack track: Int) async throws {
    var message = ByteBuffer()
    for packet in packets {
      if message.readableBytes + packet.readableBytes > Self.messageLength {
        try await publish(message, track: track)
        message.clear()
      }
      message.writeInteger(UInt16(clamping: packet.readableBytes))
      message.writeImmutableBuffer(packet)
    }
    if message.readableBytes > 0 { try await publish(message, track: track) }
  }

  func sendRaw(_ bytes: ByteBuffer) async throws {
    if let hostile { return try await hostile.write(bytes) }
    try await publish(bytes, track: 0)
  }

  /// Publishes a message; nobody else would notice that the server is not asked for more.
  private func publish(_ message: ByteBuffer, track: Int) async throws {
    _ = try peer.withLock {
      try $0?.request(
        "rtp.camera.\(track == 0 ? "video" : "sound")", Array(message.readableBytesView))
    }
    try await eventually("the messages are taken", within: .seconds(60)) {
      try pending <= Self.mostPending
    }
  }

  /// Messages that the server has not handed over.
  private var pending: Int {
    get throws {
      let answer = try peer.withLock { try $0?.request("$JS.API.CONSUMER.LIST.rtp_camera", "") }
      let text = String(decoding: answer ?? [], as: UTF8.self)
      return text.matches(of: /"num_pending":(\d+)/).compactMap { Int($0.1) }.max() ?? 0
    }
  }

  func finish() async throws {}

  func fail() async throws { try server?.kill() }

  func close() async {
    peer.withLock { $0 = nil }
    try? server?.kill()
    await hostile?.close()
  }
}
