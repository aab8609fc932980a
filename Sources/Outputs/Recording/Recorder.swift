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
    var clock: WallClock
    /// Whether earlier bytes of a file can be replaced.
    var canSeek = true
    /// Whether other files can follow; a pipe is one file.
    var canContinue = true
  }

  private enum State {
    /// For a picture with which a file can begin.
    case waiting
    /// The first pictures wait until it is known how they are reordered.
    case opening(RecordingOpening)
    case recording(RecordingFile)
  }

  /// How many pictures and pieces of sound are in no file.
  var skipped: Int { unfiled + input.dropped }
  private var unfiled = 0
  private let configuration: Configuration
  private var state = State.waiting
  /// The first picture since the last file that is in none.
  private var firstMissed: MediaTime?
  private var continuity = Continuity()
  /// The same for sound alone.
  private var soundContinuity = Continuity()
  private var sets: (codec: VideoCodec, sets: StreamSets)?
  /// How far the pictures of files so far were reordered, where the stream does not say it.
  private var learnedDepth: Int?
  /// No file is begun before this arrival, because the last one could not be written.
  private var pause: Instant?
  private var lastArrival = Instant(nanoseconds: .min)
  private var input: RecorderInput
  /// Why the container does not take the sound.
  private var refusal: String?
  /// Why sound is not in a pipe that has begun.
  private var omission: String?
  /// The last picture that came: no sound is far ahead of it.
  private var newestPicture: (time: Int64, arrival: Instant)?
  private var rhythm = PictureRhythm()
  /// Sound alone with which the next file begins, once there is enough of it.
  private var nextSound: [SoundTrack.Sample] = []
  /// The times of the first and the last key picture of the file.
  private var keys: (first: MediaTime, last: MediaTime)?
  /// How long a file lasted in which no key picture came for longer than files are to be.
  private(set) var longestKeyDistance: Double?
  /// Whether a file has been begun before.
  private var hasBegun = false
  private var actions = CircularBuffer<Action>()

  /// By how much this machine's clock may be corrected within a file.
  private static let greatestClockStep = Duration.seconds(1)
  /// How far sound may be ahead of the pictures, beyond what has passed since the last one came.
  private static let greatestLead = Duration.seconds(5)
  /// Less sound than this, at the end, makes no file of its own: it may be the last unit, or what
  /// an encoder had left.
  private static let shortestSound = Duration.milliseconds(300)

  init(_ configuration: Configuration) {
    self.configuration = configuration
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
      if input.isSoundOnly { skip(unit) } else { input.append(unit) }
    case .sound(let unit):
      lastArrival = max(lastArrival, unit.lastArrival)
      input.append(unit)
    case .interruption:
      // A pipe goes on, with silence for what is missing.
      input.interrupt(isContinued: !configuration.canContinue)
      try drain()
      input.reconnect()
      try separate(because: .outage, at: nil)
    }
    try drain()
  }

  /// Ends the recording.
  ///
  /// - Throws: ``RecordingError``.
  mutating func finish() throws(RecordingError) {
    input.finish()
    try drain()
    try end(because: .end)
  }

  /// Why the sound cannot be recorded, if so.
  var soundFailure: String? { refusal ?? input.track.failure ?? omission }

  /// What the sound was and has become, because the container cannot hold it.
  var soundChange: (from: String, to: String)? { input.track.change }

  /// Files what has its place among pictures and sound.
  private mutating func drain() throws(RecordingError) {
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
    actions.removeAll()
    (state, firstMissed) = (.waiting, nil)
    self.pause = lastArrival.advanced(by: pause)
  }

  /// What to do next; `nil` until there is more input.
  mutating func nextAction() -> Action? { actions.popFirst() }

  // MARK: - Pictures

  private mutating func take(_ unit: AccessUnit) throws(RecordingError) {
    if let reason = continuity.judge(unit.time, arrival: unit.firstArrival) {
      try separate(because: reason, at: unit.time)
    }
    newestPicture = (unit.time.nanoseconds, unit.firstArrival)
    rhythm.note(unit)
    let own = noteSets(of: unit)
    let isEntry = isEntry(unit)
    if isEntry, let reason = reasonToEnd(before: unit, with: own) {
      guard configuration.canContinue else { throw .cannotChange(reason) }
      if reason == .time { noteKeyDistance(before: unit) }
      try end(because: reason)
    }
    if isEntry { keys = (keys?.first ?? unit.time, unit.time) }
    switch state {
    case .waiting:
      guard isEntry, !isPausing else { return skip(unit) }
      firstMissed = nil
      state = .opening(
        RecordingOpening(
          with: unit, sets: sets?.sets ?? own, clockOffset: configuration.clock.offset()))
      try openIfReady()
    case .opening(var opening):
      // What is changed must not be in use elsewhere, or all of it is copied.
      state = .waiting
      if !opening.append(unit) { unfiled += 1 }
      state = .opening(opening)
      try openIfReady()
    case .recording(var file):
      if file.takes(unit) { write(unit, to: &file) } else { unfiled += 1 }
      state = .recording(file)
    }
  }

  /// The parameter sets of `unit`, which later pictures may need.
  private mutating func noteSets(of unit: AccessUnit) -> StreamSets {
    let own = StreamSets(in: unit)
    if own.isComplete { sets = (unit.codec, own) }
    return own
  }

  /// Leaves out a picture that no file is there for.
  private mutating func skip(_ unit: AccessUnit) {
    unfiled += 1
    firstMissed = firstMissed ?? unit.time
  }

  /// Whether the last file could not be written, and it is too early for another.
  private var isPausing: Bool { pause.map { lastArrival < $0 } ?? false }

  private mutating func write(_ unit: AccessUnit, to file: inout RecordingFile) {
    do {
      if let record = try file.write(unit, isKey: unit.isEntryPoint) {
        actions.append(.write(record))
      }
    } catch {
      // A picture that the muxer refuses costs nothing but itself.
      unfiled += 1
    }
  }

  /// Whether a file can begin with `unit`.
  private func isEntry(_ unit: AccessUnit) -> Bool {
    guard unit.isRandomAccess, unit.integrity == .whole, unit.format != nil,
      unit.codec.parameterSetTypes.isEmpty || sets?.codec == unit.codec
    else { return false }
    if unit.isEntryPoint { return true }
    guard let firstMissed else { return false }
    return unit.time.nanoseconds(since: firstMissed) >= RecorderInput.patience.wholeNanoseconds
  }

  /// Why the file has to end before `unit`, with which another can begin; `nil` if it goes on.
  private func reasonToEnd(before unit: AccessUnit, with own: StreamSets) -> FileReason? {
    if case .opening(let opening) = state {
      guard opening.isContinued(by: unit) else { return .parameters }
      guard configuration.canContinue else { return nil }
      return reasonToEnd(
        after: unit.time.nanoseconds(since: opening.first.time), clockOffset: opening.clockOffset)
    }
    guard case .recording(let file) = state else { return nil }
    guard let pictures = file.pictures else { return .track }
    guard pictures.codec == unit.codec, pictures.timescale == unit.time.timescale,
      pictures.sets.contains(own)
    else { return .parameters }
    // A pipe is one file, whatever the clocks do.
    guard configuration.canContinue else { return nil }
    let age = file.age(at: unit.time.nanoseconds)
    if let reason = reasonToEnd(after: age, clockOffset: file.clockOffset) { return reason }
    // Sound that came too late for the file is in the next one.
    if let sound = input.track.sound, sound != file.sound, refusal == nil { return .track }
    return file.needsMoreDepth ? .reordering : nil
  }

  /// Why a file has to end that is `age` nanoseconds long and began with this offset of the clocks.
  private func reasonToEnd(after age: Int64, clockOffset: Int64) -> FileReason? {
    let step = configuration.clock.offset().subtractingSaturating(clockOffset)
    if step.magnitude > UInt64(Self.greatestClockStep.wholeNanoseconds) { return .clockSet }
    guard let segment = configuration.segment else { return nil }
    return age >= segment.wholeNanoseconds ? .time : nil
  }

  /// Notes where the file has no key picture but its first, and is thus longer than it is to be.
  private mutating func noteKeyDistance(before unit: AccessUnit) {
    guard let segment = configuration.segment, let keys, keys.first == keys.last else { return }
    let distance = unit.time.nanoseconds(since: keys.first)
    // A key picture that is late by one or two is not rare.
    guard distance > segment.wholeNanoseconds / 20 * 21 else { return }
    longestKeyDistance = longestKeyDistance ?? Double(distance) / 1e9
  }

  // MARK: - Sound

  /// Ends a file of sound alone if another can begin with `unit`, and only then: until then, the
  /// sound would be in no file.
  private mutating func endSoundAlone(before unit: AccessUnit) throws(RecordingError) {
    _ = noteSets(of: unit)
    guard configuration.container.holdsPictures, isEntry(unit), !isPausing else { return }
    input.flush()
    try drain()
    if case .recording = state, !configuration.canContinue { throw .cannotChange(.track) }
    let missed = firstMissed
    try end(because: .track)
    firstMissed = missed
    input.endSoundAlone()
  }

  private mutating func take(_ sample: SoundTrack.Sample) throws(RecordingError) {
    if input.isSoundOnly {
      guard try beginSoundFile(with: sample) else { return }
    } else if isFar(sample) {
      unfiled += sample.items
      return
    }
    switch state {
    case .waiting: unfiled += sample.items
    case .opening(var opening):
      guard sample.start >= opening.first.time.nanoseconds else {
        unfiled += sample.items
        return
      }
      state = .waiting
      opening.append(sample)
      state = .opening(opening)
      try openIfReady()
    case .recording(var file):
      if file.takes(sample) {
        write(sample, to: &file)
      } else {
        unfiled += sample.items
        if sample.sound != file.sound { noteOmission(from: file) }
      }
      state = .recording(file)
    }
  }

  /// Whether `sample` is so far ahead of the pictures that its time is wrong: in a file, it would
  /// keep out the sound after it.
  private func isFar(_ sample: SoundTrack.Sample) -> Bool {
    guard let newestPicture else { return false }
    let passed = max(0, newestPicture.arrival.nanoseconds(to: sample.arrival))
    return sample.start.subtractingSaturating(newestPicture.time).subtractingSaturating(passed)
      > Self.greatestLead.wholeNanoseconds
  }

  /// Notes that sound is not in `file`, which is a pipe and thus not followed by one that has it.
  private mutating func noteOmission(from file: RecordingFile) {
    guard !configuration.canContinue else { return }
    omission =
      file.sound == nil
      ? "it began after the header of a pipe, which is written once"
      : "its format changed, and the header of a pipe is written once"
  }

  /// Begins a file of sound alone, where one has to begin with `sample`.
  ///
  /// - Returns: whether `sample` can be recorded now; otherwise it waits for more.
  private mutating func beginSoundFile(
    with sample: SoundTrack.Sample
  ) throws(RecordingError) -> Bool {
    let time = MediaTime(ticks: sample.start, timescale: 1_000_000_000)
    if let reason = soundContinuity.judge(time, arrival: sample.arrival) {
      try separate(because: reason, at: time)
    }
    if case .recording(let file) = state {
      if file.sound != sample.sound {
        guard configuration.canContinue else { throw .cannotChange(.track) }
        try end(because: .track)
      } else if configuration.canContinue,
        let reason = reasonToEnd(
          after: file.age(at: sample.start), clockOffset: file.clockOffset)
      {
        guard reason == .time else {
          try end(because: reason)
          return try beginSoundFile(with: sample)
        }
        nextSound.append(sample)
        let enough = min(Self.shortestSound, configuration.segment ?? Self.shortestSound)
        let length = sample.start.subtractingSaturating(nextSound[0].start)
        guard length >= enough.wholeNanoseconds else { return false }
        let sound = nextSound
        nextSound = []
        try end(because: .time)
        for sample in sound { try take(sample) }
        return false
      }
    }
    guard case .waiting = state, !isPausing else { return true }
    var file = try RecordingFile(first: sample, configuration)
    begin(&file)
    state = .recording(file)
    return true
  }

  private mutating func write(_ sample: SoundTrack.Sample, to file: inout RecordingFile) {
    do {
      if let record = try file.write(sample) { actions.append(.write(record)) }
    } catch {
      unfiled += sample.items
    }
  }

  // MARK: - Files

  /// Begins the file once enough is known of its first pictures.
  private mutating func openIfReady() throws(RecordingError) {
    guard case .opening(let opening) = state else { return }
    // Sound may begin later than the pictures.
    let isComplete = hasBegun || input.track.sound != nil
    let isReady =
      if let depth = depth(for: opening), isComplete {
        opening.pictures > depth && rhythm.isKnown || opening.isLong
      } else { opening.isLong }
    if isReady || opening.isFull { try open(opening) }
  }

  private mutating func open(_ opening: RecordingOpening) throws(RecordingError) {
    let depth =
      depth(for: opening) ?? DecodingTimes.depth(of: opening.units.map(\.time.ticks))
    if opening.format?.reorderDepth == nil { learnedDepth = depth }
    var file: RecordingFile
    do {
      file = try RecordingFile(
        opening, depth: depth, rate: rhythm.rate, beside: refusal == nil ? input.track.sound : nil,
        configuration)
    } catch {
      guard input.track.sound != nil, refusal == nil else { throw error }
      // Sound never stops the pictures.
      refusal = "\(error)"
      file = try RecordingFile(
        opening, depth: depth, rate: rhythm.rate, beside: nil, configuration)
    }
    file.leftOut = opening.leftOut
    begin(&file)
    for element in opening.elements {
      switch element {
      case .picture(let unit): write(unit, to: &file)
      case .sound(let sample) where file.takes(sample): write(sample, to: &file)
      case .sound(let sample): unfiled += sample.items
      }
    }
    state = .recording(file)
  }

  private mutating func begin(_ file: inout RecordingFile) {
    pause = nil
    hasBegun = true
    actions.append(.begin(FileBeginning(start: file.wallClock)))
    if let record = file.begin() { actions.append(.write(record)) }
  }

  /// How far the pictures are reordered; `nil` where that has to be seen.
  private func depth(for opening: RecordingOpening) -> Int? {
    opening.format?.reorderDepth.map { max($0, learnedDepth ?? 0) } ?? learnedDepth
  }

  /// Ends the file because what follows belongs to another time; a pipe goes on.
  private mutating func separate(
    because reason: FileReason, at time: MediaTime?
  ) throws(RecordingError) {
    guard !configuration.canContinue else { return try end(because: reason) }
    if case .opening(let opening) = state { try open(opening) }
    guard case .recording(var file) = state else { return }
    if reason == .clock, let time { file.resume(at: time) }
    state = .recording(file)
  }

  private mutating func end(because reason: FileReason) throws(RecordingError) {
    if case .opening(let opening) = state { try open(opening) }
    defer { (state, firstMissed, keys) = (.waiting, nil, nil) }
    guard case .recording(var file) = state else { return }
    for sample in nextSound {
      if file.takes(sample) { write(sample, to: &file) } else { unfiled += sample.items }
    }
    nextSound = []
    if file.needsMoreDepth { learnedDepth = max(learnedDepth ?? 0, file.pictures?.depth ?? 0) + 1 }
    var (last, ending) = file.finish(because: reason)
    ending.segment = configuration.segment
    if let last { actions.append(.write(last)) }
    actions.append(.end(ending))
  }
}
