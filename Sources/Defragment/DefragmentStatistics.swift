public import RTPWire

/// What became of a stream's payloads and NAL units, in totals since the start.
public struct DefragmentStatistics: Counted, Hashable {
  public var packets: UInt64 = 0
  /// NAL units handed on, whole or cut.
  public var units: UInt64 = 0
  public var accessUnits: UInt64 = 0

  /// Empty payloads and empty fragments, which some cameras send.
  public var emptyPayloads: UInt64 = 0
  /// Payloads of a type reserved by the RFC.
  public var reservedTypes: UInt64 = 0
  /// Payloads, in whole or in part, with inconsistent lengths.
  public var malformedPayloads: UInt64 = 0
  /// Empty entries in an aggregation packet, with other entries after them.
  public var emptyEntries: UInt64 = 0
  /// Fragments of a NAL unit whose beginning is missing.
  public var orphanFragments: UInt64 = 0
  /// NAL units whose end is missing.
  public var cutUnits: UInt64 = 0
  /// NAL units and access units cut because they exceeded the limit.
  public var oversizedUnits: UInt64 = 0
  /// NAL units dropped because their access unit was full.
  public var excessUnits: UInt64 = 0
  /// NAL units found after a start code inside another one.
  public var embeddedUnits: UInt64 = 0
  /// Markers after which the picture continued.
  public var misplacedMarkers: UInt64 = 0
  /// Parameter sets that could not be parsed.
  public var malformedParameterSets: UInt64 = 0
  /// NAL units that came after their turn in decoding order.
  public var lateUnits: UInt64 = 0
  /// Access units in progress when this side left the stream.
  public var leftOut: UInt64 = 0

  /// Fragmentation units that arrived whole but without the end bit.
  public internal(set) var unmarkedEnds: UInt64 = 0
  /// Damaged access units by cause.
  public internal(set) var damaged: [PictureDamage: UInt64] = [:]

  public init() {}

  /// Whether so many payloads make no sense that they are encrypted or of another codec: of random
  /// bytes a fifth is of no type that there is, or does not fit its own lengths.
  public var looksScrambled: Bool {
    packets >= 50 && (reservedTypes &+ malformedPayloads) > packets / 10
  }

  public static let counters: [Counter<DefragmentStatistics>] = [
    Counter("packets", .packets, \.packets, metric: .payloadPackets),
    Counter(
      "units", .units, \.units, metric: Metric("nal_units", "NAL units handed on, whole or cut.")),
    Counter(
      "access_units", .accessUnits, \.accessUnits,
      metric: Metric("access_units_assembled", "Access units put together from packets.")),
    Counter("empty_payloads", .payloads, \.emptyPayloads, metric: .payloadFault("empty_payloads")),
    Counter("reserved_types", .payloads, \.reservedTypes, metric: .payloadFault("reserved_types")),
    Counter(
      "malformed_payloads", .payloads, \.malformedPayloads,
      metric: .payloadFault("malformed_payloads")),
    Counter("empty_entries", .units, \.emptyEntries, metric: .payloadFault("empty_entries")),
    Counter(
      "orphan_fragments", .payloads, \.orphanFragments, metric: .payloadFault("orphan_fragments")),
    Counter("cut_units", .units, \.cutUnits, metric: .payloadFault("cut_units")),
    Counter("oversized_units", .units, \.oversizedUnits, metric: .payloadFault("oversized_units")),
    Counter("excess_units", .units, \.excessUnits, metric: .payloadFault("excess_units")),
    Counter("embedded_units", .units, \.embeddedUnits, metric: .payloadFault("embedded_units")),
    Counter(
      "misplaced_markers", .packets, \.misplacedMarkers, metric: .payloadFault("misplaced_markers")),
    Counter(
      "malformed_parameter_sets", .units, \.malformedParameterSets,
      metric: .payloadFault("malformed_parameter_sets")),
    Counter("late_units", .units, \.lateUnits, metric: .payloadFault("late_units")),
    Counter(
      "left_out", .accessUnits, \.leftOut,
      metric: Metric(
        "access_units_left_out", "Access units in progress when this side left the stream.")),
    Counter("unmarked_ends", .units, \.unmarkedEnds, metric: .payloadFault("unmarked_ends")),
  ]
}

extension Metric {
  static let payloadPackets = Metric(
    "payload_packets", "Packets in order whose payloads were taken apart.")

  /// What is wrong with payloads and what they hold.
  static func payloadFault(_ fault: String) -> Metric {
    Metric("payload_faults", "Payloads and units that are not as they should be, by fault.")
      .labelled("fault", fault)
  }
}
