import Decode
import Defragment
import Outputs
import RTPWire

/// Decides who gets each access unit and each frame of a run, counts them, and says when there are
/// enough.
struct Allotment: Sendable {
  /// Who gets an access unit, and what follows from it.
  struct UnitShare: Sendable, Hashable {
    /// What shows that the picture before was the last one wanted: nobody gets it.
    static let surplus = UnitShare(
      isWanted: false, isForOutputs: false, isForDecoder: false, canContinue: true, isLast: true)

    /// Whether anybody gets it.
    let isWanted: Bool
    /// Whether outputs of access units get it.
    let isForOutputs: Bool
    let isForDecoder: Bool
    /// Whether decoding can continue with the next unit, as far as the units before this one tell.
    let canContinue: Bool
    /// Whether it is the last one wanted, or the last one came before it.
    let isLast: Bool
  }

  /// What follows from a frame.
  struct FrameShare: Sendable, Hashable {
    /// Its place among the frames of the run, from 1.
    let number: UInt64
    /// Whether it is the last one wanted.
    let isLast: Bool
  }

  /// Whether a loop waits for frames.
  var hasFrameTaker = false
  /// Whether a loop waits for access units.
  var hasUnitTaker = false
  /// Whether a loop waits for sound.
  var hasSoundTaker = false
  /// Whether nothing more is wanted.
  private(set) var isOver = false
  private(set) var statistics = DeliveryStatistics()

  private let frameLimit: UInt64?
  private let wantsFrames: Bool
  private let wantsAnything: Bool
  private let measuresLatency: Bool
  /// Which units are in recordings; `nil` where others want them too.
  private var recordable: RecordableUnits?
  /// Whether they hold the last one.
  private var holdsLast = false
  /// What counts anew on each connection.
  private let recordings: RecordableUnits?
  /// The decoder's queue was full: units that depend on the dropped one are useless too.
  private var decoderAwaitsRandomAccess = false
  /// A connection has ended: what comes on the next one cannot be decoded before such a point.
  private var outputsAwaitRandomAccess = false
  /// The decoder could not use a unit although it came.
  private var hasFailed = false
  /// Whether the last picture was not intact.
  private var isDamaged = false
  private var freezes = FreezeMeter()
  /// When a live run began.
  private var start: Instant?

  /// Begins a run; `measuresLatency` says that arrivals are times of this machine.
  init(_ configuration: Receiver.Configuration, measuresLatency: Bool) {
    frameLimit = configuration.frameLimit
    wantsFrames = configuration.wantsFrames
    wantsAnything = configuration.wantsAnything
    self.measuresLatency = measuresLatency
    recordings =
      configuration.onlyRecords
      ? RecordableUnits(inFiles: configuration.outputs.contains(where: \.target.isFile)) : nil
    recordable = recordings
  }

  /// Notes when the run begins to receive.
  mutating func begin(at now: Instant) { if measuresLatency { start = now } }

  /// Notes that a live run received until `end`, and that all of its frames have come out.
  mutating func finish(receivedUntil end: Instant) {
    guard measuresLatency else { return }
    statistics.pictures.end(at: end)
    statistics.endSound(at: end)
  }

  /// Whether as many frames came as are wanted, or as many pictures where nothing is decoded; the
  /// second field of the last may be still to come.
  var isComplete: Bool {
    (decodes ? statistics.frames : statistics.usableUnits) == frameLimit
  }

  /// Whether so many came, and nothing more belongs to the last.
  var hasEnough: Bool { isOver && isComplete }

  /// Whether the wanted number of frames may come of the first `count` access units.
  func mayHaveEnough(of count: UInt64) -> Bool { frameLimit.map { $0 <= count } ?? false }

  /// Whether to decode: when frames are wanted, or nothing at all.
  var decodes: Bool {
    wantsFrames || hasFrameTaker || !wantsAnything && !hasUnitTaker && !hasSoundTaker
  }

  /// Counts `unit`; `nil` when it is no longer wanted.
  mutating func take(_ unit: AccessUnit) -> UnitShare? {
    guard !isOver else { return nil }
    if !decodes, isComplete, unit.fields != .second {
      isOver = true
      return .surplus
    }
    statistics.accessUnits += 1
    if unit.isRandomAccess { statistics.keyUnits += 1 }
    if unit.integrity == .damaged { statistics.damagedAccessUnits += 1 }
    if !decodes {
      statistics.pictures.note(unit)
      noteFirstPicture(at: unit.lastArrival)
      count(unit)
      // Only what follows a first field shows whether it has another one.
      if isComplete, unit.fields != .first { isOver = true }
    }
    if unit.isRandomAccess { outputsAwaitRandomAccess = false }
    if outputsAwaitRandomAccess { statistics.skippedAfterReconnecting += 1 }
    let isAnswer = unit.isRandomAccess && unit.integrity == .whole
    // What this unit causes is reported with the next one.
    defer { hasFailed = false }
    return UnitShare(
      isWanted: true, isForOutputs: !outputsAwaitRandomAccess, isForDecoder: decodes,
      canContinue: isAnswer || !hasFailed, isLast: isOver)
  }

  /// Counts `unit` where nothing is decoded: what is in no recording, and what is no picture of its
  /// own.
  private mutating func count(_ unit: AccessUnit) {
    let isSecond = unit.fields == .second
    if !hasUnitTaker, recordable?.takes(unit) == false {
      // A second field may take back what was said of the first.
      statistics.beforeKeyPicture += isSecond && holdsLast ? 2 : 1
      holdsLast = false
    } else {
      if isSecond { statistics.secondFields += 1 }
      holdsLast = true
    }
  }

  /// Counts a unit of the sound; `false` when it is no longer wanted.
  mutating func take(_ unit: SoundUnit) -> Bool {
    guard !isOver else { return false }
    statistics.note(unit)
    return true
  }

  /// Whether the decoder gets `unit`, which was meant for it; otherwise it counts as dropped.
  mutating func admitToDecoder(_ unit: AccessUnit) -> Bool {
    guard decoderAwaitsRandomAccess else { return true }
    guard unit.isRandomAccess else {
      statistics.droppedBeforeDecoder += 1
      return false
    }
    decoderAwaitsRandomAccess = false
    return true
  }

  /// Notes that a loop of the program had no room for what it was to get.
  mutating func loopWasFull() { statistics.droppedBeforeLoops += 1 }

  /// Notes that the decoder had no room for a unit that it was to get.
  mutating func decoderWasFull() {
    statistics.droppedBeforeDecoder += 1
    decoderAwaitsRandomAccess = true
  }

  /// Notes that a picture is left out because it is not intact: until the next one comes, the last
  /// one stands as if it were repeated.
  mutating func noteSkipped(_ time: MediaTime, arrival: Instant) {
    guard !isOver else { return }
    noteDamage(mayBeOfReference: true)
    freezes.note(time, isNew: false, arrival: arrival)
    statistics.freezes = freezes.statistics
  }

  /// Notes a picture that is not intact, because of one that it refers to or not.
  ///
  /// Of those that the sender left out the decoder alone knows, so that nobody has asked for a key
  /// picture.
  private mutating func noteDamage(mayBeOfReference: Bool) {
    if mayBeOfReference, !isDamaged { hasFailed = true }
    isDamaged = true
  }

  /// Notes what happened to the decoder's box.
  mutating func note(_ event: DecoderBoxEvent) { statistics.note(event) }

  /// Notes that a unit became no frame.
  mutating func note(_ reason: DecodeFailure.Reason) {
    statistics.note(reason)
    switch reason {
    case .decoder, .decoderLost: hasFailed = true
    // Behind the last frame that is wanted, nobody misses it.
    case .closed where !isOver: statistics.undecodedAtEnd += 1
    default: break
    }
  }

  /// Counts `frame`; `nil` when it is no longer wanted.
  mutating func take(_ frame: RawFrame, at now: Instant) -> FrameShare? {
    guard !isOver else { return nil }
    statistics.frames += 1
    statistics.conditions[frame.condition, default: 0] += 1
    if let cause = frame.damage {
      statistics.damages[cause, default: 0] += 1
      noteDamage(mayBeOfReference: cause == .reference)
    } else if frame.origin != nil {
      isDamaged = false
    }
    let isNew = frame.condition != .repeated
    freezes.note(frame.time, isNew: isNew, arrival: frame.lastArrival)
    statistics.freezes = freezes.statistics
    if isNew {
      statistics.pictures.note(frame)
      noteFirstPicture(at: now)
      if measuresLatency { statistics.note(latency: frame.lastArrival.nanoseconds(to: now)) }
    }
    if statistics.frames == frameLimit { isOver = true }
    return FrameShare(number: statistics.frames, isLast: isOver)
  }

  private mutating func noteFirstPicture(at now: Instant) {
    guard let start, statistics.pictures.pictures > 0, statistics.pictures.firstPicture == nil
    else { return }
    statistics.pictures.firstPicture = start.duration(to: now)
  }

  /// Counts a frame that is dropped, because its interval already has one.
  mutating func dropSurplus() { statistics.surplus += 1 }

  /// Ends a connection that another will follow.
  mutating func connectionEnded() {
    decoderAwaitsRandomAccess = false
    outputsAwaitRandomAccess = true
    recordable = recordings
    holdsLast = false
  }

  /// Ends the run: nothing more is wanted.
  mutating func end() { isOver = true }
}
