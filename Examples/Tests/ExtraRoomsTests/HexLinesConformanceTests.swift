import Foundation
import NIOCore
import NIOPosix
import RTPWire
import Synchronization
import Testing
import TransportConformance
import Transports

@testable import ExtraRooms

@Suite(.serialized) struct HexLinesConformanceTests {
  @Test func theExampleOfACustomTransportConforms() async {
    let report = await checkConformance(of: HexLines())
    #expect(report.isConforming, "\(report)")
  }

  @Test func whatCannotBeReadIsATransportFault() async throws {
    let path = "/tmp/no-hex-lines-\(UUID().uuidString).hex"
    let transport = HexLinesTransport(path: path, on: MultiThreadedEventLoopGroup.singleton.next())
    let error = await #expect(throws: HexLinesError.self) {
      try await transport.open(delivering: Ends())
    }
    #expect(error?.description.contains(path) == true)
    #expect(error?.outcome == .cannotOpen)
  }

  @Test func aLineThatIsNoPacketIsATransportFault() async throws {
    let path = "/tmp/hex-lines-\(UUID().uuidString).hex"
    try "not hexadecimal\n".write(toFile: path, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: path) }
    let transport = HexLinesTransport(path: path, on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = Ends()
    try await transport.open(delivering: sink)
    // The transport delivers in a turn of its loop that was requested before this one.
    try await transport.eventLoop.submit {}.get()
    guard case .failed(let error) = sink.end.withLock({ $0 }) else {
      Issue.record("the transport has not failed")
      return
    }
    #expect((error as? HexLinesError)?.outcome == .unrecognized)
    #expect(ConnectionFault(of: error) == .permanent)
  }
}

/// Keeps how a transport ended.
private final class Ends: DatagramSink {
  let end = Mutex(TransportEnd?.none)
  var authenticates: Bool { false }

  func describe(_ media: [MediaDescription]) {}
  func receive(_ datagram: Datagram) {}
  func admit(_ datagram: Datagram) -> Bool { true }
  func readCompleted(at now: Instant) {}
  func transportEnded(_ end: TransportEnd) { self.end.withLock { $0 = end } }
}

/// ``HexLinesTransport`` with a file for a far end.
private struct HexLines: ConformanceSubject {
  let name = "hexadecimal lines in a file"

  var carrier: Carrier {
    var carrier = Carrier()
    // A packet in an Ethernet frame is smaller.
    carrier.packetSizes = 12...2048
    carrier.isPrepared = true
    carrier.lacks = [
      .feedback: "nobody reads what is sent to a file",
      .description: "a line says nothing of the media",
      .byteStream: "the kernel hands out files in blocks",
      .silence: "a file is there, or is not",
    ]
    return carrier
  }

  func startFarEnd(_ behaviour: FarEndBehaviour) async throws -> any FarEnd { HexFile() }
}

private final class HexFile: FarEnd {
  private let path = "/tmp/hex-lines-\(UUID().uuidString).txt"
  private let text = Mutex("")

  func makeTransport(on eventLoop: any EventLoop) throws -> any RTPTransport {
    try text.withLock { try $0.write(toFile: path, atomically: false, encoding: .utf8) }
    return HexLinesTransport(path: path, on: eventLoop)
  }

  func send(_ packets: [ByteBuffer]) async throws {
    var lines: [UInt8] = []
    let digits = Array("0123456789abcdef".utf8)
    for packet in packets {
      for byte in packet.readableBytesView {
        lines.append(digits[Int(byte >> 4)])
        lines.append(digits[Int(byte & 15)])
      }
      lines.append(UInt8(ascii: "\n"))
    }
    text.withLock { $0 += String(decoding: lines, as: UTF8.self) }
  }

  func sendRaw(_ bytes: ByteBuffer) async throws {
    let file = FileHandle(forWritingAtPath: path)
    try file?.seekToEnd()
    try file?.write(contentsOf: Data(bytes.readableBytesView))
    try file?.close()
  }

  func finish() async throws {}

  /// A line that is no packet.
  func fail() async throws { text.withLock { $0 += "not hexadecimal\n" } }

  func close() async { try? FileManager.default.removeItem(atPath: path) }
}
