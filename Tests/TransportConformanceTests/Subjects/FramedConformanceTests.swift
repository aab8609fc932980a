import Glibc
import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import Testing
import TransportConformance
import Transports

@Suite(.serialized) struct FramedConformanceTests {
  @Test(arguments: PacketFraming.allCases)
  func packetsInTCPConform(framing: PacketFraming) async {
    let report = await checkConformance(of: FramedSubject(framing: framing))
    #expect(report.isConforming, "\(report)")
  }

  @Test func packetsInTCPConformWrappedInSRTP() async {
    let report = await checkConformance(
      of: ProtectedSubject(FramedSubject(framing: .rfc4571), hasEverySize: true))
    #expect(report.isConforming, "\(report)")
  }

  @Test func packetsInTCPConformWhileTheyAreCaptured() async {
    let report = await checkConformance(of: CapturedSubject(FramedSubject(framing: .rfc4571)))
    #expect(report.isConforming, "\(report)")
  }

  @Test func packetsInAPipeConform() async {
    let report = await checkConformance(of: PipeSubject(framing: .rtp4))
    #expect(report.isConforming, "\(report)")
  }
}

/// Length-prefixed packets from a server that sends as soon as a client connects.
private struct FramedSubject: ConformanceSubject {
  let framing: PacketFraming

  var name: String { "\(framing.rawValue) over TCP" }

  var carrier: Carrier {
    var carrier = Carrier()
    carrier.lacks = [
      .feedback: "nobody reads what a client of such a server sends",
      .description: "lengths say nothing of the media",
    ]
    carrier.hostilities = FramedServerEnd.hostilities.keys.sorted()
    return carrier
  }

  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd {
    try await FramedServerEnd(behaviour, framing)
  }
}

private final class FramedServerEnd: FarEnd {
  /// What a hostile server sends, again and again.
  static let hostilities: [String: String] = [
    "zeros without end": "\0\0\0\0", "a text without end": "Lorem ipsum ",
    "a web page": "HTTP/1.1 200 OK\r\n\r\n<html>", "packets that are none": "\0\0\0\u{2}ab",
  ]

  private let peer: StreamPeer
  private let framing: PacketFraming
  private let silence: Duration

  init(_ behaviour: FarEndBehaviour, _ framing: PacketFraming) async throws {
    self.framing = framing
    silence = behaviour.silence()
    guard case .hostile(let name) = behaviour else {
      peer = try await StreamPeer(isSlow: behaviour == .byteByByte)
      return
    }
    let again: String = try #require(Self.hostilities[name])
    peer = try await .hostile(start: "", again: again)
  }

  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport {
    FramedTransport(
      source: .server(host: "127.0.0.1", port: peer.port), framing: framing,
      silence: silence, on: eventLoop)
  }

  func send(_ packets: [ByteBuffer]) async throws {
    try await peer.write(framing.frame(packets))
  }

  func sendRaw(_ bytes: ByteBuffer) async throws { try await peer.write(bytes) }
  func finish() async throws { try await peer.finish() }
  func fail() async throws { try await peer.reset() }
  func close() async { await peer.close() }
}

/// The same through a pipe, as on standard input.
private struct PipeSubject: ConformanceSubject {
  let framing: PacketFraming

  var name: String { "\(framing.rawValue) in a pipe" }

  var carrier: Carrier {
    var carrier = Carrier()
    carrier.lacks = [
      .feedback: "a pipe has one direction", .description: "lengths say nothing of the media",
    ]
    return carrier
  }

  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd {
    try await PipeEnd(framing, isSlow: behaviour == .byteByByte)
  }
}

private final class PipeEnd: FarEnd {
  private let reading: CInt
  private let writing: any Channel
  private let framing: PacketFraming
  private let isSlow: Bool

  init(_ framing: PacketFraming, isSlow: Bool) async throws {
    var ends: [CInt] = [-1, -1]
    try #require(pipe(&ends) == 0)
    reading = ends[0]
    // F_SETPIPE_SZ: with 64 KiB, either side would wait for the other all the time.
    _ = fcntl(ends[1], 1031, 1 << 20)
    self.framing = framing
    self.isSlow = isSlow
    writing = try await NIOPipeBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .takingOwnershipOfDescriptor(output: ends[1]).get()
  }

  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport {
    FramedTransport(source: .pipe(reading), framing: framing, on: eventLoop)
  }

  func send(_ packets: [ByteBuffer]) async throws { try await sendRaw(framing.frame(packets)) }

  func sendRaw(_ bytes: ByteBuffer) async throws {
    guard isSlow else { return try await writing.writeAndFlush(bytes).get() }
    for byte in bytes.readableBytesView {
      try await writing.writeAndFlush(ByteBuffer(bytes: [byte])).get()
    }
  }

  func finish() async throws { try await writing.close().get() }

  /// A writer that is killed in the middle of a packet.
  func fail() async throws {
    try await sendRaw(ByteBuffer(bytes: [0]))
    try await writing.close().get()
  }

  func close() async {
    try? await writing.close().get()
    Glibc.close(reading)
  }
}

extension PacketFraming {
  /// `packets`, each after its length.
  func frame(_ packets: [ByteBuffer]) -> ByteBuffer {
    var bytes = ByteBuffer()
    for packet in packets {
      switch self {
      case .rtp4: bytes.writeInteger(UInt32(clamping: packet.readableBytes))
      case .rfc4571: bytes.writeInteger(UInt16(clamping: packet.readableBytes))
      }
      bytes.writeImmutableBuffer(packet)
    }
    return bytes
  }
}
