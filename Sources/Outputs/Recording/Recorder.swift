import Bitstream
import Decode
import Defragment
import NIOCore
import RTPWire

/// Decides what of a stream goes into which file, and makes the bytes of the files.
///
/// It does no I/O: it says what to do, and ``RecordingFiles`` does it. A file begins with an intact
/// key picture and its parameter sets, and ends where what follows cannot be in it.
struct Recorder {
  /// What to do, in this order.
  enum Action {
    /// Begin a file; all records up to the end belong to it.
    case begin(FileBeginning)
    case write(OutputRecord)
    /// Nothing more comes for this file.
    case end(FileEnding)
  }

  struct Configuration {
    var container: Container
    /// How long a file is at least.
    var segment: Duration?
    /// The same for the first file.
    var firstSegment: Duration?
    var clock: WallClock
    /// Whether earlier bytes of a file can be replaced.
    var canSeek = true
    /// Whether other files can follow; a pipe is one file.
    var canContinue = true
  }

  enum State {
    /// For a picture with which a file can begin.
    case waiting
    /// The first pictures wait until it is known how they are reordered.
    case opening(RecordingOpening)
    case recording(RecordingFile)
  }

  /// How many pictures and pieces of sound are in no file.
  var skipped: Int { unfiled + input.dropped }
  var unfiled = 0
  let configuration: Configuration
  var state = State.waiting
  var entries = FileEntries()
  private var continuity = Continuity()
  /// The same for sound alone.
  var soundContinuity = Continuity()
  /// How far the pictures of files so far were reordered, where the stream does not say it.
  var learnedDepth: Int?
  /// No file is begun before this arrival, because the last one could not be written.
  var pause: Instant?
  /// How many files may begin that were not asked for.
  var allowance = FileAllowance()
  /// Whether the last file ended because it was long enough.
  var wasLongEnough = false
  /// Whether parts of the stream are in no file because it changes too often.
  private(set) var changesTooOften = false
  var lastArrival = Instant(nanoseconds: .min)
  var input: RecorderInput
  /// Why the container does not take the sound.
  var refusal: String?
  /// Why the last file could not begin.
  var fileRefusal: String?
  /// Why sound is not in a pipe that has begun.
  var omission: String?
  /// The last picture that came: no sound is far ahead of it.
  private(set) var newestPicture: (time: Int64, arrival: Instant)?
  var rhythm = PictureRhythm()
  /// Sound alone with which the next file begins, once there is enough of it.
  var nextSound: [SoundTrack.Sample] = []
  /// The last sound that came before the first picture.
  var earlySound: SoundTrack.Sample?
  var keys = KeyDistances()
  private(set) var pace = SenderPace()
  /// Whether a file has been begun before.
  var hasBegun = false
  /// Why the file ends before the next picture with which another can begin.
  var overdue: FileReason?
  /// How long this file is to be.
  var segment: Duration?
  /// A picture after which the file may end: if it does, the next one says how long this lasts.
  var held: AccessUnit?
  var actions = CircularBuffer<Action>()

  /// By how much this machine's clock may be corrected within a file.
  private static let greatestClockStep = Duration.seconds(1)
  /// So long before a file may end, its pictures begin to wait for the next one.
  private static let greatestInterval = Duration.seconds(1)

  init(_ configuration: Configuration) {
    self.configuration = configuration
    segment = configuration.firstSegment ?? configuration.segment
    input = RecorderInput(for: configuration.container)
  }

  // MARK: - Inputs

  /// Takes the next item.
  ///
  /// - Throws: ``RecordingError`` when this stream cannot be recorded.
  mutating func take(_ item: OutputItem) throws(RecordingError) {
    switch item {
    case .frame, .report: break
    case .unit(let unit):
      lastArrival = max(lastArrival, unit.lastArrival)
      input.notePicture()
      if input.isSoundOnly { try endSoundAlone(before: unit) }
      if input.isSoundOnly { unfiled += 1 } else { input.append(unit) }
    case .sound(let unit):
      lastArrival = max(lastArrival, unit.lastArrival)
      input.append(unit)
    case .interruption:
      // A pipe goes on, with silence for what is missing.
      let isContinued = !configuration.canContinue
      input.interrupt(isContinued: isContinued)
      try drain()
      try separate(because: .outage, at: nil)
      input.reconnect(isContinued: isContinued)
      // What comes next may be of another camera, whose parameter sets are all sent again.
      if !isContinued { entries = FileEntries() }
    }
    try drain()
  }

  /// Completes what the file has got since its last fragment, so that it can be written.
  mutating func completeFragment() {
    guard case .recording(var file) = state else { return }
    state = .waiting
    if let record = file.completeFragment() { actions.append(.write(record)) }
    state = .recording(file)
  }

  /// Ends the recording.
  ///
  /// - Throws: ``RecordingError``.
  mutating func finish() throws(RecordingError) {
    input.finish()
    try drain()
    leaveEarlySound()
    try end(because: .end)
  }

  /// Why the sound cannot be recorded, if so.
  var soundFailure: String? { refusal ?? input.track.failure ?? omission }

  /// What the sound was and has become, because the container cannot hold it.
  var soundChange: (from: String, to: String)? { input.track.change }

  /// Files what has its place among pictures and sound.
  mutating func drain() throws(RecordingError) {
    while let element = input.next() {
      switch element {
      case .picture(let unit): try take(unit)
      case .sound(let sample): try take(sample)
      }
    }
  }

  /// The current file cannot be written any more; the next one begins with the first key picture
  /// after `pause`.
  mutating func fileFailed(pausing pause: Duration) {
    if case .opening(let opening) = state { unfiled += opening.items }
    unfiled += nextSound.reduce(0) { $0 + $1.items }
    nextSound = []
    unfiled += held?.accessUnitCount ?? 0
    (held, overdue) = (nil, nil)
    actions.removeAll()
    state = .waiting
    entries.beginAnew()
    self.pause = lastArrival.advanced(by: pause)
  }

  /// What to do next; `nil` until there is more input.
  mutating func nextAction() -> Action? { actions.popFirst() }

  // MARK: - Pictures

  private mutating func take(_ unit: AccessUnit) throws(RecordingError) {
    if let reason = continuity.judge(.init(unit), at: unit.time, arrival: unit.firstArrival) {
      // A sender that pauses, or sends only what changes, goes on where it was.
      try separate(because: reason, at: unit.time, isContinued: unit.needsThoseBefore)
    }
    newestPicture = (unit.time.nanoseconds, unit.firstArrival)
    rhythm.note(unit)
    pace.note(unit)
    let own = entries.noteSets(of: unit)
    let isEntry = entries.isEntry(unit)
    let reason = isEntry ? reasonToEnd(before: unit, with: own) : loss(of: own, in: unit)
    if let reason {
      if reason == .time { keys.noteEnd(before: unit.time, segment: segment) }
      try end(because: reason, before: unit.time)
      // What came before is whole.
      guard configuration.canContinue else { throw .cannotChange(reason) }
    }
    if isEntry { keys.note(unit.time) }
    switch takeState() {
    case .waiting:
      guard isEntry, !isPausing, let header = entries.header(for: unit) else {
        unfiled += unit.accessUnitCount
        return
      }
      var opening = RecordingOpening(
        with: unit, sets: entries.sets, header: header,
        clockOffset: configuration.clock.offset())
      takeEarlySound(into: &opening)
      state = .opening(opening)
      try openIfReady()
    case .opening(var opening):
      if !opening.append(unit) { unfiled += unit.accessUnitCount }
      state = .opening(opening)
      try openIfReady()
    case .recording(var file):
      if isEntry { file.replaceSets(by: entries.sets, for: own) }
      if file.takes(unit) {
        writeNext(unit, to: &file)
      } else {
        unfiled += unit.accessUnitCount
      }
      state = .recording(file)
    }
  }

  /// Takes the state out, because what is to be changed must not be in use elsewhere: all of it
  /// would be copied.
  mutating func takeState() -> State {
    var taken = State.waiting
    swap(&taken, &state)
    return taken
  }

  /// Whether it is too early for another file, because the last one could not be written, or
  /// because there have been too many.
  var isPausing: Bool {
    mutating get {
      if let pause, lastArrival < pause { return true }
      guard !wasLongEnough, !allowance.allowsFile(at: lastArrival) else { return false }
      changesTooOften = true
      return true
    }
  }

  /// Writes `unit` now, or with what follows if the file may end between them.
  mutating func writeNext(_ unit: AccessUnit, to file: inout RecordingFile) {
    writeHeld(to: &file)
    let age = file.age(at: unit.time.nanoseconds)
    if configuration.canContinue, let segment,
      age >= (segment - Self.greatestInterval).wholeNanoseconds
    {
      held = unit
    } else {
      write(unit, to: &file)
    }
  }

  mutating func writeHeld(
    to file: inout RecordingFile, before next: MediaTime? = nil
  ) {
    guard let unit = held else { return }
    held = nil
    write(unit, to: &file, before: next)
  }

  private mutating func write(
    _ unit: AccessUnit, to file: inout RecordingFile, before next: MediaTime? = nil
  ) {
    do {
      if let record = try file.write(unit, isKey: unit.isEntryPoint, before: next) {
        actions.append(.write(record))
      }
    } catch {
      // A picture that the muxer refuses costs nothing but itself.
      unfiled += unit.accessUnitCount
    }
  }

  /// Why the file has to end before `unit`, with which another can begin; `nil` if it goes on.
  private func reasonToEnd(before unit: AccessUnit, with own: StreamSets) -> FileReason? {
    if case .opening(let opening) = state {
      guard opening.isContinued(by: unit, with: own, in: configuration.container) else {
        return .parameters
      }
      guard configuration.canContinue else { return nil }
      return reasonToEnd(
        after: unit.time.nanoseconds(since: opening.first.time), clockOffset: opening.clockOffset)
    }
    guard case .recording(let file) = state else { return nil }
    guard let pictures = file.pictures else { return .track }
    guard pictures.codec == unit.codec, pictures.timescale == unit.time.timescale,
      configuration.container.goesOn(after: pictures.sets, with: own, of: unit.codec)
    else { return .parameters }
    // A pipe is one file, whatever the clocks do.
    guard configuration.canContinue else { return nil }
    if let overdue { return overdue }
    let age = file.age(at: unit.time.nanoseconds)
    if let reason = reasonToEnd(after: age, clockOffset: file.clockOffset) { return reason }
    // Sound that came too late for the file is in the next one.
    if let sound = input.track.current, sound != file.sound, refusal == nil { return .track }
    return file.needsMoreDepth ? .reordering : nil
  }

  /// Why a file has to end that is `age` nanoseconds long and began with this offset of the clocks.
  func reasonToEnd(after age: Int64, clockOffset: Int64) -> FileReason? {
    let step = configuration.clock.offset().subtractingSaturating(clockOffset)
    if step.magnitude > UInt64(Self.greatestClockStep.wholeNanoseconds) { return .clockSet }
    guard let segment else { return nil }
    return age >= segment.wholeNanoseconds ? .time : nil
  }
}
