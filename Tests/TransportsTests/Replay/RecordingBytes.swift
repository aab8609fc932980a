import NIOCore

@testable import Transports

/// Files of every format, built from scratch.
enum RecordingBytes {
  /// A pcap file of frames, a millisecond apart from 1000 s on.
  static func pcap(
    _ frames: [ByteBuffer], link: UInt32 = 1, order: Endianness = .little, isNano: Bool = false,
    snap: Int = .max
  ) -> ByteBuffer {
    var file = ByteBuffer()
    file.writeInteger(isNano ? 0xA1B2_3C4D : 0xA1B2_C3D4, endianness: order, as: UInt32.self)
    file.writeInteger(2, endianness: order, as: UInt16.self)
    file.writeInteger(4, endianness: order, as: UInt16.self)
    for word in [0, 0, 65_535, link] { file.writeInteger(word, endianness: order, as: UInt32.self) }
    for (index, frame) in frames.enumerated() {
      let recorded = min(frame.readableBytes, snap)
      for word in [
        1000, index * (isNano ? 1_000_000 : 1000), recorded, frame.readableBytes,
      ] {
        file.writeInteger(UInt32(word), endianness: order)
      }
      file.writeBytes(frame.readableBytesView.prefix(recorded))
    }
    return file
  }

  /// A block of pcapng.
  static func block(_ type: UInt32, _ body: ByteBuffer, _ order: Endianness) -> ByteBuffer {
    var block = ByteBuffer()
    let length = UInt32((body.readableBytes + 3) & ~3) + 12
    block.writeInteger(type, endianness: order)
    block.writeInteger(length, endianness: order)
    block.writeImmutableBuffer(body)
    block.writeRepeatingByte(0, count: -body.readableBytes & 3)
    block.writeInteger(length, endianness: order)
    return block
  }

  static func section(_ order: Endianness) -> ByteBuffer {
    var body = ByteBuffer()
    body.writeInteger(0x1A2B_3C4D, endianness: order, as: UInt32.self)
    body.writeInteger(1, endianness: order, as: UInt16.self)
    body.writeInteger(0, endianness: order, as: UInt16.self)
    body.writeInteger(-1, endianness: order, as: Int64.self)
    return block(0x0A0D_0D0A, body, order)
  }

  static func interface(
    link: UInt16 = 1, snap: UInt32 = 0, options: [(UInt16, [UInt8])] = [], _ order: Endianness
  ) -> ByteBuffer {
    var body = ByteBuffer()
    body.writeInteger(link, endianness: order)
    body.writeInteger(0, endianness: order, as: UInt16.self)
    body.writeInteger(snap, endianness: order)
    for (code, value) in options {
      body.writeInteger(code, endianness: order)
      body.writeInteger(UInt16(value.count), endianness: order)
      body.writeBytes(value)
      body.writeRepeatingByte(0, count: -value.count & 3)
    }
    return block(1, body, order)
  }

  /// An Enhanced Packet Block, or with `isObsolete` a Packet Block.
  static func packet(
    _ frame: ByteBuffer, ticks: UInt64, interface: UInt32 = 0, missing: Int = 0,
    isObsolete: Bool = false, _ order: Endianness
  ) -> ByteBuffer {
    var body = ByteBuffer()
    if isObsolete {
      body.writeInteger(UInt16(interface), endianness: order)
      body.writeInteger(0, endianness: order, as: UInt16.self)
    } else {
      body.writeInteger(interface, endianness: order)
    }
    for word in [
      UInt32(ticks >> 32), UInt32(truncatingIfNeeded: ticks), UInt32(frame.readableBytes),
      UInt32(frame.readableBytes + missing),
    ] {
      body.writeInteger(word, endianness: order)
    }
    body.writeImmutableBuffer(frame)
    return block(isObsolete ? 2 : 6, body, order)
  }

  static func simplePacket(_ frame: ByteBuffer, _ order: Endianness) -> ByteBuffer {
    var body = ByteBuffer()
    body.writeInteger(UInt32(frame.readableBytes), endianness: order)
    body.writeImmutableBuffer(frame)
    return block(3, body, order)
  }

  /// A pcapng file of frames, a millisecond apart from 1000 s on.
  static func pcapng(_ frames: [ByteBuffer], _ order: Endianness = .little) -> ByteBuffer {
    var file = section(order)
    file.writeImmutableBuffer(interface(order))
    for (index, frame) in frames.enumerated() {
      file.writeImmutableBuffer(
        packet(frame, ticks: 1_000_000_000 + UInt64(index) * 1000, order))
    }
    return file
  }

  /// An rtpdump file of packets, ten milliseconds apart from 1000 s on; `nil` media means RTCP.
  static func rtpdump(_ packets: [(bytes: ByteBuffer, isControl: Bool)]) -> ByteBuffer {
    var file = ByteBuffer(string: "#!rtpplay1.0 192.0.2.1/5004\n")
    file.writeMultipleIntegers(
      UInt32(1000), UInt32(0), UInt32(0xC000_0201), UInt16(5004), UInt16(0))
    for (index, packet) in packets.enumerated() {
      let count = packet.bytes.readableBytes
      file.writeMultipleIntegers(
        UInt16(count + 8), packet.isControl ? 0 : UInt16(count), UInt32(index * 10))
      file.writeImmutableBuffer(packet.bytes)
    }
    return file
  }

  /// Length-prefixed packets.
  static func framed(_ packets: [ByteBuffer], _ framing: PacketFraming) -> ByteBuffer {
    packets.reduce(into: ByteBuffer()) { file, packet in
      if framing == .rtp4 {
        file.writeInteger(UInt32(packet.readableBytes))
      } else {
        file.writeInteger(UInt16(packet.readableBytes))
      }
      file.writeImmutableBuffer(packet)
    }
  }
}

/// Headers of links, IP, UDP and TCP around payloads.
enum FrameBytes {
  static let source: [UInt8] = [192, 0, 2, 1]
  static let destination: [UInt8] = [192, 0, 2, 2]
  static let source6: [UInt8] = [0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]
  static let destination6: [UInt8] = [0x20, 1, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [2]

  static func udp(_ payload: ByteBuffer, from: UInt16 = 6000, to: UInt16 = 5004) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(from, to, UInt16(payload.readableBytes + 8), UInt16(0))
    bytes.writeImmutableBuffer(payload)
    return bytes
  }

  static func tcp(
    _ payload: ByteBuffer, sequence: UInt32, isSynchronizing: Bool = false, from: UInt16 = 554,
    to: UInt16 = 40_000
  ) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(from, to, sequence, UInt32(0))
    // Ten bytes of options and two of padding.
    bytes.writeMultipleIntegers(UInt8(8 << 4), UInt8(isSynchronizing ? 2 : 16), UInt16(1000))
    bytes.writeRepeatingByte(0, count: 16)
    bytes.writeImmutableBuffer(payload)
    return bytes
  }

  static func ipv4(
    _ payload: ByteBuffer, number: UInt8 = 17, identification: UInt16 = 1, offset: Int = 0,
    isMore: Bool = false, isReversed: Bool = false
  ) -> ByteBuffer {
    var bytes = ByteBuffer()
    // One word of options.
    bytes.writeMultipleIntegers(
      UInt16(0x4600), UInt16(payload.readableBytes + 24), identification,
      UInt16(offset / 8) | (isMore ? 0x2000 : 0), UInt8(64), number, UInt16(0))
    bytes.writeBytes(isReversed ? destination : source)
    bytes.writeBytes(isReversed ? source : destination)
    bytes.writeInteger(UInt32(0x0101_0100))
    bytes.writeImmutableBuffer(payload)
    return bytes
  }

  static func ipv6(
    _ payload: ByteBuffer, next: UInt8 = 17, extensions: [UInt8] = []
  ) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.writeMultipleIntegers(
      UInt32(0x6000_0000), UInt16(payload.readableBytes + extensions.count), next, UInt8(64))
    bytes.writeBytes(source6)
    bytes.writeBytes(destination6)
    bytes.writeBytes(extensions)
    bytes.writeImmutableBuffer(payload)
    return bytes
  }

  static func ethernet(
    _ packet: ByteBuffer, type: UInt16 = 0x0800, tags: [UInt16] = [], padding: Int = 0
  ) -> ByteBuffer {
    var bytes = ByteBuffer(repeating: 1, count: 12)
    for tag in tags { bytes.writeMultipleIntegers(tag, UInt16(7)) }
    bytes.writeInteger(type)
    bytes.writeImmutableBuffer(packet)
    bytes.writeRepeatingByte(0xEE, count: padding)
    return bytes
  }
}

extension ByteBuffer {
  /// The same bytes at an offset, so that a slice does not begin at 0.
  var shifted: ByteBuffer {
    var bytes = ByteBuffer(repeating: 0xAA, count: 7)
    bytes.writeImmutableBuffer(self)
    bytes.moveReaderIndex(forwardBy: 7)
    return bytes
  }

  /// The bytes in reads of `length`.
  func cut(into length: Int) -> [ByteBuffer] {
    var rest = self
    var reads: [ByteBuffer] = []
    while let read = rest.readSlice(length: Swift.min(length, rest.readableBytes)),
      read.readableBytes > 0
    {
      reads.append(read)
    }
    return reads
  }
}
