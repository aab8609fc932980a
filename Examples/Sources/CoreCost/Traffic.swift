import NIOCore
import RTPWire

/// Packets in memory, as a carrier hands them over: a picture is in one buffer, and each of its
/// packets is a slice of that.
public struct Traffic: Sendable {
  public enum Codec: String, Sendable, CaseIterable { case h264, h265 }

  public static let packetsPerPicture = 10
  private static let payloadSize = 1200
  private static let picturesPerGroup = 30
  private static let nanosecondsPerPicture: Int64 = 33_333_333
  private static let ticksPerPicture: UInt32 = 3000

  /// A picture's packets, in the order in which they come.
  public private(set) var pictures: [[Datagram]] = []

  /// - Parameters:
  ///   - codec: how the payloads are formed: each picture is a NAL unit in fragments.
  ///   - count: of the pictures.
  ///   - isReordered: whether every third packet of a picture overtakes the one before it.
  public init(_ codec: Codec, pictures count: Int, isReordered: Bool) {
    for number in 0..<count {
      var packets = Self.packets(of: codec, number)
      if isReordered {
        for place in stride(from: 2, to: packets.count, by: 3) {
          packets.swapAt(place - 1, place)
        }
      }
      pictures.append(packets)
    }
  }

  private static func packets(of codec: Codec, _ number: Int) -> [Datagram] {
    let isKey = number % picturesPerGroup == 0
    var payloads: [[UInt8]] = []
    let fragments = packetsPerPicture - (isKey ? 1 : 0)
    if isKey { payloads.append(parameterSets(of: codec)) }
    for fragment in 0..<fragments {
      let isFirst = fragment == 0
      let isLast = fragment == fragments - 1
      let body = isFirst ? slice(of: codec, isKey: isKey) : []
      payloads.append(
        head(of: codec, isKey: isKey, isFirst: isFirst, isLast: isLast) + body
          + [UInt8](repeating: 0xA5, count: payloadSize - body.count))
    }
    return datagrams(payloads, number)
  }

  private static func datagrams(_ payloads: [[UInt8]], _ number: Int) -> [Datagram] {
    var slab = ByteBuffer()
    var places: [(start: Int, length: Int)] = []
    for (index, payload) in payloads.enumerated() {
      let start = slab.writerIndex
      let sequence = UInt16(truncatingIfNeeded: number * packetsPerPicture + index)
      slab.writeMultipleIntegers(
        UInt8(0x80), UInt8(96) | (index == payloads.count - 1 ? 0x80 : 0), sequence,
        UInt32(truncatingIfNeeded: number) &* ticksPerPicture, UInt32(0x1234_5678))
      slab.writeBytes(payload)
      places.append((start, slab.writerIndex - start))
    }
    let arrival = Instant(nanoseconds: Int64(number + 1) * nanosecondsPerPicture)
    return places.compactMap { place in
      slab.getSlice(at: place.start, length: place.length).map {
        Datagram(bytes: $0, arrival: arrival)
      }
    }
  }

  /// Aggregated in one packet (RFC 6184 §5.7.1, RFC 7798 §4.4.2).
  private static func parameterSets(of codec: Codec) -> [UInt8] {
    let sets: [[UInt8]] =
      switch codec {
      case .h264:
        [
          [
            0x67, 0x4D, 0x40, 0x1E, 0x9A, 0x64, 0x05, 0x01, 0xEF, 0xF3, 0x50, 0x10, 0x10, 0x14,
            0x00, 0x00, 0x0F, 0xA0, 0x00, 0x01, 0x38, 0x80, 0x10,
          ],
          [0x68, 0xEE, 0x3C, 0x80],
        ]
      case .h265:
        [
          [
            0x40, 0x01, 0x0C, 0x01, 0xFF, 0xFF, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0xB0, 0x00,
            0x00, 0x03, 0x00, 0x00, 0x03, 0x00, 0x5A, 0xAC, 0x0C, 0x00, 0x00, 0x03, 0x00, 0x04,
            0x00, 0x00, 0x03, 0x00, 0x32, 0xA8,
          ],
          [
            0x42, 0x01, 0x01, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0xB0, 0x00, 0x00, 0x03, 0x00,
            0x00, 0x03, 0x00, 0x5A, 0xA0, 0x05, 0x82, 0x01, 0xE1, 0x63, 0x6B, 0x92, 0x45, 0x2F,
            0xCD, 0xC1, 0x41, 0x81, 0x41, 0x00, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x03, 0x00,
            0x0C, 0xA1,
          ],
          [0x44, 0x01, 0xC0, 0xF2, 0xC6, 0x8D, 0x03, 0xB3, 0x40],
        ]
      }
    let header: [UInt8] = codec == .h264 ? [24] : [48 << 1, 1]
    return sets.reduce(header) { $0 + [0, UInt8($1.count)] + $1 }
  }

  /// What is before a fragment (RFC 6184 §5.8, RFC 7798 §4.4.3).
  private static func head(
    of codec: Codec, isKey: Bool, isFirst: Bool, isLast: Bool
  ) -> [UInt8] {
    let flags: UInt8 = (isFirst ? 0x80 : 0) | (isLast ? 0x40 : 0)
    return switch codec {
    case .h264: [0x7C, flags | (isKey ? 5 : 1)]
    case .h265: [49 << 1, 1, flags | (isKey ? 19 : 1)]
    }
  }

  /// The beginning of a slice, header included.
  private static func slice(of codec: Codec, isKey: Bool) -> [UInt8] {
    switch (codec, isKey) {
    case (.h264, true): [0x88, 0x84, 0x00, 0x21, 0xFF, 0xD3, 0xA1, 0xB2]
    case (.h264, false): [0x9A, 0x24, 0x6C, 0x41, 0x4F, 0xFE, 0xD6, 0x8C]
    case (.h265, true): [0xAF, 0x08, 0x42, 0x1F, 0xFD, 0x3A, 0x1B, 0x2C]
    case (.h265, false): [0xD0, 0x24, 0x6C, 0x41, 0x4F, 0xFE, 0xD6, 0x8C]
    }
  }
}
