import Bitstream
import Defragment
import RTPWire

/// The files of a recording: when one begins, and how it ends.
extension Recorder {
  /// Begins the file once enough is known of its first pictures.
  mutating func openIfReady() throws(RecordingError) {
    guard case .opening(let opening) = state else { return }
    // Sound may begin later than the pictures. A second is enough also for sound that the far end
    // describes: cameras describe it and send none, and the readers of pipes want to see something.
    let isComplete = input.track.isCurrent || hasBegun && input.track.sound == nil
    let isReady =
      if let depth = depth(for: opening) {
        isComplete && opening.pictures > depth && rhythm.isKnown || opening.isLong
      } else { opening.showsDepth }
    if isReady || opening.isFull { try open(opening) }
  }

  mutating func open(_ opening: RecordingOpening) throws(RecordingError) {
    let depth =
      depth(for: opening) ?? DecodingTimes.depth(of: opening.units.map(\.time.ticks))
    if opening.format?.reorderDepth == nil { learnedDepth = depth }
    var file: RecordingFile
    do {
      file = try RecordingFile(
        opening, depth: depth, rate: rhythm.rate,
        beside: refusal == nil ? input.track.current : nil, configuration)
    } catch {
      guard input.track.current != nil, refusal == nil else {
        return try refuse(opening.items, error)
      }
      do {
        file = try RecordingFile(
          opening, depth: depth, rate: rhythm.rate, beside: nil, configuration)
      } catch { return try refuse(opening.items, error) }
      // Sound never stops the pictures.
      refusal = "\(error)"
    }
    file.leftOut = opening.leftOut
    begin(&file)
    for element in opening.elements {
      switch element {
      case .picture(let unit): writeNext(unit, to: &file)
      case .sound(let sample) where file.takes(sample): write(sample, to: &file)
      case .sound(let sample): unfiled += sample.items
      }
    }
    state = .recording(file)
  }

  /// Leaves out what no file can hold, such as sound that a container has no header for: one piece
  /// of it would otherwise end the recording.
  mutating func refuse(_ items: Int, _ error: RecordingError) throws(RecordingError) {
    guard configuration.canContinue, case .cannotMux(let container, let reason) = error else {
      throw error
    }
    unfiled += items
    state = .waiting
    fileRefusal = RecordingError.refusal(container, reason)
  }

  /// Why the last file could not begin, once.
  mutating func takeFileRefusal() -> String? {
    defer { fileRefusal = nil }
    return fileRefusal
  }

  mutating func begin(_ file: inout RecordingFile) {
    pause = nil
    hasBegun = true
    if !wasLongEnough { allowance.noteFile(at: lastArrival) }
    actions.append(.begin(FileBeginning(start: file.wallClock)))
    if let record = file.begin() { actions.append(.write(record)) }
  }

  /// How far the pictures are reordered; `nil` where that has to be seen.
  func depth(for opening: RecordingOpening) -> Int? {
    opening.format?.reorderDepth.map { max($0, learnedDepth ?? 0) } ?? learnedDepth
  }

  /// Ends the file because what follows belongs to another time.
  ///
  /// A pipe goes on, and so does a file whose pictures need those before (`isContinued`), up to the
  /// next one with which another can begin.
  mutating func separate(
    because reason: FileReason, at time: MediaTime?, isContinued: Bool = false
  ) throws(RecordingError) {
    guard isContinued || !configuration.canContinue else { return try end(because: reason) }
    if case .opening(let opening) = state { try open(opening) }
    guard case .recording(var file) = state else { return }
    writeHeld(to: &file)
    if isContinued { overdue = reason }
    if reason == .clock, let time { file.resume(at: time) }
    state = .recording(file)
  }

  /// Ends the file; if the stream goes on, the next picture is shown at `next`.
  mutating func end(
    because reason: FileReason, before next: MediaTime? = nil
  ) throws(RecordingError) {
    if case .opening(let opening) = state { try open(opening) }
    defer {
      state = .waiting
      if reason != .time { entries.beginAnew() }
      overdue = nil
      keys.beginFile()
    }
    guard case .recording(var file) = state else { return }
    writeHeld(to: &file, before: next)
    wasLongEnough = reason == .time
    for sample in nextSound {
      if file.takes(sample) { write(sample, to: &file) } else { unfiled += sample.items }
    }
    nextSound = []
    if file.needsMoreDepth { learnedDepth = max(learnedDepth ?? 0, file.pictures?.depth ?? 0) + 1 }
    var (last, ending) = file.finish(because: reason)
    ending.segment = segment
    segment = configuration.segment
    if let last { actions.append(.write(last)) }
    actions.append(.end(ending))
  }

  /// Why the file ends before `unit`, with which no other can begin; `nil` if it goes on.
  ///
  /// Where the header alone has parameter sets, those of a key picture that is not whole are lost,
  /// and what needs them would be decoded with others, up to the next whole one.
  func loss(of own: StreamSets, in unit: AccessUnit) -> FileReason? {
    guard own.isComplete(for: unit.codec) || unit.isRandomAccess,
      configuration.container.takesSetsFromHeader(of: unit.codec)
    else { return nil }
    let sets: StreamSets? =
      switch state {
      case .waiting: nil
      case .opening(let opening): opening.first.codec == unit.codec ? opening.sets : nil
      case .recording(let file): file.pictures?.codec == unit.codec ? file.pictures?.sets : nil
      }
    return sets?.contains(own) == false ? .parameters : nil
  }
}
