import Foundation
import NIOCore
import NIOPosix
import RTPWire
import TestSupport
import Transports

/// Real traffic that other projects test with, beside the checkout where it is at hand.
enum Captures {
  static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("shared/captures")

  static var areAtHand: Bool { FileManager.default.fileExists(atPath: folder.path) }

  /// What a transport makes of a recording.
  static func datagrams(of name: String) async throws -> [Datagram] {
    let transport = ReplayTransport(
      path: folder.appendingPathComponent(name).path,
      on: MultiThreadedEventLoopGroup.singleton.next())
    let sink = RecordingSink()
    try await transport.open(delivering: sink)
    _ = try await sink.ends.first(1)
    return sink.datagrams.elements
  }

  /// The interleaved frames of `channel` in a recorded RTSP connection, a millisecond apart.
  static func interleaved(of name: String, channel: UInt8) throws -> [Datagram] {
    var file = ByteBuffer(bytes: try Data(contentsOf: folder.appendingPathComponent(name)))
    var datagrams: [Datagram] = []
    while let (_, number, length) = file.readMultipleIntegers(as: (UInt8, UInt8, UInt16).self),
      let payload = file.readSlice(length: Int(length))
    {
      guard number == channel else { continue }
      let time = Instant(nanoseconds: Int64(datagrams.count) * 1_000_000)
      datagrams.append(Datagram(bytes: payload, arrival: time))
    }
    return datagrams
  }
}
