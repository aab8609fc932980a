import NIOCore
import RTPSend

/// Reads payloads of AAC by the tables of RFC 3640, RFC 6416 and ISO/IEC 14496-3, written apart
/// from the packetizers; it expects every packet, in sending order.
enum ReferenceSoundDepacketizer {
  struct Frame: Equatable {
    var bytes: [UInt8]
    var ticks: Int64
  }

  struct Malformed: Error {
    var payload: [UInt8]
  }

  /// The bits of a payload, one by one.
  private struct Bits {
    let bytes: [UInt8]
    var place = 0

    var left: Int { bytes.count * 8 - place }

    mutating func take(_ count: Int) throws -> Int {
      guard count <= left else { throw Malformed(payload: bytes) }
      var value = 0
      for _ in 0..<count {
        value = value * 2 + Int(bytes[place / 8] >> UInt8(7 - place % 8)) % 2
        place += 1
      }
      return value
    }
  }

  /// RFC 3640 §3.2: frames in the order of their times, which count on by `frameLength` from the
  /// packet's.
  static func generic(
    _ payloads: [RTPPayload], sizeBits: Int, indexBits: Int, frameLength: Int
  ) throws -> [Frame] {
    var frames: [Frame] = []
    var fragment: (frame: Frame, size: Int)?
    for payload in payloads {
      let bytes = Array(payload.bytes.readableBytesView)
      let malformed = Malformed(payload: bytes)
      var bits = Bits(bytes: bytes)
      let headerBits = try bits.take(16)
      var headers: [(size: Int, index: Int)] = []
      while bits.place < 16 + headerBits {
        headers.append((try bits.take(sizeBits), try bits.take(indexBits)))
      }
      guard bits.place == 16 + headerBits, headers.first?.index == 0 else { throw malformed }
      var rest = bytes[((bits.place + 7) / 8)...]
      if headers.count == 1, rest.count < headers[0].size || fragment != nil {
        var (frame, size) = fragment ?? (Frame(bytes: [], ticks: payload.ticks), headers[0].size)
        guard size == headers[0].size, frame.ticks == payload.ticks else { throw malformed }
        frame.bytes += rest
        let isWhole = frame.bytes.count == size
        guard isWhole == payload.marker, frame.bytes.count <= size else { throw malformed }
        fragment = isWhole ? nil : (frame, size)
        if isWhole { frames.append(frame) }
        continue
      }
      guard fragment == nil, payload.marker else { throw malformed }
      var ticks = payload.ticks
      for (place, header) in headers.enumerated() {
        guard rest.count >= header.size else { throw malformed }
        if place > 0 { ticks += Int64((header.index + 1) * frameLength) }
        frames.append(Frame(bytes: Array(rest.prefix(header.size)), ticks: ticks))
        rest = rest.dropFirst(header.size)
      }
      guard rest.isEmpty else { throw malformed }
    }
    return frames.sorted { $0.ticks < $1.ticks }
  }

  /// RFC 6416 §6: the frames of AudioMuxElements, with the time of their element.
  ///
  /// `configuration` is the StreamMuxConfig of the session description, where it is not in band.
  static func mux(_ payloads: [RTPPayload], configuration: [UInt8]?) throws -> [Frame] {
    var frames: [Frame] = []
    var element: [UInt8] = []
    var subframes: Int?
    if let configuration {
      var bits = Bits(bytes: configuration)
      subframes = try streamMuxConfig(&bits)
      // Only the zero bits up to the end of the byte follow.
      guard bits.left < 8 else { throw Malformed(payload: configuration) }
    }
    for payload in payloads {
      element += payload.bytes.readableBytesView
      guard payload.marker else { continue }
      var bits = Bits(bytes: element)
      if configuration == nil, try bits.take(1) == 0 { subframes = try streamMuxConfig(&bits) }
      guard let subframes else { throw Malformed(payload: element) }
      for _ in 0..<subframes {
        var length = 0
        var part = 255
        while part == 255 {
          part = try bits.take(8)
          length += part
        }
        let bytes = try (0..<length).map { _ in UInt8(try bits.take(8)) }
        frames.append(Frame(bytes: bytes, ticks: payload.ticks))
      }
      guard bits.left < 8 else { throw Malformed(payload: element) }
      element = []
    }
    guard element.isEmpty else { throw Malformed(payload: element) }
    return frames
  }

  /// ISO/IEC 14496-3 §1.7.3.2; returns the number of frames in an element.
  private static func streamMuxConfig(_ bits: inout Bits) throws -> Int {
    let malformed = Malformed(payload: bits.bytes)
    guard try bits.take(1) == 0, try bits.take(1) == 1 else { throw malformed }
    let subframes = try bits.take(6) + 1
    guard try bits.take(4) == 0, try bits.take(3) == 0 else { throw malformed }
    // AAC LC at a numbered rate; GASpecificConfig without anything.
    guard try bits.take(5) == 2, try bits.take(4) < 13, try bits.take(4) > 0,
      try bits.take(3) == 0
    else { throw malformed }
    guard try bits.take(3) == 0 else { throw malformed }
    _ = try bits.take(8)
    guard try bits.take(1) == 0, try bits.take(1) == 0 else { throw malformed }
    return subframes
  }
}
