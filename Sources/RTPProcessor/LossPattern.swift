import RTPWire

/// How losses are spread over a stream: in bursts, and one by one in the gaps between them.
///
/// RFC 3611 §4.7.2: a burst begins and ends with a lost packet, and inside it no 16 packets in a row
/// (`Gmin`) arrive. What is not in a burst is in a gap.
public struct LossPattern: Sendable, Hashable {
  /// `Gmin`: so many packets in a row end a burst.
  public static let gapMinimum: UInt64 = 16

  /// Bursts in which more than one packet was lost.
  public private(set) var bursts: UInt64 = 0
  /// Packets in bursts: all of them, and those of them that were lost.
  public private(set) var burstPackets: UInt64 = 0
  public private(set) var burstLost: UInt64 = 0
  /// The most packets lost in one burst.
  public private(set) var greatestBurst: UInt64 = 0
  /// From the packet before a burst to the one behind it, in nanoseconds, of all bursts together.
  public private(set) var burstDuration: Int64 = 0
  /// Packets in gaps: all of them, and those of them that were lost.
  public private(set) var gapPackets: UInt64 = 0
  public private(set) var gapLost: UInt64 = 0

  /// Of what may be a burst: packets up to its last loss, and those lost.
  private var openPackets: UInt64 = 0
  private var openLost: UInt64 = 0
  /// Packets that came since the last loss.
  private var since: UInt64 = 0
  private var firstArrival: Instant?
  private var lastArrival: Instant?
  /// Between which packets lies what may be a burst.
  private var openStart: Instant?
  private var openEnd: Instant?

  /// The percentage of packets in bursts that were lost: 0 … 100.
  public var burstDensity: Double { Self.share(burstLost, of: burstPackets) }
  /// The percentage of packets in gaps that were lost: 0 … 100.
  public var gapDensity: Double { Self.share(gapLost, of: gapPackets) }
  /// Packets from the start of a burst to its end, on average.
  public var meanBurst: Double { bursts == 0 ? 0 : Double(burstPackets) / Double(bursts) }
  /// The mean length of a burst in milliseconds.
  public var meanBurstDuration: Double {
    bursts == 0 ? 0 : Double(burstDuration) / Double(bursts) / 1e6
  }

  /// The mean length of a gap in milliseconds: of what is before, between and behind the bursts.
  public var meanGapDuration: Double {
    guard let firstArrival, let lastArrival else { return 0 }
    let duration = max(0, firstArrival.nanoseconds(to: lastArrival) - burstDuration)
    return Double(duration) / Double(bursts + 1) / 1e6
  }

  /// A packet is handed on that arrived at `arrival`.
  mutating func noteArrival(_ arrival: Instant) {
    since += 1
    if openLost > 0, since == 1 { openEnd = arrival }
    firstArrival = firstArrival ?? arrival
    lastArrival = arrival
    if openLost > 0, since >= Self.gapMinimum { close() }
  }

  /// So many packets in a row are given up before the next one.
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

  /// With what may go on as if it were over, for whoever looks at it now.
  public var settled: LossPattern {
    var pattern = self
    if openLost > 0 { pattern.close() }
    return pattern
  }

  /// What looked like a burst is over; one lost packet alone is none.
  private mutating func close() {
    if openLost > 1 {
      bursts += 1
      burstPackets += openPackets
      burstLost += openLost
      greatestBurst = max(greatestBurst, openLost)
      if let openStart, let openEnd {
        burstDuration += max(0, openStart.nanoseconds(to: openEnd))
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
