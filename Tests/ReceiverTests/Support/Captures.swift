import Foundation
import NIOCore
import RTPWire

/// Real traffic that other projects test with, beside the checkout where it is at hand.
enum Captures {
  static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("shared/captures")

  static var areAtHand: Bool { FileManager.default.fileExists(atPath: folder.path) }

  /// The UDP payloads of a pcap file (Ethernet, IPv4) with their recorded times.
  static func datagrams(of name: String) throws -> [Datagram] {
    var file = ByteBuffer(bytes: try Data(contentsOf: folder.appendingPathComponent(name)))
    let magic = file.readInteger(endianness: .little, as: UInt32.self)
    let order: Endianness = magic == 0xA1B2_C3D4 ? .little : .big
    file.moveReaderIndex(forwardBy: 20)
    var datagrams: [Datagram] = []
    while let (seconds, microseconds, length, _) = file.readMultipleIntegers(
      endianness: order, as: (UInt32, UInt32, UInt32, UInt32).self),
      var frame = file.readSlice(length: Int(length))
    {
      guard frame.readableBytes > 42 else { continue }
      frame.moveReaderIndex(forwardBy: 14)
      guard let head = frame.getInteger(at: frame.readerIndex, as: UInt8.self), head >> 4 == 4,
        frame.getInteger(at: frame.readerIndex + 9, as: UInt8.self) == 17
      else { continue }
      frame.moveReaderIndex(forwardBy: 4 * Int(head & 0x0F))
      guard
        let (_, _, size, _) = frame.readMultipleIntegers(
          as: (UInt16, UInt16, UInt16, UInt16).self),
        let payload = frame.readSlice(length: Int(size) - 8)
      else { continue }
      let time = Int64(seconds) * 1_000_000_000 + Int64(microseconds) * 1000
      datagrams.append(Datagram(bytes: payload, arrival: Instant(nanoseconds: time)))
    }
    return datagrams
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
