import NIOCore
import RTPSend

/// Reads payloads by the tables of RFC 6184 and RFC 7798, written apart from the packetizers.
///
/// It expects every packet, in sending order, and fails on anything a receiver would have to
/// tolerate.
struct ReferenceDepacketizer {
  struct Unit: Equatable {
    var bytes: [UInt8]
    var ticks: Int64
    /// `nil` in modes without decoding order numbers.
    var number: UInt16?
  }

  enum Malformed: Error { case payload([UInt8]) }

  let codec: Codec
  /// H.264 packetization-mode 2, H.265 with DONL.
  let isNumbered: Bool
  private(set) var units: [Unit] = []
  private(set) var types: Set<UInt8> = []
  private var fragment: Unit?

  init(codec: Codec, isNumbered: Bool = false) {
    self.codec = codec
    self.isNumbered = isNumbered
  }

  mutating func read(_ payload: RTPPayload) throws {
    var bytes = payload.bytes
    switch codec {
    case .h264: try readH264(&bytes, payload.ticks)
    case .h265: try readH265(&bytes, payload.ticks)
    }
    guard bytes.readableBytes == 0 else { throw malformed(payload.bytes) }
  }

  /// The units in decoding order, without their numbers.
  var decoded: [[UInt8]] {
    guard let first = units.first?.number else { return units.map(\.bytes) }
    // Numbers of a short stream lie within half the range of the first one.
    return units.sorted {
      Int16(truncatingIfNeeded: Int($0.number ?? 0) - Int(first))
        < Int16(truncatingIfNeeded: Int($1.number ?? 0) - Int(first))
    }.map(\.bytes)
  }

  private mutating func readH264(_ bytes: inout ByteBuffer, _ ticks: Int64) throws {
    let whole = bytes
    guard let header = bytes.readInteger(as: UInt8.self) else { throw malformed(whole) }
    let type = header & 0x1F
    types.insert(type)
    guard fragment == nil || type == 28 else { throw malformed(whole) }
    switch type {
    case 1...23 where !isNumbered:
      append([header] + bytes.readAll(), ticks, nil)
    case 24 where !isNumbered:
      while bytes.readableBytes > 0 { append(try prefixed(&bytes), ticks, nil) }
    case 25 where isNumbered:
      guard var number = bytes.readInteger(as: UInt16.self) else { throw malformed(whole) }
      while bytes.readableBytes > 0 {
        append(try prefixed(&bytes), ticks, number)
        number &+= 1
      }
    case 26 where isNumbered, 27 where isNumbered:
      guard let base = bytes.readInteger(as: UInt16.self) else { throw malformed(whole) }
      while bytes.readableBytes > 0 {
        guard var rest = bytes.readLengthPrefixedSlice(extra: type == 26 ? 3 : 4),
          let difference = rest.readInteger(as: UInt8.self)
        else { throw malformed(whole) }
        let high = type == 27 ? rest.readInteger(as: UInt8.self) ?? 0 : 0
        let low = rest.readInteger(as: UInt16.self) ?? 0
        append(
          rest.readAll(), ticks + Int64(high) << 16 + Int64(low), base &+ UInt16(difference))
      }
    case 28, 29:
      guard let flags = bytes.readInteger(as: UInt8.self) else { throw malformed(whole) }
      let number = type == 29 ? bytes.readInteger(as: UInt16.self) : nil
      guard !isNumbered || (type == 29) == (flags & 0x80 != 0) else { throw malformed(whole) }
      try join([header & 0xE0 | flags & 0x1F], flags, bytes.readAll(), ticks, number, whole)
    default: throw malformed(whole)
    }
  }

  private mutating func readH265(_ bytes: inout ByteBuffer, _ ticks: Int64) throws {
    let whole = bytes
    guard let header = bytes.readInteger(as: UInt16.self) else { throw malformed(whole) }
    let type = UInt8(header >> 9 & 0x3F)
    types.insert(type)
    if type == 50 {
      // A, cType, PHSsize, F0 to F2, Y; then the extension, and the payload without its header.
      guard let fields = bytes.readInteger(as: UInt16.self), fields & 0xF == 8,
        let length = bytes.readSlice(length: Int(fields >> 4 & 0x1F))?.readableBytes, length == 3,
        fields >> 9 & 0x3F != 50
      else { throw malformed(whole) }
      var inner = ByteBuffer(integer: fields & 0xFE00 | header & 0x1FF)
      inner.writeBuffer(&bytes)
      let outer = types
      try readH265(&inner, ticks)
      types = outer
      guard inner.readableBytes == 0 else { throw malformed(whole) }
      return
    }
    guard fragment == nil || type == 49 else { throw malformed(whole) }
    let headerBytes = [UInt8(header >> 8), UInt8(header & 0xFF)]
    switch type {
    case 0...47:
      let number = isNumbered ? bytes.readInteger(as: UInt16.self) : nil
      append(headerBytes + bytes.readAll(), ticks, number)
    case 48:
      var number = isNumbered ? bytes.readInteger(as: UInt16.self) : nil
      append(try prefixed(&bytes), ticks, number)
      repeat {
        if let last = number, let difference = bytes.readInteger(as: UInt8.self) {
          number = last &+ UInt16(difference) &+ 1
        }
        append(try prefixed(&bytes), ticks, number)
      } while bytes.readableBytes > 0
    case 49:
      guard let flags = bytes.readInteger(as: UInt8.self) else { throw malformed(whole) }
      let number = isNumbered && flags & 0x80 != 0 ? bytes.readInteger(as: UInt16.self) : nil
      let restored = UInt16(flags & 0x3F) << 9 | header & 0x81FF
      try join(
        [UInt8(restored >> 8), UInt8(restored & 0xFF)], flags, bytes.readAll(), ticks, number, whole
      )
    default: throw malformed(whole)
    }
  }

  private mutating func join(
    _ header: [UInt8], _ flags: UInt8, _ body: [UInt8], _ ticks: Int64, _ number: UInt16?,
    _ whole: ByteBuffer
  ) throws {
    let (isStart, isEnd) = (flags & 0x80 != 0, flags & 0x40 != 0)
    guard !body.isEmpty, isStart == (fragment == nil), !(isStart && isEnd) else {
      throw malformed(whole)
    }
    var unit = fragment ?? Unit(bytes: header, ticks: ticks, number: number)
    guard unit.ticks == ticks else { throw malformed(whole) }
    unit.bytes += body
    fragment = isEnd ? nil : unit
    if isEnd { units.append(unit) }
  }

  private mutating func append(_ bytes: [UInt8], _ ticks: Int64, _ number: UInt16?) {
    units.append(Unit(bytes: bytes, ticks: ticks, number: number))
  }

  private func prefixed(_ bytes: inout ByteBuffer) throws -> [UInt8] {
    guard var slice = bytes.readLengthPrefixedSlice(extra: 0), slice.readableBytes > 0 else {
      throw malformed(bytes)
    }
    return slice.readAll()
  }

  private func malformed(_ bytes: ByteBuffer) -> Malformed {
    .payload(Array(bytes.readableBytesView))
  }
}

extension ByteBuffer {
  mutating func readAll() -> [UInt8] { readBytes(length: readableBytes) ?? [] }

  /// A 16-bit length and what follows, with `extra` bytes that the length does not count.
  fileprivate mutating func readLengthPrefixedSlice(extra: Int) -> ByteBuffer? {
    guard let length = readInteger(as: UInt16.self) else { return nil }
    return readSlice(length: Int(length) + extra)
  }
}
