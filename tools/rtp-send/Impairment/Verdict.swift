/// What the network did to a packet, and why.
///
/// Every packet offered has exactly one verdict that it passed or that it is lost; others say what
/// else happened to it.
public struct Verdict: Sendable, Hashable {
  /// Since the first packet of the plan, in nanoseconds.
  public var time: Int64
  /// What the packet belongs to.
  public var flow: String
  /// How many packets the flow had before.
  public var packet: Int
  /// Of the RTP header, if the packet has one.
  public var sequence: UInt16?
  public var ssrc: UInt32?
  public var reason: Reason
  /// How long a packet that passed travels, in nanoseconds.
  public var delay: Int64?

  /// The stages in their order.
  public enum Stage: String, Sendable, Hashable {
    case silence, rate, loss, damage, duplication, reordering, garbage, passed
  }

  public enum Reason: String, Sendable, Hashable, CaseIterable {
    case passed
    case silence
    /// The queue of the limited rate was full.
    case queueFull = "queue full"
    /// More was on its way than this program remembers.
    case tooMuchInFlight = "too much in flight"
    case lost = "random"
    case lostInBurst = "burst"
    case lostInBlock = "block"
    case corrupted
    case truncated
    case oversized
    case duplicated
    case displaced
    /// Random bytes follow the packet.
    case garbage

    public var stage: Stage {
      switch self {
      case .passed: .passed
      case .silence: .silence
      case .queueFull, .tooMuchInFlight: .rate
      case .lost, .lostInBurst, .lostInBlock: .loss
      case .corrupted, .truncated, .oversized: .damage
      case .duplicated: .duplication
      case .displaced: .reordering
      case .garbage: .garbage
      }
    }

    /// Whether the packet never arrives.
    public var isLoss: Bool { [.silence, .rate, .loss].contains(stage) }
  }

  /// One line of JSON, without its end.
  public var json: String {
    var fields = [
      "\"time\":\(Self.seconds(time))", "\"flow\":\"\(flow)\"", "\"packet\":\(packet)",
    ]
    if let sequence { fields.append("\"sequence\":\(sequence)") }
    if let ssrc { fields.append("\"ssrc\":\(ssrc)") }
    fields.append("\"stage\":\"\(reason.stage.rawValue)\"")
    if reason != .passed { fields.append("\"reason\":\"\(reason.rawValue)\"") }
    if let delay { fields.append("\"delay\":\(Self.seconds(delay))") }
    return "{" + fields.joined(separator: ",") + "}"
  }

  /// Nanoseconds in seconds, with six decimals.
  private static func seconds(_ nanoseconds: Int64) -> String {
    let microseconds = nanoseconds.magnitude / 1000
    let fraction = String(1_000_000 + microseconds % 1_000_000).dropFirst()
    return "\(nanoseconds < 0 ? "-" : "")\(microseconds / 1_000_000).\(fraction)"
  }
}

/// What a ``NetworkSimulator`` did, in packets.
public struct ImpairmentCounters: Sendable, Hashable {
  /// Packets given to the network.
  public var offered = 0
  /// Packets that left it: `offered - lost + duplicated`, without garbage.
  public var delivered = 0
  /// Packets that never arrive, for whatever reason.
  public var lost = 0
  /// Packets with flipped bits, or of another length.
  public var damaged = 0
  /// Packets that were held until later ones had passed.
  public var reordered = 0
  public var duplicated = 0
  /// Random datagrams added.
  public var garbage = 0

  public init() {}

  /// Adds up two networks.
  public mutating func add(_ other: ImpairmentCounters) {
    offered += other.offered
    delivered += other.delivered
    lost += other.lost
    damaged += other.damaged
    reordered += other.reordered
    duplicated += other.duplicated
    garbage += other.garbage
  }
}
