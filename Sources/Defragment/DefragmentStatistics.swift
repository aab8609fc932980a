public import RTPWire

/// What became of the payloads and NAL units of a stream, in totals since the start.
public struct DefragmentStatistics: Counted, Hashable {
  public var packets: UInt64 = 0
  /// NAL units that came out, whole or cut.
  public var units: UInt64 = 0
  public var accessUnits: UInt64 = 0

  /// Payloads of no bytes, and fragments that hold nothing: some cameras send them.
  public var emptyPayloads: UInt64 = 0
  /// Payloads of a type that its RFC reserves.
  public var reservedTypes: UInt64 = 0
  /// Payloads, or the rest of one, that do not fit their own lengths.
  public var malformedPayloads: UInt64 = 0
  /// Entries of no bytes in an aggregation packet, with other entries behind them.
  public var emptyEntries: UInt64 = 0
  /// Fragments of a NAL unit whose beginning did not come.
  public var orphanFragments: UInt64 = 0
  /// NAL units whose end did not come.
  public var cutUnits: UInt64 = 0
  /// NAL units and access units that were cut because they grew beyond the limit.
  public var oversizedUnits: UInt64 = 0
  /// NAL units dropped because their access unit had too many already.
  public var excessUnits: UInt64 = 0
  /// NAL units found behind a start code inside another one.
  public var embeddedUnits: UInt64 = 0
  /// Markers behind which the picture went on.
  public var misplacedMarkers: UInt64 = 0
  /// Parameter sets that do not parse.
  public var malformedParameterSets: UInt64 = 0
  /// NAL units whose turn in decoding order had passed already.
  public var lateUnits: UInt64 = 0

  /// Fragmentation units whose end bit was not set although all of them came.
  public internal(set) var unmarkedEnds: UInt64 = 0
  /// Access units that are damaged, by the cause.
  public internal(set) var damaged: [PictureDamage: UInt64] = [:]

  public init() {}

  public static let counters: [Counter<DefragmentStatistics>] = [
    Counter("packets", .packets, \.packets),
    Counter("units", .units, \.units),
    Counter("access_units", .accessUnits, \.accessUnits),
    Counter("empty_payloads", .payloads, \.emptyPayloads),
    Counter("reserved_types", .payloads, \.reservedTypes),
    Counter("malformed_payloads", .payloads, \.malformedPayloads),
    Counter("empty_entries", .units, \.emptyEntries),
    Counter("orphan_fragments", .payloads, \.orphanFragments),
    Counter("cut_units", .units, \.cutUnits),
    Counter("oversized_units", .units, \.oversizedUnits),
    Counter("excess_units", .units, \.excessUnits),
    Counter("embedded_units", .units, \.embeddedUnits),
    Counter("misplaced_markers", .packets, \.misplacedMarkers),
    Counter("malformed_parameter_sets", .units, \.malformedParameterSets),
    Counter("late_units", .units, \.lateUnits),
    Counter("unmarked_ends", .units, \.unmarkedEnds),
  ]
}
