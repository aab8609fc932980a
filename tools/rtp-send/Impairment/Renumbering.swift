public import NIOCore
import RTPWire

/// Lets the events of a plan happen to the numbers of somebody else's stream, and undoes it in what
/// the receiver answers.
///
/// It works on packets in clear, and on the headers of SRTP, whose authentication it breaks.
public struct Renumbering: Sendable {
  private let plan: Plan
  private var dice: SplitMix64
  private var eventsEnd: Int64 = 0

  /// What the numbers differ by from those of the sender.
  private var mask: UInt32 = 0
  private var places: UInt16 = 0
  private var ticks: UInt32 = 0
  /// Of the wall clock, in nanoseconds.
  private var clock: Int64 = 0

  public init(_ plan: Plan, seed: UInt64) {
    self.plan = plan
    dice = SplitMix64(seed: seed)
  }

  /// Changes an RTP packet or an RTCP compound of the sender, `elapsed` nanoseconds after the start
  /// of the plan.
  public mutating func change(_ bytes: inout ByteBuffer, at elapsed: Int64) {
    happen(until: elapsed)
    guard mask != 0 || places != 0 || ticks != 0 || clock != 0 else { return }
    if RTCPPacket.recognizes(bytes) {
      bytes.forEachRTCP { packet, type, bytes in
        changeReport(packet, type, &bytes)
      }
    } else if (try? RTPPacket(parsing: bytes)) != nil {
      let start = bytes.readerIndex
      bytes.change(at: start + 2) { $0 &+ places }
      bytes.change(at: start + 4) { $0 &+ ticks }
      bytes.change(at: start + 8) { $0 ^ mask }
    }
  }

  /// Changes an RTCP compound of the receiver back to the numbers that the sender knows.
  public func restore(_ bytes: inout ByteBuffer) {
    guard mask != 0 || places != 0, RTCPPacket.recognizes(bytes) else { return }
    let (mask, places) = (mask, places)
    bytes.forEachRTCP { packet, type, bytes in
      switch type {
      case 200, 201:
        // Report blocks of 24 bytes (RFC 3550 §6.4.1) behind the report itself.
        var block = packet.lowerBound + (type == 200 ? 28 : 8)
        while block + 24 <= packet.upperBound {
          bytes.change(at: block) { $0 ^ mask }
          bytes.change(at: block + 10) { $0 &- places }
          block += 24
        }
      case 205, 206:
        // Feedback (RFC 4585 §6.1): the SSRC of the media, and what is asked for.
        bytes.change(at: packet.lowerBound + 8) { $0 ^ mask }
        let format = bytes.getInteger(at: packet.lowerBound, as: UInt8.self).map { $0 & 0x1F }
        var entry = packet.lowerBound + 12
        while entry + 4 <= packet.upperBound {
          if type == 205, format == 1 { bytes.change(at: entry) { $0 &- places } }
          // A full intra request has entries of eight bytes (RFC 5104 §4.3.1.1).
          if type == 206, format == 4, (entry - packet.lowerBound - 12) % 8 == 0 {
            bytes.change(at: entry) { $0 ^ mask }
          }
          entry += 4
        }
      default: break
      }
    }
  }

  private mutating func happen(until elapsed: Int64) {
    let end = max(eventsEnd, elapsed.addingSaturating(1))
    for event in plan.events(in: eventsEnd..<end) {
      switch event {
      case .restart:
        mask = UInt32(truncatingIfNeeded: dice.next()) | 1
        places = UInt16(truncatingIfNeeded: dice.next())
        ticks = UInt32(truncatingIfNeeded: dice.next())
      case .sequenceJump(let count): places &+= UInt16(truncatingIfNeeded: count)
      case .timestampJump(let count): ticks &+= UInt32(truncatingIfNeeded: count)
      case .clockJump(let time): clock = clock.addingSaturating(time)
      case .parameterSets: break
      }
    }
    eventsEnd = end
  }

  private func changeReport(_ packet: Range<Int>, _ type: UInt8, _ bytes: inout ByteBuffer) {
    switch type {
    case 200:
      bytes.change(at: packet.lowerBound + 4) { $0 ^ mask }
      // NTP counts seconds and their 2³²nd parts.
      let seconds = clock / 1_000_000_000
      let fraction = (clock % 1_000_000_000) * (1 << 32) / 1_000_000_000
      bytes.change(at: packet.lowerBound + 8) { (time: UInt64) in
        time &+ UInt64(bitPattern: seconds << 32) &+ UInt64(bitPattern: fraction)
      }
      bytes.change(at: packet.lowerBound + 16) { $0 &+ ticks }
    case 202: bytes.change(at: packet.lowerBound + 4) { $0 ^ mask }
    case 203:
      let count = bytes.getInteger(at: packet.lowerBound, as: UInt8.self).map { $0 & 0x1F } ?? 0
      for index in 0..<Int(count) where packet.lowerBound + 8 + 4 * index <= packet.upperBound {
        bytes.change(at: packet.lowerBound + 4 + 4 * index) { $0 ^ mask }
      }
    default: break
    }
  }
}
