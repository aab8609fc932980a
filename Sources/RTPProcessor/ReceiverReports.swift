public import NIOCore
public import RTPWire

/// Writes a receiver's RTCP (RFC 3550 §6), and says when it is due.
///
/// Each compound packet is a receiver report and a canonical name, the last one also a BYE. Dahua's
/// and FLIR's cameras end sessions in which none come.
public struct ReceiverReports<Randomness: RandomNumberGenerator & Sendable>: Sendable {
  /// When the next report is due.
  public private(set) var deadline: Instant
  /// The receiver's own source identifier.
  public private(set) var ssrc: UInt32
  /// Whether a report has been sent: who has not sent any must not say goodbye (§6.3.7).
  private var hasReported = false
  /// The name of the participant, which is the same in all its sessions (§6.5.1).
  public let canonicalName: String
  private var randomness: Randomness
  /// The state of the sources at the last report, to report the changes since.
  private var prior: [SourceReception] = []

  /// Begins at `now`; the identifier is drawn from `randomness`, and so is the name where the
  /// participant has none yet (RFC 7022 §4.2).
  public init(randomness: Randomness, canonicalName: String? = nil, at now: Instant) {
    var randomness = randomness
    ssrc = randomness.next()
    self.canonicalName =
      canonicalName
      ?? (0..<2).map { _ in String(randomness.next() as UInt64, radix: 36) }.joined()
    self.randomness = randomness
    deadline = now
    // The first one comes early (§6.2), so that what is between the two sees both directions.
    schedule(interval: reportInterval / 2, after: now)
  }

  /// The compound packet due at `now`, or `nil`.
  ///
  /// `receptions` are the report blocks of the sources, of which 31 fit; without any, the report is
  /// empty (§6.4.2).
  public mutating func next(at now: Instant, about receptions: [SourceReception]) -> ByteBuffer? {
    guard deadline <= now else { return nil }
    schedule(interval: reportInterval, after: now)
    hasReported = true
    return compound(at: now, about: receptions)
  }

  /// The last compound: a report and a goodbye (§6.6); `nil` where no report was sent before.
  public mutating func goodbye(
    at now: Instant, about receptions: [SourceReception]
  ) -> ByteBuffer? {
    guard hasReported else { return nil }
    var buffer = compound(at: now, about: receptions)
    buffer.writeRTCPPacket(type: .goodbye, count: 1) { $0.writeInteger(ssrc) }
    return buffer
  }

  /// Feedback that is sent at once, whatever the interval, because two participants cannot flood
  /// each other (RFC 4585 §3.5); preceded by a report unless `isReduced` (RFC 5506 §3.4).
  public mutating func feedback(
    _ message: RTCPFeedback, at now: Instant, about receptions: [SourceReception],
    isReduced: Bool
  ) -> ByteBuffer {
    hasReported = true
    // The next regular report covers what is new since the last one.
    let former = prior
    var buffer = isReduced ? ByteBuffer() : compound(at: now, about: receptions)
    prior = former
    buffer.writeFeedback(message, from: ssrc)
    return buffer
  }

  private mutating func compound(
    at now: Instant, about receptions: [SourceReception]
  ) -> ByteBuffer {
    let receptions = receptions.prefix(Self.maximumBlocks)
    // On a collision the newcomer draws again (§8.2).
    while receptions.contains(where: { $0.ssrc == ssrc }) { ssrc = randomness.next() }
    var buffer = ByteBufferAllocator().buffer(capacity: 128)
    buffer.writeRTCPPacket(type: .receiverReport, count: UInt8(receptions.count)) { buffer in
      buffer.writeInteger(ssrc)
      for reception in receptions {
        // A new numbering has no past: init_seq of A.1 clears expected_prior and received_prior.
        let former = prior.first { $0.ssrc == reception.ssrc && $0.count == reception.count }
        buffer.writeBlock(of: reception, since: former, at: now)
      }
    }
    prior = Array(receptions)
    buffer.writeRTCPPacket(type: .sourceDescription, count: 1) { buffer in
      buffer.writeInteger(ssrc)
      buffer.writeMultipleIntegers(UInt8(1), UInt8(canonicalName.utf8.count))
      buffer.writeString(canonicalName)
      // At least one END item, and then up to the next 32 bits (§6.5).
      buffer.writeRepeatingByte(0, count: 4 - (canonicalName.utf8.count + 2) % 4)
    }
    return buffer
  }

  /// The interval is varied and compensated as §6.3.1 says, so that receivers do not fall into
  /// step.
  private mutating func schedule(interval: Double, after now: Instant) {
    let seconds = interval * Double.random(in: 0.5...1.5, using: &randomness) / 1.218_28
    deadline = now.advanced(by: .seconds(seconds))
  }

  /// As many as the count of a report can say.
  private static var maximumBlocks: Int { 31 }

  /// The least that §6.2 allows, in seconds; FLIR cameras expect no less.
  private var reportInterval: Double { 5 }
}

extension SourceReception {
  /// Packets missing in all (RFC 3550 A.3): −2^23 … 2^23 − 1, negative after many duplicates.
  public var cumulativeLost: Int32 {
    let lost = expected.subtractingSaturating(received)
    return Int32(truncatingIfNeeded: min(max(lost, -0x80_0000), 0x7F_FFFF))
  }

  /// Of the packets expected since `prior`, the fraction lost in 256ths (A.3).
  public func fractionLost(since prior: SourceReception?) -> UInt8 {
    let expected = expected.subtractingSaturating(prior?.expected ?? 0)
    let lost = expected.subtractingSaturating(received.subtractingSaturating(prior?.received ?? 0))
    guard expected > 0, lost > 0 else { return 0 }
    // All of them would be 256, which the field cannot say.
    return UInt8(clamping: (min(lost, 1 << 32) << 8) / min(expected, 1 << 32))
  }
}

extension ByteBuffer {
  /// Writes a report block (RFC 3550 §6.4.1).
  fileprivate mutating func writeBlock(
    of reception: SourceReception, since prior: SourceReception?, at now: Instant
  ) {
    let lost = UInt32(bitPattern: reception.cumulativeLost) & 0xFF_FFFF
    var lastReport: UInt32 = 0
    var delay: UInt32 = 0
    if let last = reception.lastSenderReport {
      lastReport = UInt32(truncatingIfNeeded: last.report.ntpTime >> 16)
      delay = UInt32(clamping: last.arrival.ticks(at: 65_536, to: now))
    }
    writeMultipleIntegers(
      reception.ssrc, (UInt32(reception.fractionLost(since: prior)) << 24) | lost,
      reception.highestSequence, reception.jitter, lastReport, delay)
  }
}

extension Instant {
  /// The time from here to `other` in ticks of a clock of `rate` ticks a second; never negative.
  fileprivate func ticks(at rate: UInt32, to other: Instant) -> Int64 {
    Instant(nanoseconds: max(0, nanoseconds(to: other))).ticks(at: rate)
  }
}
