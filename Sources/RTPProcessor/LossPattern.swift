import RTPWire

/// How losses are distributed: in bursts, and singly in the gaps between bursts.
///
/// RFC 3611 §4.7.2: a burst begins and ends with a lost packet, and inside it no 16 packets in a
/// row (`Gmin`) arrive. What is not in a burst is in a gap.
public struct LossPattern: Sendable, Hashable {
  /// `Gmin`: this many packets received in a row end a burst.
  public static let gapMinimum: UInt64 = 16

  /// Bursts with more than one lost packet.
  public private(set) var bursts: UInt64 = 0
  /// Packets inside bursts, lost or not.
  public private(set) var burstPackets: UInt64 = 0
  public private(set) var burstLost: UInt64 = 0
  /// The most packets lost in one burst.
  public private(set) var greatestBurst: UInt64 = 0
  /// The duration of all bursts, each from the packet before it to the packet after it.
  public private(set) var burstDuration: Duration = .zero
  /// Packets inside gaps, lost or not.
  public private(set) var gapPackets: UInt64 = 0
  public private(set) var gapLost: UInt64 = 0

  /// Of a possible burst: the packets up to its last loss, and how many were lost.
  private var openPackets: UInt64 = 0
  private var openLost: UInt64 = 0
  /// Packets that came since the last loss.
  private var since: UInt64 = 0
  private var firstArrival: Instant?
  private var lastArrival: Instant?
  /// The arrivals just before and just after a possible burst.
  private var openStart: Instant?
  private var openEnd: Instant?

  /// The percentage of packets in bursts that were lost: 0 … 100.
  public var burstDensity: Double { Self.share(burstLost, of: burstPackets) }
  /// The percentage of packets in gaps that were lost: 0 … 100.
  public var gapDensity: Double { Self.share(gapLost, of: gapPackets) }
  /// The mean number of packets from the start of a burst to its end.
  public var meanBurst: Double { bursts == 0 ? 0 : Double(burstPackets) / Double(bursts) }
  /// The mean length of a burst in milliseconds.
  public var meanBurstDuration: Double {
    bursts == 0 ? 0 : burstDuration / .milliseconds(1) / Double(bursts)
  }

  /// The mean length of a gap in milliseconds.
  ///
  /// What precedes the first burst and follows the last one counts as a gap too.
  public var meanGapDuration: Double {
    guard let firstArrival, let lastArrival else { return 0 }
    let duration = max(.zero, firstArrival.duration(to: lastArrival) - burstDuration)
    return duration / .milliseconds(1) / Double(bursts + 1)
  }

  /// Notes a delivered packet that arrived at `arrival`.
  mutating func noteArrival(_ arrival: Instant) {
    since += 1
    if openLost > 0, since == 1 { openEnd = arrival }
    firstArrival = firstArrival ?? arrival
    lastArrival = arrival
    if openLost > 0, since >= Self.gapMinimum { close() }
  }

  /// Notes that `count` packets in a row are given up.
  mutating func noteLoss(of count: UInt64) {
    if openLost > 0 {
      openPackets += since + count
    } else {
      gapPackets += since
      openPackets = count
      openStart = lastArrival
    }
    since = 0
    openLost += count
  }

  /// The pattern with an open burst counted as finished, and the gap behind it too, for reading it
  /// now.
  public var settled: LossPattern {
    var pattern = self
    if openLost > 0 { pattern.close() }
    // The gap since the last burst is one too (RFC 3611 §4.7.2).
    pattern.gapPackets += pattern.since
    pattern.since = 0
    return pattern
  }

  /// Closes a possible burst.
  ///
  /// A single lost packet is not a burst.
  private mutating func close() {
    if openLost > 1 {
      bursts += 1
      burstPackets += openPackets
      burstLost += openLost
      greatestBurst = max(greatestBurst, openLost)
      if let openStart, let openEnd {
        burstDuration += max(.zero, openStart.duration(to: openEnd))
      }
    } else {
      gapPackets += openPackets
      gapLost += openLost
    }
    (openPackets, openLost) = (0, 0)
  }

  private static func share(_ part: UInt64, of whole: UInt64) -> Double {
    whole == 0 ? 0 : 100 * Double(part) / Double(whole)
  }
}
