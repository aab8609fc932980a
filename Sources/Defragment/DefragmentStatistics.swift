/// What became of the payloads and NAL units of a stream, in totals since the start.
public struct DefragmentStatistics: Sendable, Hashable {
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

  /// All counters with their names, for those who list them.
  public var counters: [(name: String, count: UInt64)] {
    [
      ("packets", packets), ("units", units), ("access_units", accessUnits),
      ("empty_payloads", emptyPayloads), ("reserved_types", reservedTypes),
      ("malformed_payloads", malformedPayloads), ("empty_entries", emptyEntries),
      ("orphan_fragments", orphanFragments), ("cut_units", cutUnits),
      ("oversized_units", oversizedUnits), ("excess_units", excessUnits),
      ("embedded_units", embeddedUnits), ("misplaced_markers", misplacedMarkers),
      ("malformed_parameter_sets", malformedParameterSets), ("late_units", lateUnits),
      ("unmarked_ends", unmarkedEnds),
    ]
  }
}
