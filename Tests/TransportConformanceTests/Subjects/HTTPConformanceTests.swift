import NIOCore
import RTPWire
import Synchronization
import Testing
import TransportConformance

@testable import Transports

@Suite(.serialized) struct HTTPConformanceTests {
  @Test func httpConforms() async {
    let report = await checkConformance(of: HTTPSubject())
    #expect(report.isConforming, "\(report)")
  }

  @Test func httpConformsWrappedInSRTP() async {
    let report = await checkConformance(of: ProtectedSubject(HTTPSubject()))
    #expect(report.isConforming, "\(report)")
  }
}

/// HTTP progressive, with a separate chunk for each write of the server.
struct HTTPSubject: ConformanceSubject {
  let name = "HTTP progressive"

  var carrier: Carrier {
    var carrier = Carrier()
    carrier.lacks = [
      .feedback: "a response has no way back",
      .description: "nothing in HTTP describes the media",
    ]
    carrier.silentOpening = .givesUp(within: .seconds(3))
    carrier.hostilities = HTTPServerEnd.hostilities.keys.sorted()
    return carrier
  }

  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd {
    try await HTTPServerEnd(behaviour)
  }
}

private final class HTTPServerEnd: FarEnd {
  private static let head =
    "HTTP/1.1 200 OK\r\nContent-Type: video/rtp\r\nTransfer-Encoding: chunked\r\n\r\n"

  /// What a hostile server sends first, and what it then repeats forever.
  static let hostilities: [String: (start: String, again: String?)] = [
    "headers without end": ("HTTP/1.1 200 OK\r\n", "X: y\r\n"),
    "a line without end": ("HTTP/1.1 200 ", "O"),
    "interim responses without end": ("", "HTTP/1.1 100 Continue\r\n\r\n"),
    "redirects to itself": ("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", nil),
    "a page without end": ("HTTP/1.1 404 No\r\nContent-Length: 9999999999\r\n\r\n", "<p>"),
    "a length that no packet has": (head, "4\r\n\u{7F}\u{7F}\u{7F}\u{7F}\r\n"),
    "empty packets without end": (head, "4\r\n\0\0\0\0\r\n"),
    "a chunk of no size": (head, "banana\r\n"),
    "packets that are none": (head, "6\r\n\0\0\0\u{2}ab\r\n"),
    "nothing but a FIN": ("", nil),
  ]

  private let peer: StreamPeer
  private let silence: Duration

  init(_ behaviour: FarEndBehaviour) async throws {
    silence = behaviour.silence()
    switch behaviour {
    case .orderly, .byteByByte, .pausing:
      peer = try await StreamPeer(
        isSlow: behaviour == .byteByByte,
        received: { _, peer in peer.reply(ByteBuffer(string: Self.head)) })
    case .silent: peer = try await StreamPeer()
    case .hostile(let name):
      let (start, again) = try #require(Self.hostilities[name])
      peer = try await .hostile(start: start, again: again)
    }
  }

  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport {
    var configuration = HTTPConfiguration()
    configuration.silence = silence
    configuration.answerTime = silence
    return try HTTPTransport(
      source: "http://127.0.0.1:\(peer.port)/", configuration: configuration, on: eventLoop)
  }

  func send(_ packets: [ByteBuffer]) async throws {
    var all = ByteBuffer()
    for packet in packets {
      all.writeInteger(UInt32(clamping: packet.readableBytes))
      all.writeImmutableBuffer(packet)
    }
    try await sendRaw(all)
  }

  func sendRaw(_ bytes: ByteBuffer) async throws {
    var chunk = ByteBuffer(string: String(bytes.readableBytes, radix: 16) + "\r\n")
    chunk.writeImmutableBuffer(bytes)
    chunk.writeString("\r\n")
    try await peer.write(chunk)
  }

  func finish() async throws { try await peer.write(ByteBuffer(string: "0\r\n\r\n")) }

  func fail() async throws { try await peer.reset() }

  func close() async { await peer.close() }
}
