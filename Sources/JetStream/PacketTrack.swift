import Bitstream
import NIOCore
import RTPWire

/// One medium as RTP packets, and the numbers that they have.
///
/// What was lost on the way from the camera is missing here too: its numbers are left out, so that
/// whoever receives the packets sees the same losses at the same places.
struct PacketTrack {
  let payloadType: UInt8
  let source: UInt32
  private var sequence: UInt16

  /// Bytes of an RTP header without anything else (RFC 3550 §5.1).
  private static let headerLength = 12
  /// More numbers than this are not left out at once: a larger jump would be a restart (A.1).
  private static let largestGap = 1000

  init(payloadType: UInt8, using numbers: inout some RandomNumberGenerator) {
    self.payloadType = payloadType
    source = UInt32.random(in: 1...UInt32.max, using: &numbers)
    sequence = UInt16.random(in: .min ... .max, using: &numbers)
  }

  /// Leaves out `count` numbers, one at least.
  mutating func skip(_ count: Int?) {
    sequence &+= UInt16(clamping: min(max(count ?? 1, 1), Self.largestGap))
  }

  /// Adds a packet to `pieces`.
  mutating func add(
    _ head: [UInt8], _ payload: ByteBuffer, marker: Bool, time: UInt32,
    to pieces: inout MessagePieces
  ) {
    let length = Self.headerLength + head.count + payload.readableBytes
    let (number, type) = (sequence, payloadType | (marker ? 0x80 : 0))
    sequence &+= 1
    pieces.append(length) { [source] bytes in
      bytes.writeMultipleIntegers(UInt8(0x80), type, number, time, source)
      bytes.writeBytes(head)
      bytes.writeImmutableBuffer(payload)
    }
  }

  /// Adds a NAL unit: whole if it fits, in fragments otherwise (RFC 6184 §5.8, RFC 7798 §4.4.3).
  ///
  /// One that is cut goes in fragments without a last one, whose number is left out.
  mutating func add(
    unit: ByteBuffer, isWhole: Bool, of video: PublishedVideo, marker: Bool, time: UInt32,
    to pieces: inout MessagePieces
  ) {
    let most = pieces.longestPacket - Self.headerLength
    if isWhole, unit.readableBytes <= most {
      return add([], unit, marker: marker, time: time, to: &pieces)
    }
    var rest = unit
    guard rest.readSlice(length: video.packetization.headerLength) != nil else { return skip(1) }
    let head = NALUnitHead(of: unit)
    let indicator = video.packetization.fragmentIndicator(head)
    let type = video.codec.type(of: head)
    let room = most - indicator.count - 1
    var isFirst = true
    repeat {
      let part = rest.readSlice(length: min(room, rest.readableBytes)) ?? ByteBuffer()
      let isLast = rest.readableBytes == 0
      let ends = isLast && isWhole
      let flags: UInt8 = (isFirst ? 0x80 : 0) | (ends ? 0x40 : 0)
      add(indicator + [flags | type], part, marker: marker && ends, time: time, to: &pieces)
      isFirst = false
    } while rest.readableBytes > 0
    if !isWhole { skip(1) }
  }

  /// Adds a sender report (RFC 3550 §6.4.1) with a name for the session (§6.5.1).
  func addReport(
    _ wallTime: WallClockTime, time: UInt32, name: String, to pieces: inout MessagePieces
  ) {
    let text = Array(name.utf8.prefix(200))
    // The chunk ends with a zero, and then at a whole word.
    let chunk = (4 + 2 + text.count) / 4 * 4 + 4
    pieces.append(28 + 4 + chunk) { bytes in
      bytes.writeRTCPPacket(type: .senderReport, count: 0) {
        $0.writeMultipleIntegers(source, wallTime.ntpTime, time, UInt32(0), UInt32(0))
      }
      bytes.writeRTCPPacket(type: .sourceDescription, count: 1) {
        $0.writeMultipleIntegers(source, UInt8(1), UInt8(clamping: text.count))
        $0.writeBytes(text)
        $0.writeRepeatingByte(0, count: chunk - 6 - text.count)
      }
    }
  }
}

/// RTP and RTCP packets, each after its length (RFC 4571), in as few messages as hold them.
struct MessagePieces {
  /// Bytes of a message; no packet is cut.
  let limit: Int
  private(set) var pieces: [ByteBuffer] = []

  /// A piece of a key picture is no larger, so that no message keeps others waiting for long.
  static let mostBytes = 256 << 10
  /// Bytes of the largest packet, so that many fit well; a length of 2 bytes can say 65,535.
  private static let mostOfPacket = 32 << 10

  init(limit: Int) { self.limit = min(max(limit, 512), Self.mostBytes) }

  var longestPacket: Int { min(limit - 2, Self.mostOfPacket) }

  /// Appends a packet of `length` bytes, which `write` writes.
  mutating func append(_ length: Int, _ write: (inout ByteBuffer) -> Void) {
    if pieces.isEmpty || pieces[pieces.count - 1].readableBytes + 2 + length > limit {
      pieces.append(ByteBuffer())
    }
    let last = pieces.count - 1
    pieces[last].writeInteger(UInt16(clamping: length))
    write(&pieces[last])
  }
}
