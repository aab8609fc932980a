import Bitstream
import BlockingIO
public import Decode
public import Defragment
import Outputs
public import RTPWire
import Reception
import Synchronization
import Transports

/// Hands access units and frames to outputs, the decoder and the program's closures.
///
/// Access units come on the event loop, frames on the decoder's thread. Neither may wait for the
/// other, so the lock around shared state is held for bookkeeping only.
final class Distribution: Sendable {
  /// What may wait for the decoder: some seconds, so that a sender's burst is not dropped.
  static let decoderQueue = QueueLimits(count: 128, bytes: 16 << 20)

  private let outputs: [RunningOutput]
  private let configuration: Receiver.Configuration
  private let pace: Pace
  private let end: @Sendable (EndReason) -> Void
  private let state = Mutex(State())

  fileprivate struct State: Sendable {
    var decoder: VideoDecoder?
    /// The decoder's queue was full: units that depend on the dropped one are useless too.
    var awaitsRandomAccess = false
    /// The decoder could not use a unit although it came.
    var hasFailed = false
    /// A connection has ended: what comes on the next one cannot be decoded before such a point.
    var outputsAwaitRandomAccess = false
    var isOver = false
    var statistics = DeliveryStatistics()
    var frames = FrameLog()
    /// Fills the frame intervals at a constant rate.
    var constantRate: ConstantRate?
    var freezes = FreezeMeter()
    /// The loops over frames and over access units.
    var frameTakers: [Handover<RawFrame>] = []
    var unitTakers: [Handover<AccessUnit>] = []
  }

  init(
    configuration: Receiver.Configuration, pace: Pace, outputs: [RunningOutput],
    end: @escaping @Sendable (EndReason) -> Void
  ) {
    self.configuration = configuration
    self.pace = pace
    self.outputs = outputs
    self.end = end
    if configuration.constantRate { state.withLock { $0.constantRate = ConstantRate() } }
  }

  /// Hands every frame to `handover` from now on.
  func deliver(framesTo handover: Handover<RawFrame>) {
    state.withLock { $0.frameTakers.append(handover) }
  }

  /// Hands every access unit to `handover` from now on.
  func deliver(unitsTo handover: Handover<AccessUnit>) {
    state.withLock { $0.unitTakers.append(handover) }
  }

  /// Ends the sequences.
  func endSequences() {
    let (frames, units) = state.withLock { ($0.frameTakers, $0.unitTakers) }
    for taker in frames { taker.close() }
    for taker in units { taker.close() }
  }

  /// What has gone through so far.
  var statistics: DeliveryStatistics { state.withLock(\.statistics) }

  /// The frames since the last call.
  func takeFrames() -> FrameLog {
    state.withLock { state in
      defer { state.frames = FrameLog() }
      return state.frames
    }
  }

  /// Takes an access unit on the event loop; returns whether decoding can continue with the next
  /// one.
  func deliver(_ unit: AccessUnit) -> Bool {
    guard let intake = state.withLock({ $0.take(unit, configuration) }) else { return true }
    configuration.onAccessUnit?(unit)
    for taker in intake.takers { taker.offer(unit) }
    // A lane that drops counts its drops; receiving waits for none of them.
    if intake.isForOutputs {
      for output in outputs where output.format.input == .units { output.lane.write(unit) }
    }
    let isTaken = intake.decodes ? decode(unit) : true
    if intake.isLast { end(.framesReached) }
    let isAnswer = unit.isRandomAccess && unit.integrity == .whole
    return (isAnswer || !intake.hasFailed) && isTaken
  }

  /// Whether a lossless output has more waiting than it should.
  var isCrowded: Bool { crowded != nil }

  /// Calls `body` once when the busy consumer has room again, or at once if none is busy.
  func whenRoom(_ body: @escaping @Sendable () -> Void) {
    switch crowded {
    case .decoder(let decoder): decoder.whenRoom(body)
    case .lane(let lane): lane.whenRoom(body)
    case .taker(let taker): taker.whenRoom(body)
    case nil: body()
    }
  }

  private enum Crowded {
    case decoder(VideoDecoder)
    case lane(OutputLane)
    case taker(Handover<AccessUnit>)
  }

  /// The lossless consumer with too much waiting.
  private var crowded: Crowded? {
    let (decoder, frameTakers, unitTakers) = state.withLock {
      ($0.decoder, $0.frameTakers, $0.unitTakers)
    }
    let isDecoderWaitedFor =
      pace.waitsForDecoder
      || frameTakers.contains { $0.pressure == .everyOne }
      || outputs.contains { $0.holdsFarEnd && $0.format.input == .frames }
    if isDecoderWaitedFor, let decoder, decoder.isCrowded { return .decoder(decoder) }
    let lane = outputs.first { output in
      output.holdsFarEnd && output.format.input == .units && output.lane.isCrowded
    }
    if let lane { return .lane(lane.lane) }
    return unitTakers.first { $0.isCrowded }.map { .taker($0) }
  }

  /// Ends a connection that another will follow: its last frames come out, and nothing of the next
  /// one is taken for their continuation.
  func endConnection() {
    let decoder = state.withLock { state in
      state.awaitsRandomAccess = false
      state.outputsAwaitRandomAccess = true
      return state.decoder
    }
    decoder?.beginFlush()
  }

  /// Whether the wanted number of frames has come.
  var isComplete: Bool { state.withLock { $0.statistics.frames == configuration.frameLimit } }

  /// Drops what waits to be decoded.
  func abandonDecoding() { state.withLock(\.decoder)?.abandon() }

  /// Waits for the decoder's last frames and closes it.
  func finishDecoding() async {
    guard let decoder = state.withLock(\.decoder) else { return }
    await decoder.flush()
    await decoder.close()
    state.withLock { $0.constantRate?.finish() ?? [] }.forEach(show)
  }

  /// Hands `unit` to the decoder; `false` if it was dropped, so that decoding awaits a
  /// random-access point.
  private func decode(_ unit: AccessUnit) -> Bool {
    let (isAdmitted, open) = state.withLock { state -> (Bool, VideoDecoder?) in
      if state.awaitsRandomAccess {
        guard unit.isRandomAccess else {
          state.statistics.droppedBeforeDecoder += 1
          return (false, nil)
        }
        state.awaitsRandomAccess = false
      }
      return (true, state.decoder)
    }
    guard isAdmitted else { return false }
    guard let decoder = open ?? openDecoder(for: unit) else { return true }
    guard decoder.submit(unit) == .full else { return true }
    state.withLock { state in
      state.statistics.droppedBeforeDecoder += 1
      state.awaitsRandomAccess = true
    }
    // The dropped units are a loss, which later pictures that refer past the next key picture must
    // know about.
    decoder.beginFlush()
    return false
  }

  private func openDecoder(for unit: AccessUnit) -> VideoDecoder? {
    do {
      var setup = VideoDecoder.Configuration()
      setup.queueLimits = Self.decoderQueue
      setup.lossTreatment = configuration.lossTreatment
      setup.allowedDecoders = Set(configuration.stream.formats.codecs.map(\.decoderName))
      let decoder = try VideoDecoder(
        codec: unit.codec, configuration: setup,
        onFrame: { [weak self] frame in self?.deliver(frame) },
        onFailure: { [weak self] failure in self?.note(failure) })
      state.withLock { $0.decoder = decoder }
      return decoder
    } catch {
      state.withLock { $0.isOver = true }
      end(.decoderFailed(error))
      return nil
    }
  }

  // MARK: - On the decoder's thread

  private func deliver(_ frame: RawFrame) {
    guard configuration.constantRate else { return show(frame) }
    state.withLock { $0.constantRate?.place(frame) ?? [] }.forEach(show)
  }

  private func show(_ placement: ConstantRate.Placement) {
    if let repeated = placement.repeated {
      for time in placement.times where !state.withLock(\.isOver) {
        if let again = RawFrame(repeating: repeated, at: time) { show(again) }
      }
    }
    if let frame = placement.frame {
      show(frame)
    } else {
      state.withLock { $0.statistics.surplus += 1 }
    }
  }

  private func show(_ frame: RawFrame) {
    guard let (isLast, takers) = state.withLock({ $0.take(frame, configuration, pace) })
    else { return }
    configuration.onFrame?(frame)
    for taker in takers { taker.put(frame) }
    for output in outputs where output.format.input == .frames { output.lane.write(frame) }
    if isLast { end(.framesReached) }
  }

  private func note(_ failure: DecodeFailure) {
    state.withLock { state in
      state.statistics.note(failure.reason)
      if case .decoder = failure.reason { state.hasFailed = true }
    }
  }
}

extension Distribution {
  /// Who gets an access unit, and what was known when it came.
  fileprivate struct Intake: Sendable {
    let takers: [Handover<AccessUnit>]
    let isForOutputs: Bool
    let decodes: Bool
    /// The decoder could not use an earlier unit; what this one causes is reported with the next.
    let hasFailed: Bool
    /// Whether it is the last one wanted.
    let isLast: Bool
  }
}

extension Distribution.State {
  /// Whether to decode: when frames are wanted, or nothing at all.
  fileprivate func decodes(_ configuration: Receiver.Configuration) -> Bool {
    configuration.wantsFrames || !frameTakers.isEmpty
      || !configuration.wantsAnything && unitTakers.isEmpty
  }

  /// Counts `unit`; returns who gets it, or `nil` when it is no longer wanted.
  fileprivate mutating func take(
    _ unit: AccessUnit, _ configuration: Receiver.Configuration
  ) -> Distribution.Intake? {
    guard !isOver else { return nil }
    statistics.accessUnits += 1
    if unit.integrity == .damaged { statistics.damagedAccessUnits += 1 }
    let decodes = decodes(configuration)
    if !decodes {
      if configuration.recordsFrames {
        frames.append(FrameRecord(number: statistics.accessUnits, unit: unit))
      }
      if statistics.accessUnits == configuration.frameLimit { isOver = true }
    }
    if unit.isRandomAccess { outputsAwaitRandomAccess = false }
    if outputsAwaitRandomAccess { statistics.skippedAfterReconnecting += 1 }
    defer { hasFailed = false }
    return Distribution.Intake(
      takers: unitTakers, isForOutputs: !outputsAwaitRandomAccess, decodes: decodes,
      hasFailed: hasFailed, isLast: isOver)
  }

  /// Counts `frame`; returns whether it is the last one wanted and who gets it, or `nil` when it is
  /// no longer wanted.
  fileprivate mutating func take(
    _ frame: RawFrame, _ configuration: Receiver.Configuration, _ pace: Pace
  ) -> (isLast: Bool, takers: [Handover<RawFrame>])? {
    guard !isOver else { return nil }
    statistics.frames += 1
    statistics.conditions[frame.condition, default: 0] += 1
    if let cause = frame.damage { statistics.damages[cause, default: 0] += 1 }
    freezes.note(
      frame.time, isNew: frame.condition != .repeated, arrival: frame.lastArrival)
    statistics.freezes = freezes.statistics
    if frame.condition != .repeated {
      if pace.measuresLatency { statistics.note(latency: frame.lastArrival.nanoseconds(to: .now)) }
    }
    if configuration.recordsFrames {
      frames.append(FrameRecord(number: statistics.frames, frame: frame))
    }
    if statistics.frames == configuration.frameLimit { isOver = true }
    return (isOver, frameTakers)
  }
}

/// What a stream produced: access units and frames, in totals since the start.
public struct DeliveryStatistics: Counted, Hashable {
  public internal(set) var accessUnits: UInt64 = 0
  /// Of these, the ones with something missing.
  public internal(set) var damagedAccessUnits: UInt64 = 0
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
  /// Access units dropped for lack of room before the decoder, up to the next random-access point.
  public internal(set) var droppedBeforeDecoder: UInt64 = 0
  /// Access units at the start of a later connection that were not written to elementary streams,
  /// because decoding could not begin with them.
  public internal(set) var skippedAfterReconnecting: UInt64 = 0
  /// Nanoseconds from the arrival of a frame's last packet to the decoded frame: the mean of the
  /// last frames, each new one weighing a sixteenth.
  public internal(set) var latency: Double = 0
  /// The maximum, in nanoseconds.
  public internal(set) var greatestLatency: Int64 = 0

  public static let counters: [Counter<DeliveryStatistics>] = [
    Counter("access_units", .accessUnits, \.accessUnits),
    Counter("damaged_access_units", .accessUnits, \.damagedAccessUnits),
    Counter("frames", .frames, \.frames),
    Counter("surplus", .frames, \.surplus),
    Counter("dropped_before_decoder", .accessUnits, \.droppedBeforeDecoder),
    Counter("skipped_after_reconnecting", .accessUnits, \.skippedAfterReconnecting),
  ]

  mutating func note(_ reason: DecodeFailure.Reason) {
    failures[reason.kind, default: 0] += 1
  }

  mutating func note(latency new: Int64) {
    latency = latency == 0 ? Double(new) : latency + (Double(new) - latency) / 16
    greatestLatency = max(greatestLatency, new)
  }
}
