public import RTPWire

/// A counter of a transport, declared once in the transport's folder with everything that
/// statistics need.
public struct TransportCounter: Sendable, Hashable {
  public enum Unit: Sendable, Hashable {
    case datagrams
    case bytes
    /// Things that happened, or were done.
    case events
  }

  /// How to combine the values of several connections.
  public enum Joining: Sendable, Hashable {
    case sum
    case largest
    case latest
  }

  /// Its name in the statistics: lower-case letters and underscores.
  public let name: String
  /// The object of the statistics that contains it; `nil` for that of the transport.
  public let group: String?
  public let unit: Unit
  public let joining: Joining
  /// Whether it counts what came and was lost in this machine; that is said apart from losses in
  /// the network, at the end and for each interval of the statistics.
  public let isLocalLoss: Bool
  /// What it is called in metrics; by default after its name.
  public let metric: Metric

  public init(
    _ name: String, in group: String? = nil, unit: Unit, joining: Joining = .sum,
    isLocalLoss: Bool = false, metric: Metric? = nil
  ) {
    self.metric = metric ?? Self.metric(name, in: group, unit)
    self.name = name
    self.group = group
    self.unit = unit
    self.joining = joining
    self.isLocalLoss = isLocalLoss
  }

  private static func metric(_ name: String, in group: String?, _ unit: Unit) -> Metric {
    let words = ([group].compactMap(\.self) + [name]).joined(separator: "_")
    let isNamed = unit != .bytes || words.hasSuffix("_bytes")
    return Metric(
      "transport_\(words)\(isNamed ? "" : "_bytes")",
      "What the transport calls \(words), in \(unit).")
  }

  func joined(_ latest: UInt64, after earlier: UInt64) -> UInt64 {
    switch joining {
    case .sum: latest &+ earlier
    case .largest: max(latest, earlier)
    case .latest: latest
    }
  }
}
