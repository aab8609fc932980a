import Foundation
import NIOCore
import NIOPosix
import RTPSend
import RTPWire
import Synchronization
import TestSupport
import Testing

@testable import Transports

/// Sessions that are opened and cut off again and again leave nothing behind.
@Suite(.serialized)
struct EnduranceTests {
  /// What a process holds.
  struct Holdings {
    var descriptors: Int
    var threads: Int
    var megabytes: Double

    static func now() throws -> Holdings {
      let statistics = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
      let pages = statistics.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      func count(_ folder: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/" + folder).count
      }
      return Holdings(
        descriptors: try count("fd"), threads: try count("task"),
        megabytes: Double(pages * 4096) / Double(1 << 20))
    }
  }

  @Test("a thousand sessions that either side cuts off at any moment")
  func cutOff() async throws {
    var moments = SeededGenerator(seed: 20_26)
    let limits = (0..<1200).map { _ in Int(moments.next() % 4000) }
    let server = try await SocketServer.start(
      Script("> PLAY\n< 200 OK\n  Session: 1\n$ frames\nwait 30"),
      byteLimit: { $0.isMultiple(of: 2) ? limits[$0 % limits.count] : nil })
    // What is made once and kept is made in the first of them.
    for number in 0..<100 { try await Self.cycle(server.port, moment: limits[number] % 60) }
    let before = try Holdings.now()
    for number in 100..<1100 { try await Self.cycle(server.port, moment: limits[number] % 60) }
    // Connections are closed on their event loops, soon but not at once, and a busy machine may
    // have a thread more for a moment.
    let after = try await eventualValue(of: "as few descriptors and threads as before") {
      let now = try Holdings.now()
      return now.descriptors <= before.descriptors && now.threads <= before.threads ? now : nil
    }
    #expect(after.megabytes - before.megabytes < 8)
    try await server.stop()
  }

  /// One session, closed from this side upon its datagram of the number `moment`, unless the server
  /// closes it before.
  private static func cycle(_ port: Int, moment: Int) async throws {
    var options = TransportOptions()
    options.rtsp.lowerTransport = moment.isMultiple(of: 3) ? .udp : .tcp
    let transport = try TransportCatalogue.standard.make(
      source: "rtsp://127.0.0.1:\(port)/stream", options: options,
      on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink(keepsDatagrams: false) { _, count in
      if count == moment { transport.close() }
    }
    if moment == 0 {
      // In the middle of opening.
      Task { transport.close() }
    }
    do { try await transport.open(delivering: sink) } catch { return transport.close() }
    _ = try await sink.ends.first(1)
  }
}
