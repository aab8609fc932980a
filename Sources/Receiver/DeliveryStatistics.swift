public import Decode
public import Defragment
public import RTPWire

/// What a stream produced: access units and frames, in totals since the start.
public struct DeliveryStatistics: Counted, Hashable {
  public internal(set) var accessUnits: UInt64 = 0
  /// Of the access units, those with which decoding can begin, once their parameter sets are known.
  public internal(set) var keyUnits: UInt64 = 0
  /// Access units in which something is missing.
  public internal(set) var damagedAccessUnits: UInt64 = 0
  /// Where only recordings take pictures: access units that are in none, because each begins with
  /// a key picture.
  public internal(set) var beforeKeyPicture: UInt64 = 0
  public internal(set) var frames: UInt64 = 0
  /// Frames by their condition.
  public internal(set) var conditions: [RawFrame.Condition: UInt64] = [:]
  /// Frames that are not intact, by cause.
  public internal(set) var damages: [PictureDamage: UInt64] = [:]
  public internal(set) var freezes = FreezeStatistics()
  /// Frames dropped for a constant rate, because their interval already had one.
  public internal(set) var surplus: UInt64 = 0
  /// Access units without a frame, by reason.
  public internal(set) var failures: [DecodeFailure.Kind: UInt64] = [:]
  /// How many threads decode now; 0 where nothing is decoded.
  public internal(set) var decoderThreads = 0
  /// How much of the last second the decoder worked, from 0 to 1.
  public internal(set) var decoderLoad = 0.0
  /// Whether decoding hardly keeps up with a live stream, or not any more.
  public internal(set) var isDecoderAtLimit = false
  /// How often the decoder's process was replaced (`DecoderBox`).
  public internal(set) var decoderRestarts: UInt64 = 0
  /// Why it was replaced the last time, for people; `nil` if it never was.
  public internal(set) var lastDecoderLoss: String?
  /// What the box of the decoder lacks, if it was to have one.
  public internal(set) var boxLack: BoxLack?
  /// Access units dropped for lack of room before the decoder, up to the next random-access point.
  public internal(set) var droppedBeforeDecoder: UInt64 = 0
  /// Access units that were still to be decoded when there was no more time for it.
  public internal(set) var undecodedAtEnd: UInt64 = 0
  /// Access units and sound dropped before loops that should have got all of it but had no room.
  public internal(set) var droppedBeforeLoops: UInt64 = 0
  /// Access units at the start of a later connection that were not written to elementary streams,
  /// because decoding could not begin with them.
  public internal(set) var skippedAfterReconnecting: UInt64 = 0
  /// Units of sound handed on.
  public internal(set) var soundUnits: UInt64 = 0
  /// The length of the sound handed on, in seconds.
  public internal(set) var soundSeconds: Double = 0
  /// The longest time from the arrival of one unit of sound to that of the next, or to the end of a
  /// live run, in seconds.
  public internal(set) var longestSoundGap: Double = 0
  /// Nanoseconds from the arrival of a frame's last packet to the decoded frame: the mean of the
  /// last frames, each new one weighing a sixteenth.
  public internal(set) var latency: Double = 0
  /// The greatest latency of a frame, in nanoseconds.
  public internal(set) var greatestLatency: Int64 = 0
  /// The mean latency of the whole run, in nanoseconds; `nil` where latency is not measured.
  public var meanLatency: Double? { latencies == 0 ? nil : latencySum / Double(latencies) }
  public internal(set) var pictures = PictureStatistics()
  /// The access units that count as pictures where nothing is decoded: of the two fields of a
  /// frame, the first.
  public var usableUnits: UInt64 { accessUnits - beforeKeyPicture - UInt64(secondFields) }
  /// The access units that complete the picture of the one before, where nothing is decoded.
  var secondFields = 0
  /// The access units that the decoder is done with.
  var decodedUnits: UInt64 { frames &+ failures.values.reduce(0, &+) }
  private var lastSound: Instant?
  /// The sum of the latencies of all frames, in nanoseconds, where they are measured.
  public private(set) var latencySum = 0.0
  private var latencies = 0

  public static let counters: [Counter<DeliveryStatistics>] = [
    Counter(
      "access_units", .accessUnits, \.accessUnits,
      metric: Metric("access_units", "Access units handed on, damaged ones included.")),
    Counter(
      "key_access_units", .accessUnits, \.keyUnits,
      metric: Metric("access_units_key", "Access units with which decoding can begin.")),
    Counter(
      "damaged_access_units", .accessUnits, \.damagedAccessUnits,
      metric: Metric("access_units_damaged", "Access units in which something is missing.")),
    Counter(
      "before_key_picture", .accessUnits, \.beforeKeyPicture,
      metric: .accessUnitsDropped("before_key_picture")),
    Counter("frames", .frames, \.frames),
    Counter(
      "surplus", .frames, \.surplus,
      metric: Metric("frames_surplus", "Frames left out for a constant rate.")),
    Counter(
      "decoder_restarts", .times, \.decoderRestarts,
      metric: Metric(
        "decoder_restarts", "How often the decoder's process was lost and replaced.")),
    Counter(
      "dropped_before_decoder", .accessUnits, \.droppedBeforeDecoder,
      metric: .accessUnitsDropped("before_decoder")),
    Counter(
      "undecoded_at_end", .accessUnits, \.undecodedAtEnd, metric: .accessUnitsDropped("at_end")),
    Counter(
      "dropped_before_loops", .units, \.droppedBeforeLoops,
      metric: Metric(
        "units_dropped_before_loops", "Units that a loop of the program had no room for.")),
    Counter(
      "skipped_after_reconnecting", .accessUnits, \.skippedAfterReconnecting,
      metric: .accessUnitsDropped("after_reconnecting")),
    Counter(
      "sound_units", .units, \.soundUnits,
      metric: Metric("sound_units", "Units of sound handed on.")),
  ]

  /// What is missing around a decoder.
  public enum BoxLack: Sendable, Hashable {
    /// Some walls are missing, for this reason.
    case walls(reason: String)
    /// There is no process of its own, for this reason.
    case process(reason: String)
  }

  mutating func note(_ event: DecoderBoxEvent) {
    switch event {
    case .lost(let cause):
      decoderRestarts += 1
      lastDecoderLoss = cause
    case .incomplete(let reason): boxLack = .walls(reason: reason)
    case .absent(let reason): boxLack = .process(reason: reason)
    case .failed: break
    }
  }

  mutating func note(_ reason: DecodeFailure.Reason) {
    failures[reason.kind, default: 0] += 1
  }

  mutating func note(_ sound: SoundUnit) {
    soundUnits += 1
    soundSeconds += sound.duration / .seconds(1)
    if let lastSound {
      longestSoundGap = max(longestSoundGap, lastSound.duration(to: sound.firstArrival).seconds)
    }
    lastSound = max(lastSound ?? sound.lastArrival, sound.lastArrival)
  }

  /// Notes that nothing more will come, at `now`.
  mutating func endSound(at now: Instant) {
    guard let lastSound else { return }
    longestSoundGap = max(longestSoundGap, lastSound.duration(to: now).seconds)
  }

  mutating func note(latency new: Int64) {
    latency = latency == 0 ? Double(new) : latency + (Double(new) - latency) / 16
    greatestLatency = max(greatestLatency, new)
    latencySum += Double(new)
    latencies += 1
  }
}

extension Metric {
  fileprivate static func accessUnitsDropped(_ reason: String) -> Metric {
    Metric("access_units_dropped", "Access units that came and were not used, by reason.")
      .labelled("reason", reason)
  }
}
