import Foundation
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Testing

@testable import Transports

/// Sessions that are cut off at any moment, from this side or from the other, keep nothing.
@Suite(.serialized) struct RTSPTransportEndingTests {
  private var descriptors: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
  }

  /// Waits until there are about as many descriptors as `count`: those of other tests come and go,
  /// and one for each session would be ten times as many.
  private func descriptorsReturn(to count: Int) async throws {
    try await eventually("\(descriptors) descriptors, before there were \(count)") {
      descriptors <= count + 20
    }
  }

  @Test(arguments: [RTSPConfiguration.LowerTransport.tcp, .udp])
  func twoHundredSessionsClosedAtRandomMomentsLeaveNoDescriptor(
    lowerTransport: RTSPConfiguration.LowerTransport
  ) async throws {
    var random = SeededGenerator(seed: 5)
    var script = RTSPFarEnd.Script()
    script.played = { peer in peer.send(frames: (0..<20).map { rtp($0, payload: 1388) }) }
    let server = try await RTSPFarEnd("127.0.0.1", script)
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let before = descriptors
    let streams = StreamRecord(on: loop)
    for _ in 0..<200 {
      var configuration = RTSPConfiguration()
      configuration.lowerTransport = lowerTransport
      let transport = try RTSPTransport(
        source: server.url, configuration: configuration, on: loop)
      let sink = RecordingSink()
      let opening = Task { try await transport.open(delivering: sink) }
      // The moment is what is tested: the whole dialogue takes about two milliseconds here.
      let moment = random.next() % 4000
      try await Task.sleep(for: .microseconds(moment))
      streams.note(transport)
      transport.close()
      if (try? await opening.value) != nil { _ = try await sink.ends.first(1) }
    }
    try await server.close()
    try await descriptorsReturn(to: before)
    try await streams.areGone()
  }

  @Test func twoHundredSessionsCutOffByTheServerAtRandomBytesLeaveNoDescriptor() async throws {
    var random = SeededGenerator(seed: 6)
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let before = descriptors
    let dialogue = Dialogue.bytes
    for round in 0..<200 {
      let length = Int(random.next() % UInt64(dialogue.count + 1))
      var script = RTSPFarEnd.Script()
      script.accepted = { channel in
        channel.eventLoop.execute {
          channel.writeAndFlush(ByteBuffer(bytes: dialogue.prefix(length))).whenComplete { _ in
            channel.close(promise: nil)
          }
        }
      }
      let server = try await RTSPFarEnd("127.0.0.1", script)
      let transport = try RTSPTransport(
        source: server.url, configuration: Dialogue.configuration, on: loop)
      let sink = RecordingSink()
      if (try? await transport.open(delivering: sink)) != nil {
        _ = try await sink.ends.first(1)
      } else {
        #expect(sink.ends.elements.isEmpty, "round \(round)")
      }
      try await server.close()
    }
    try await descriptorsReturn(to: before)
  }

  /// A record of sessions; used on their event loop.
  private struct StreamRecord: Sendable {
    private struct Entry {
      weak var stream: RTSPReceiver?
    }

    private let loop: any EventLoop
    private let entries: NIOLoopBoundBox<[Entry]>

    init(on loop: any EventLoop) {
      self.loop = loop
      entries = .makeBoxSendingValue([], eventLoop: loop)
    }

    func note(_ transport: RTSPTransport) {
      transport.receiver.withReceiver { [entries] in entries.value.append(Entry(stream: $0)) }
    }

    /// Returns when all have been released.
    func areGone() async throws {
      try await eventually("the streams are released") {
        let (all, alive) = try await loop.submit { [entries] in
          (entries.value.count, entries.value.count { $0.stream != nil })
        }.get()
        #expect(all > 0)
        return alive == 0
      }
    }
  }

  /// What a server says from OPTIONS to media, whatever it is asked.
  private enum Dialogue {
    static var configuration: RTSPConfiguration {
      var configuration = RTSPConfiguration()
      configuration.lowerTransport = .tcp
      return configuration
    }

    static var bytes: [UInt8] {
      let description = RTSPFarEnd.description
      var text = "RTSP/1.0 200 OK\r\nCSeq: 1\r\nPublic: DESCRIBE, SETUP, PLAY, TEARDOWN\r\n\r\n"
      text += "RTSP/1.0 200 OK\r\nCSeq: 2\r\nContent-Length: \(description.utf8.count)\r\n\r\n"
      text += description
      text +=
        "RTSP/1.0 200 OK\r\nCSeq: 3\r\nSession: 7\r\nTransport: RTP/AVP/TCP;interleaved=0-1\r\n\r\n"
      text += "RTSP/1.0 200 OK\r\nCSeq: 4\r\nSession: 7\r\n\r\n"
      var bytes = Array(text.utf8)
      for number in UInt16(0)..<10 {
        let packet = rtp(number, payload: 200)
        bytes += [UInt8(ascii: "$"), 0, 0, UInt8(packet.readableBytes)]
        bytes += packet.readableBytesView
      }
      return bytes
    }
  }
}
