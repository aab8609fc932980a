import Bitstream
import Defragment
import Foundation

/// A minimal sending end of both payload formats: what it makes must come back.
struct Packetizer {
  struct Payload {
    var bytes: [UInt8]
    /// The last of its NAL units.
    var isLast: Bool
  }

  let codec: VideoCodec
  /// With decoding order numbers in H.265.
  var isNumbered = false

  private var isH264: Bool { codec == H264.codec }
  private var headerLength: Int { isH264 ? 1 : 2 }

  /// One NAL unit as it is.
  func single(_ unit: [UInt8], number: UInt16 = 0) -> [UInt8] {
    isNumbered ? unit.prefix(2) + big(number) + unit.dropFirst(2) : unit
  }

  /// Fragments with at most `maximum` bytes of `unit` in each, numbered as FU-B when asked to.
  func fragments(of unit: [UInt8], maximum: Int, number: UInt16? = nil) -> [Payload] {
    let body = Array(unit.dropFirst(headerLength))
    var payloads: [Payload] = []
    var from = 0
    repeat {
      let to = min(from + max(maximum, 1), body.count)
      let (isFirst, isLast) = (from == 0, to == body.count)
      let flags: UInt8 = (isFirst ? 0x80 : 0) | (isLast ? 0x40 : 0)
      var bytes: [UInt8]
      if isH264 {
        let structure: UInt8 = isFirst && number != nil ? 29 : 28
        bytes = [unit[0] & 0xE0 | structure, flags | unit[0] & 0x1F]
      } else {
        bytes = [unit[0] & 0x81 | 49 << 1, unit[1], flags | unit[0] >> 1 & 0x3F]
      }
      if isFirst, let number { bytes += big(number) }
      payloads.append(Payload(bytes: bytes + body[from..<to], isLast: isLast))
      from = to
    } while from < body.count
    return payloads
  }

  /// STAP-A or AP, or their numbered forms with `number` as the first decoding order number.
  func aggregate(_ units: [[UInt8]], number: UInt16? = nil) -> [UInt8] {
    var bytes: [UInt8]
    if isH264 {
      let importance = units.map { $0[0] & 0x60 }.max() ?? 0
      bytes = [importance | (number == nil ? 24 : 25)]
    } else {
      bytes = [48 << 1, 1]
    }
    if let number { bytes += big(number) }
    for (index, unit) in units.enumerated() {
      if !isH264, number != nil, index > 0 { bytes.append(0) }
      bytes += big(UInt16(unit.count)) + unit
    }
    return bytes
  }

  /// MTAP16 or MTAP24: each unit with its number's distance from `base` and its time's offset.
  func aggregate(
    _ units: [(unit: [UInt8], difference: UInt8, offset: UInt32)], base: UInt16, offsetLength: Int
  ) -> [UInt8] {
    var bytes: [UInt8] = [offsetLength == 2 ? 26 : 27] + big(base)
    for (unit, difference, offset) in units {
      bytes += big(UInt16(unit.count)) + [difference]
      if offsetLength == 3 { bytes.append(UInt8(offset >> 16 & 0xFF)) }
      bytes += big(UInt16(offset & 0xFFFF)) + unit
    }
    return bytes
  }

  private func big(_ number: UInt16) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }
}

func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
