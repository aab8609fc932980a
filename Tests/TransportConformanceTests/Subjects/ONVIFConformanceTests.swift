import NIOCore
import Synchronization
import Testing
import TransportConformance
import Transports

@Suite(.serialized) struct ONVIFConformanceTests {
  @Test func onvifConforms() async {
    let report = await checkConformance(of: ONVIFSubject())
    #expect(report.isConforming, "\(report)")
  }

  @Test func onvifConformsWrappedInSRTP() async {
    let report = await checkConformance(of: ProtectedSubject(ONVIFSubject()))
    #expect(report.isConforming, "\(report)")
  }
}

/// A camera whose services and stream do as well as they must, in RTSP's connection.
private struct ONVIFSubject: ConformanceSubject {
  let name = "ONVIF"

  var carrier: Carrier {
    var carrier = Carrier()
    // A camera that says nothing has twice the time for which the stream may be silent.
    carrier.silentOpening = .givesUp(within: .seconds(4))
    carrier.tracks = RTSPDialogue.tracks
    carrier.hostilities = ONVIFCameraEnd.hostilities.keys.sorted()
    return carrier
  }

  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd {
    try await ONVIFCameraEnd(behaviour)
  }
}

private final class ONVIFCameraEnd: FarEnd {
  private static let head = "HTTP/1.1 200 OK\r\nContent-Type: application/soap+xml\r\n"

  /// What hostile services say first, and what they then repeat forever.
  static let hostilities: [String: (start: String, again: String?)] = [
    "headers without end": ("HTTP/1.1 200 OK\r\n", "X: y\r\n"),
    "a document without end": (head + "Content-Length: 9999999999\r\n\r\n<a>", "<b></b>"),
    "elements in elements without end": (head + "Content-Length: 9999999999\r\n\r\n", "<a>"),
    "a web page without end": ("HTTP/1.1 404 No\r\nContent-Length: 9999999999\r\n\r\n", "<p>"),
    "redirects to itself": ("HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", nil),
    "redirects to elsewhere": (
      "HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n", nil
    ),
    "interim responses without end": ("", "HTTP/1.1 100 Continue\r\n\r\n"),
    "nothing but a FIN": ("", nil),
  ]

  private let services: StreamPeer
  private let stream: StreamPeer?
  private let dialogue = RTSPDialogue(serverPort: nil)
  private let silence: Duration

  init(_ behaviour: FarEndBehaviour) async throws {
    silence = behaviour.silence(.seconds(1))
    switch behaviour {
    case .orderly, .byteByByte, .pausing:
      let isSlow = behaviour == .byteByByte
      let stream = try await StreamPeer(
        isSlow: isSlow,
        received: { [dialogue] bytes, peer in
          for response in dialogue.receive(bytes) { peer.reply(response) }
        })
      self.stream = stream
      let input = Mutex("")
      services = try await StreamPeer(
        isSlow: isSlow,
        received: { bytes, peer in
          let answer = input.withLock { input in
            input += String(buffer: bytes)
            guard input.hasSuffix("</s:Envelope>") else { return String?.none }
            defer { input = "" }
            return Self.answer(to: input, streamOn: stream.port)
          }
          if let answer { peer.reply(ByteBuffer(string: answer)) }
        })
    case .silent: (services, stream) = (try await StreamPeer(), nil)
    case .hostile(let name):
      let (start, again) = try #require(Self.hostilities[name])
      (services, stream) = (try await .hostile(start: start, again: again), nil)
    }
  }

  private static func answer(to request: String, streamOn port: Int) -> String {
    let contents = [
      "GetProfiles": "<Profiles token='1'><Name>1</Name></Profiles>",
      "GetStreamUri": "<MediaUri><Uri>rtsp://192.0.2.1:\(port)/stream</Uri></MediaUri>",
    ]
    let content = contents.first { request.contains("<\($0.key) ") }?.value ?? ""
    let body = "<s:Envelope xmlns:s='s'><s:Body><r>\(content)</r></s:Body></s:Envelope>"
    return head + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport {
    var configuration = RTSPConfiguration()
    configuration.lowerTransport = .tcp
    configuration.silence = silence
    return try ONVIFTransport(
      source: "onvif://127.0.0.1:\(services.port)", configuration: configuration, on: eventLoop)
  }

  func send(_ packets: [ByteBuffer]) async throws { try await send(packets, onTrack: 0) }

  func send(_ packets: [ByteBuffer], onTrack track: Int) async throws {
    var all = ByteBuffer()
    for packet in packets {
      all.writeMultipleIntegers(
        UInt8(ascii: "$"), UInt8(2 * track), UInt16(clamping: packet.readableBytes))
      all.writeImmutableBuffer(packet)
    }
    try await sendRaw(all)
  }

  func sendRaw(_ bytes: ByteBuffer) async throws { try await (stream ?? services).write(bytes) }

  func finish() async throws {
    try await stream?.write(
      ByteBuffer(string: "TEARDOWN * RTSP/1.0\r\nCSeq: 9\r\nSession: 7\r\n\r\n"))
  }

  func fail() async throws { try await stream?.reset() }

  var feedback: [ByteBuffer] { dialogue.feedback }

  func close() async {
    await services.close()
    await stream?.close()
  }
}
