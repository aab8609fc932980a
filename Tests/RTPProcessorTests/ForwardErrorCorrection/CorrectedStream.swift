import NIOCore
import RTPProcessor
import RTPWire
import TestSupport

/// A sender that protects its packets, written from RFC 5109 §8 and slow, for tests alone.
struct CorrectedStream {
  static let mediaType: UInt8 = 96
  static let correctionType: UInt8 = 97

  /// One protection level: which packets, and how many bytes of them.
  struct Level {
    var packets: [ByteBuffer]
    var length: Int
  }

  /// Everything in the order of sending.
  private(set) var packets: [ByteBuffer] = []
  private(set) var sequence: UInt16
  private(set) var identity: UInt64 = 0
  /// The number of the next packet of the source that corrects alone.
  private var repairSequence: UInt16 = 7
  private var noise: SeededGenerator

  init(seed: UInt64, sequence: UInt16 = 65_500) {
    noise = SeededGenerator(seed: seed)
    self.sequence = sequence
  }

  /// Sends `count` media packets, some with contributing sources, an extension or padding.
  mutating func sendMedia(_ count: Int, timestamp: UInt32) -> [ByteBuffer] {
    let sent = (1...count).map { media(timestamp: timestamp, isLast: $0 == count) }
    packets += sent
    return sent
  }

  /// Sends a correction packet with the levels of `levels`.
  mutating func sendCorrection(_ levels: [Level], timestamp: UInt32, long: Bool? = nil) {
    var packet = ByteBuffer()
    packet.writeMultipleIntegers(
      UInt8(0x80), Self.correctionType, sequence, timestamp, UInt32(0xA))
    packet.writeImmutableBuffer(Self.payload(levels, long: long))
    sequence &+= 1
    packets.append(packet)
  }

  /// Sends a FlexFEC packet (RFC 8627 §4.2, or the draft) that protects `protected` by a mask, or
  /// by what `matrix` says.
  mutating func sendFlexFEC(
    _ protected: [ByteBuffer], isDraft: Bool, matrix: (columns: UInt8, rows: UInt8)? = nil
  ) {
    var packet = ByteBuffer()
    packet.writeMultipleIntegers(
      UInt8(isDraft ? 0x80 : 0x81), Self.correctionType, repairSequence,
      UInt32(truncatingIfNeeded: noise.next()), UInt32(0xB))
    if !isDraft { packet.writeInteger(UInt32(0xA)) }
    var flags: UInt16 = 0
    var timestamp: UInt32 = 0
    var length: UInt16 = 0
    var parity = [UInt8](repeating: 0, count: protected.longest)
    for media in protected {
      flags ^= media.getInteger(at: media.readerIndex) ?? 0
      timestamp ^= media.getInteger(at: media.readerIndex + 4) ?? 0
      length ^= UInt16(media.readableBytes - 12)
      for (place, byte) in zip(parity.indices, media.readableBytesView.dropFirst(12)) {
        parity[place] ^= byte
      }
    }
    packet.writeMultipleIntegers(
      flags & 0x3FFF | (matrix == nil ? 0 : 0x4000), length, timestamp)
    if isDraft { packet.writeMultipleIntegers(UInt32(0x0100_0000), UInt32(0xA)) }
    let base = protected.first.map(Self.number) ?? 0
    packet.writeInteger(base)
    if let matrix {
      packet.writeMultipleIntegers(matrix.columns, matrix.rows)
    } else {
      let places = protected.map { Int(Self.number($0) &- base) }
      let last = places.max() ?? 0
      func bits(_ range: Range<Int>) -> UInt64 {
        places.filter(range.contains).reduce(0) { $0 | 1 << UInt64(range.upperBound - 1 - $1) }
      }
      let ends: UInt64 = isDraft ? 1 : 0
      packet.writeInteger(UInt16(bits(0..<15) | (last < 15 ? ends : 1 - ends) << 15))
      if last >= 15 {
        packet.writeInteger(UInt32(bits(15..<46) | (last < 46 ? ends : 1 - ends) << 31))
      }
      if last >= 46 {
        packet.writeInteger(isDraft ? bits(46..<109) | 1 << 63 : bits(46..<110))
      }
    }
    packet.writeBytes(parity)
    repairSequence &+= 1
    packets.append(packet)
  }

  private mutating func media(timestamp: UInt32, isLast: Bool) -> ByteBuffer {
    var packet = ByteBuffer()
    let sources = noise.integer(below: 4) == 0 ? noise.integer(below: 4) : 0
    let isExtended = noise.integer(below: 4) == 0
    let padding = noise.integer(below: 4) == 0 ? 1 + noise.integer(below: 9) : 0
    let marker: UInt8 = isLast ? 0x80 : 0
    packet.writeMultipleIntegers(
      0x80 | (padding > 0 ? 0x20 : 0) | (isExtended ? 0x10 : 0) | UInt8(sources),
      Self.mediaType | marker, sequence, timestamp, UInt32(0xA))
    for _ in 0..<sources { packet.writeInteger(UInt32(truncatingIfNeeded: noise.next())) }
    if isExtended { packet.writeMultipleIntegers(UInt16(0xBEDE), UInt16(1), UInt32(0)) }
    packet.writeInteger(identity)
    for _ in 0..<noise.integer(below: 40) { packet.writeInteger(noise.next()) }
    for _ in 0..<noise.integer(below: 8) {
      packet.writeInteger(UInt8(truncatingIfNeeded: noise.next()))
    }
    if padding > 0 {
      packet.writeRepeatingByte(0, count: padding - 1)
      packet.writeInteger(UInt8(padding))
    }
    sequence &+= 1
    identity += 1
    return packet
  }

  /// The payload of a correction packet (RFC 5109 §7.3, §7.4).
  static func payload(_ levels: [Level], long: Bool? = nil) -> ByteBuffer {
    let protected = levels.first?.packets ?? []
    let numbers = levels.flatMap { $0.packets.map(number) }
    // The lowest in the circle: the one from which all others lie ahead.
    let base = numbers.first { first in numbers.allSatisfy { $0 &- first < 0x8000 } } ?? 0
    let isLong = long ?? numbers.contains { $0 &- base > 15 }
    var flags: UInt16 = 0
    var timestamp: UInt32 = 0
    var length: UInt16 = 0
    for packet in protected {
      flags ^= packet.getInteger(at: packet.readerIndex) ?? 0
      timestamp ^= packet.getInteger(at: packet.readerIndex + 4) ?? 0
      length ^= UInt16(packet.readableBytes - 12)
    }
    var payload = ByteBuffer()
    payload.writeMultipleIntegers(
      flags & 0x3FFF | (isLong ? 0x4000 : 0), base, timestamp, length)
    var offset = 12
    for level in levels {
      var mask: UInt64 = 0
      var parity = [UInt8](repeating: 0, count: level.length)
      for packet in level.packets {
        mask |= 1 << (47 - UInt64(number(packet) &- base))
        let run = packet.readableBytesView.dropFirst(offset).prefix(level.length)
        for (place, byte) in zip(parity.indices, run) { parity[place] ^= byte }
      }
      payload.writeMultipleIntegers(UInt16(level.length), UInt16(mask >> 32))
      if isLong { payload.writeInteger(UInt32(truncatingIfNeeded: mask)) }
      payload.writeBytes(parity)
      offset += level.length
    }
    return payload
  }

  static func number(_ packet: ByteBuffer) -> UInt16 {
    packet.getInteger(at: packet.readerIndex + 2) ?? 0
  }

  static func isMedia(_ packet: ByteBuffer) -> Bool {
    (packet.getInteger(at: packet.readerIndex + 1) ?? UInt8(0)) & 0x7F == mediaType
  }
}

extension [ByteBuffer] {
  /// The longest packet's bytes after the fixed header.
  var longest: Int { map { $0.readableBytes - 12 }.max() ?? 0 }
}

/// A session with `packets` received, each a millisecond after the one before.
func played(
  _ packets: [ByteBuffer], format: CorrectionFormat = .ulpfec,
  redundancyPayloadType: UInt8? = nil, allowsRepetition: Bool = false
) -> VirtualSession {
  var configuration = RTPProcessor.Configuration()
  configuration.payloadType = CorrectedStream.mediaType
  configuration.correctionFormats = [CorrectedStream.correctionType: format]
  configuration.redundancyPayloadType = redundancyPayloadType
  var session = VirtualSession(configuration: configuration, isEntryPoint: { _ in true })
  session.allowsRepetition = allowsRepetition
  for packet in packets {
    session.receive(packet)
    session.run(for: .milliseconds(1))
  }
  session.run(for: .seconds(1))
  session.finish()
  return session
}
