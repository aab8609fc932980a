import NIOCore
import Synchronization
import Testing
import TransportConformance
import Transports

@Suite(.serialized) struct RTSPConformanceTests {
  @Test(arguments: [RTSPConfiguration.LowerTransport.tcp, .udp])
  func rtspConforms(lowerTransport: RTSPConfiguration.LowerTransport) async {
    let report = await checkConformance(of: RTSPSubject(lowerTransport: lowerTransport))
    #expect(report.isConforming, "\(report)")
  }

  @Test(arguments: [RTSPConfiguration.LowerTransport.tcp, .udp])
  func rtspConformsWrappedInSRTP(lowerTransport: RTSPConfiguration.LowerTransport) async {
    let report = await checkConformance(
      of: ProtectedSubject(RTSPSubject(lowerTransport: lowerTransport)))
    #expect(report.isConforming, "\(report)")
  }
}

/// RTSP with a server that does as well as it must, in its connection or over UDP.
private struct RTSPSubject: ConformanceSubject {
  let lowerTransport: RTSPConfiguration.LowerTransport

  var name: String { lowerTransport == .tcp ? "RTSP, interleaved" : "RTSP over UDP" }

  var carrier: Carrier {
    var carrier = lowerTransport == .tcp ? Carrier() : Carrier.datagrams
    carrier.lacks[.orderlyEnd] = nil
    carrier.lacks[.byteStream] = nil
    // A server that says nothing has ten seconds for each response.
    carrier.silentOpening = .givesUp(within: .seconds(10))
    carrier.tracks = RTSPDialogue.tracks
    carrier.hostilities = RTSPServerEnd.hostilities.keys.sorted()
    return carrier
  }

  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd {
    try await RTSPServerEnd(behaviour, lowerTransport)
  }
}

private final class RTSPServerEnd: FarEnd {
  /// What a hostile server says, and whether it says it forever.
  static let hostilities: [String: (start: String, again: String?)] = [
    "a header without end": ("RTSP/1.0 200 OK\r\nCSeq: 1\r\n", "X: y\r\n"),
    "a line without end": ("RTSP/1.0 200 ", "O"),
    "a body of more than any": (
      "RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: 9223372036854775807\r\n\r\n", "a=b\r\n"
    ),
    "a description without end": (
      "RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Type: application/sdp\r\n"
        + "Content-Length: 131072\r\n\r\nv=0\r\n", "m=video 0 RTP/AVP 96\r\n"
    ),
    "responses without end": ("", "RTSP/1.0 200 OK\r\nCSeq: 77\r\n\r\n"),
    "requests without end": ("", "OPTIONS * RTSP/1.0\r\nCSeq: 5\r\n\r\n"),
    "frames of no stream without end": ("", "$\u{7}\0\u{2}ab"),
    "a web page": ("HTTP/1.1 200 OK\r\n\r\n<html>", "<p>"),
    "nothing but a FIN": ("", nil),
  ]

  private let peer: StreamPeer
  private let datagrams: DatagramPeer?
  private let dialogue: RTSPDialogue
  private let lowerTransport: RTSPConfiguration.LowerTransport
  private let silence: Duration

  init(
    _ behaviour: FarEndBehaviour, _ lowerTransport: RTSPConfiguration.LowerTransport
  ) async throws {
    self.lowerTransport = lowerTransport
    silence = behaviour.silence()
    let datagrams = lowerTransport == .udp ? try await DatagramPeer.open() : nil
    self.datagrams = datagrams
    let dialogue = RTSPDialogue(serverPort: datagrams?.port)
    self.dialogue = dialogue
    switch behaviour {
    case .orderly, .byteByByte, .pausing:
      peer = try await StreamPeer(
        isSlow: behaviour == .byteByByte,
        received: { bytes, peer in
          for response in dialogue.receive(bytes) { peer.reply(response) }
        })
    case .silent: peer = try await StreamPeer()
    case .hostile(let name):
      let (start, again) = try #require(Self.hostilities[name])
      peer = try await .hostile(start: start, again: again)
    }
  }

  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport {
    var configuration = RTSPConfiguration()
    configuration.lowerTransport = lowerTransport
    configuration.silence = silence
    return try RTSPTransport(
      source: "rtsp://127.0.0.1:\(peer.port)/stream", configuration: configuration, on: eventLoop)
  }

  func send(_ packets: [ByteBuffer]) async throws { try await send(packets, onTrack: 0) }

  func send(_ packets: [ByteBuffer], onTrack track: Int) async throws {
    if let datagrams {
      guard let port = dialogue.clientPort(ofTrack: track) else { return }
      return try await datagrams.send(packets, to: port)
    }
    var all = ByteBuffer()
    for packet in packets {
      all.writeMultipleIntegers(
        UInt8(ascii: "$"), UInt8(2 * track), UInt16(clamping: packet.readableBytes))
      all.writeImmutableBuffer(packet)
    }
    try await peer.write(all)
  }

  func sendRaw(_ bytes: ByteBuffer) async throws {
    if datagrams == nil { try await peer.write(bytes) } else { try await send([bytes]) }
  }

  func finish() async throws {
    try await peer.write(
      ByteBuffer(string: "TEARDOWN * RTSP/1.0\r\nCSeq: 9\r\nSession: 7\r\n\r\n"))
  }

  func fail() async throws { try await peer.reset() }

  var feedback: [ByteBuffer] { (datagrams?.feedback ?? []) + dialogue.feedback }

  func close() async {
    await peer.close()
    await datagrams?.close()
  }
}
