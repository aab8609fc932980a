import Defragment
import Foundation
import NIOCore
import RTPProcessor
import RTPWire

/// The packets of a recorded stream, with when they arrived.
struct Capture {
  let datagrams: [Datagram]

  /// The folder of captures beside the checkout, when it is there.
  static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("shared/captures")

  static func exists(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: folder.appendingPathComponent(name).path)
  }

  private static func read(_ name: String) throws -> ByteBuffer {
    ByteBuffer(bytes: try Data(contentsOf: folder.appendingPathComponent(name)))
  }

  /// UDP payloads of IPv4 packets in a pcap file, behind Ethernet, cooked or no link headers.
  init(pcap name: String) throws {
    var file = try Self.read(name)
    let magic = file.getInteger(at: file.readerIndex, endianness: .little, as: UInt32.self)
    let order: Endianness = magic == 0xA1B2_C3D4 || magic == 0xA1B2_3C4D ? .little : .big
    let isNano = [0xA1B2_3C4D, 0x4D3C_B2A1].contains(magic)
    file.moveReaderIndex(forwardBy: 20)
    let link = file.readInteger(endianness: order, as: UInt32.self)
    let linkLength = [1: 14, 113: 16, 276: 20, 0: 4][link ?? 101] ?? 0
    var datagrams: [Datagram] = []
    while let (seconds, fraction, length, _) = file.readMultipleIntegers(
      endianness: order, as: (UInt32, UInt32, UInt32, UInt32).self),
      var frame = file.readSlice(length: Int(length))
    {
      let nanoseconds = Int64(seconds) * 1_000_000_000 + Int64(fraction) * (isNano ? 1 : 1000)
      guard frame.readSlice(length: linkLength) != nil,
        let first = frame.getInteger(at: frame.readerIndex, as: UInt8.self), first >> 4 == 4,
        frame.getInteger(at: frame.readerIndex + 9, as: UInt8.self) == 17,
        frame.readSlice(length: Int(first & 0xF) * 4) != nil,
        let (_, _, udpLength, _) = frame.readMultipleIntegers(
          as: (UInt16, UInt16, UInt16, UInt16).self),
        udpLength >= 8, let payload = frame.readSlice(length: Int(udpLength) - 8)
      else { continue }
      datagrams.append(Datagram(bytes: payload, arrival: Instant(nanoseconds: nanoseconds)))
    }
    self.datagrams = datagrams
  }

  /// The frames of `channel` in the interleaved bytes of an RTSP connection (RFC 2326 §10.12).
  init(interleaved name: String, channel: UInt8) throws {
    var file = try Self.read(name)
    var datagrams: [Datagram] = []
    while let (_, number, length) = file.readMultipleIntegers(
      as: (UInt8, UInt8, UInt16).self), let frame = file.readSlice(length: Int(length))
    {
      guard number == channel else { continue }
      let arrival = Instant(nanoseconds: Int64(datagrams.count) * 1_000_000)
      datagrams.append(Datagram(bytes: frame, arrival: arrival))
    }
    self.datagrams = datagrams
  }

  /// The access units, and the defragmenter at the end.
  func accessUnits(
    _ media: MediaDescription
  ) throws -> (units: [AccessUnit], defragmenter: VideoDefragmenter) {
    var configuration = RTPProcessor.Configuration()
    configuration.payloadType = media.payloadType
    var processor = RTPProcessor(configuration: configuration)
    var defragmenter = try VideoDefragmenter(media: media)
    var units: [AccessUnit] = []
    func pull(at now: Instant) {
      while let packet = processor.next(at: now) {
        defragmenter.push(packet)
        while let unit = defragmenter.next() { units.append(unit) }
      }
    }
    var last = Instant(nanoseconds: 0)
    for datagram in datagrams {
      _ = processor.receive(datagram) {
        FormatCatalogue.isEntryPoint($0.payload, parameterSetsKnown: false)
      }
      pull(at: datagram.arrival)
      last = datagram.arrival
    }
    processor.finish()
    pull(at: last)
    defragmenter.flush()
    while let unit = defragmenter.next() { units.append(unit) }
    return (units, defragmenter)
  }
}
