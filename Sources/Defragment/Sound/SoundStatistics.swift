public import RTPWire

/// What became of the packets of a sound stream, in totals since the start.
public struct SoundStatistics: Counted, Hashable {
  /// Packets in order, each of which has one of the next six outcomes.
  public var packets: UInt64 = 0
  /// Packets whose payload was used.
  public var unpacked: UInt64 = 0
  /// Packets without a payload, which some cameras send.
  public var emptyPayloads: UInt64 = 0
  /// Packets with inconsistent lengths or without meaning, in whole or in part.
  public var malformedPayloads: UInt64 = 0
  /// Packets with a part of a unit whose beginning is missing.
  public var orphanFragments: UInt64 = 0
  /// Packets of comfort noise (RFC 3389), which stand for silence.
  public var comfortNoise: UInt64 = 0
  /// Packets of other payload types, such as telephone events (RFC 4733).
  public var otherTypes: UInt64 = 0

  /// Units handed on.
  public var units: UInt64 = 0
  /// Samples of each channel that these decode to.
  public var samples: UInt64 = 0
  /// Packets that never came.
  public var lostPackets: UInt64 = 0
  /// Samples of each channel that are missing where packets are.
  public var missingSamples: UInt64 = 0
  /// Samples of each channel that the sender left out: silence.
  public var silentSamples: UInt64 = 0
  /// Units whose end is missing.
  public var cutUnits: UInt64 = 0
  /// Units beyond the limit of their size, or of their number in a packet.
  public var excessUnits: UInt64 = 0
  /// Interleaved units that came after their turn.
  public var lateUnits: UInt64 = 0
  /// Leaps of the timestamps, forwards or backwards.
  public var leaps: UInt64 = 0

  public init() {}

  /// Whether so many payloads make no sense that they are encrypted or of another coding.
  public var looksScrambled: Bool { packets >= 50 && malformedPayloads > packets / 2 }

  public static let counters: [Counter<SoundStatistics>] = [
    Counter("packets", .packets, \.packets, .incoming, metric: .payloadPackets),
    Counter(
      "unpacked", .packets, \.unpacked, .outcome,
      metric: Metric("sound_packets_unpacked", "Packets of sound whose payload was used.")),
    Counter(
      "empty_payloads", .packets, \.emptyPayloads, .outcome, metric: .payloadFault("empty_payloads")
    ),
    Counter(
      "malformed_payloads", .packets, \.malformedPayloads, .outcome,
      metric: .payloadFault("malformed_payloads")),
    Counter(
      "orphan_fragments", .packets, \.orphanFragments, .outcome,
      metric: .payloadFault("orphan_fragments")),
    Counter(
      "comfort_noise", .packets, \.comfortNoise, .outcome,
      metric: Metric("comfort_noise_packets", "Packets that stand for silence (RFC 3389).")),
    Counter(
      "other_types", .packets, \.otherTypes, .outcome,
      metric: Metric("sound_packets_of_other_types", "Packets such as telephone events (RFC 4733).")
    ),
    Counter(
      "units", .units, \.units,
      metric: Metric("sound_units_assembled", "Units of sound taken from packets.")),
    Counter(
      "samples", .samples, \.samples,
      metric: Metric("sound_samples", "Samples of each channel that these decode to.")),
    Counter(
      "lost_packets", .packets, \.lostPackets,
      metric: Metric("sound_packets_lost", "Packets of sound that never came.")),
    Counter(
      "missing_samples", .samples, \.missingSamples,
      metric: Metric("sound_samples_missing", "Samples of each channel that lost packets had.")),
    Counter(
      "silent_samples", .samples, \.silentSamples,
      metric: Metric("sound_samples_silent", "Samples of each channel that the sender left out.")),
    Counter("cut_units", .units, \.cutUnits, metric: .payloadFault("cut_units")),
    Counter("excess_units", .units, \.excessUnits, metric: .payloadFault("excess_units")),
    Counter("late_units", .units, \.lateUnits, metric: .payloadFault("late_units")),
    Counter(
      "leaps", .times, \.leaps,
      metric: Metric("sound_timestamp_leaps", "Leaps of the timestamps of the sound.")),
  ]
}
