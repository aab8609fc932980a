public import Impairment
public import NIOCore
import RTPWire

/// What sender reports say of a stream.
public struct SenderAccount: Sendable, Hashable {
  public var ssrc: UInt32
  /// Packets and payload bytes sent under that SSRC.
  public var packetCount: UInt32
  public var octetCount: UInt32

  public init(ssrc: UInt32, packetCount: UInt32 = 0, octetCount: UInt32 = 0) {
    self.ssrc = ssrc
    self.packetCount = packetCount
    self.octetCount = octetCount
  }

  /// Counts a packet of so many payload bytes.
  public mutating func add(octets: UInt32) {
    packetCount &+= 1
    octetCount &+= octets
  }
}

/// Writes the RTCP that goes with a stream (RFC 3550 §6), on the port of the media (RFC 5761).
public struct SenderReports: Sendable {
  /// RFC 3550 §6.2: five seconds is the recommended minimum.
  public static let intervalNanoseconds: Int64 = 5_000_000_000
  /// Seconds from the epoch of NTP, 1900, to that of Unix, 1970.
  static let secondsFromNTPToUnixEpoch: UInt64 = 2_208_988_800

  private let canonicalName: String

  /// Reports under `canonicalName`, limited to 255 bytes (§6.5).
  public init(canonicalName: String = "rtp-send@localhost") {
    self.canonicalName = String(decoding: canonicalName.utf8.prefix(255), as: UTF8.self)
  }

  /// A compound packet of a sender report and a source description.
  ///
  /// The RTP timestamp is that of the time `unixNanoseconds`, unless `quirks` make it another.
  public func report(
    on stream: SenderAccount, timestamp: UInt32, unixNanoseconds: UInt64, quirks: Set<Quirk> = []
  ) -> ByteBuffer {
    var bytes = ByteBuffer()
    writeReport(on: stream, timestamp: timestamp, unixNanoseconds, to: &bytes)
    writeDescription(of: stream.ssrc, hasEnd: !quirks.contains(.sdesWithoutEnd), to: &bytes)
    QuirkyPackets.apply(quirks, toReports: &bytes)
    return bytes
  }

  /// The same, with a goodbye (§6.6): every compound begins with a report (§6.1).
  public func goodbye(
    of stream: SenderAccount, timestamp: UInt32, unixNanoseconds: UInt64, quirks: Set<Quirk> = []
  ) -> ByteBuffer {
    var bytes = report(
      on: stream, timestamp: timestamp, unixNanoseconds: unixNanoseconds, quirks: quirks)
    bytes.writeMultipleIntegers(UInt8(0x81), UInt8(203), UInt16(1), stream.ssrc)
    return bytes
  }

  private func writeReport(
    on stream: SenderAccount, timestamp: UInt32, _ unixNanoseconds: UInt64,
    to bytes: inout ByteBuffer
  ) {
    let ntpTime = Self.ntpTime(unixNanoseconds)
    bytes.writeMultipleIntegers(UInt8(0x80), UInt8(200), UInt16(6), stream.ssrc, ntpTime)
    bytes.writeMultipleIntegers(timestamp, stream.packetCount, stream.octetCount)
  }

  /// Seconds since 1900 in the upper 32 bits, their fraction in the lower (§4).
  static func ntpTime(_ unixNanoseconds: UInt64) -> UInt64 {
    let (seconds, nanoseconds) = unixNanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let fraction = (nanoseconds << 32) / 1_000_000_000
    return (seconds &+ secondsFromNTPToUnixEpoch) << 32 | fraction
  }

  private func writeDescription(of ssrc: UInt32, hasEnd: Bool, to bytes: inout ByteBuffer) {
    // Without an end, the text has to fill its last word.
    let name = hasEnd ? canonicalName : canonicalName.filling
    // SSRC, type, length, text, and at least one zero byte, up to a multiple of four.
    let words = (4 + 2 + name.utf8.count + (hasEnd ? 4 : 0)) / 4
    bytes.writeMultipleIntegers(UInt8(0x81), UInt8(202), UInt16(words), ssrc)
    bytes.writeMultipleIntegers(UInt8(1), UInt8(clamping: name.utf8.count))
    bytes.writeBytes(name.utf8)
    bytes.writeRepeatingByte(0, count: words * 4 - 6 - name.utf8.count)
  }
}

extension String {
  /// The text with spaces, so that with six bytes before it, it is a multiple of four bytes long.
  fileprivate var filling: String {
    self + String(repeating: " ", count: (4 - (utf8.count + 6) % 4) % 4)
  }
}
