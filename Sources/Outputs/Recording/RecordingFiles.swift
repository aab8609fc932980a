import BlockingIO
import Decode
import Glibc
import NIOCore
import RTPWire

/// The files of a recording, or its pipe: carries out what ``Recorder`` says.
///
/// A file that cannot be written ends where it was whole, and the next one is tried.
final class RecordingFiles: OutputDestination {
  /// After this time, what was written is put on the disk: no more than a fragment lasts, so that
  /// each is there before the next one comes.
  private static let syncInterval = Duration.milliseconds(400)
  /// How many fragments are written at once.
  private static let mostRecords = 4
  /// How long the next file is not tried after two in a row could not be written.
  private static let pause = Duration.seconds(2)

  // What is named by the time is no pipe, whatever its folder says when the run begins.
  private(set) lazy var isFile = plan.name != nil || configuration.target.isFile
  /// Nobody waits for what is recorded.
  let gatheringTime = Duration.milliseconds(200)
  /// Two seconds of pictures and sound, so that what has come at once is written at once.
  let largestBatch = 256
  private let container: Container
  private let configuration: OutputLane.Configuration
  private let deadline: WriteDeadline
  private var recorder: Recorder?
  private var canContinue = true
  private var current: (path: String, start: WallClockTime?)?
  private var writer: RecordWriter?
  /// The file in which the recording goes on, as long as that was not said.
  private var continuation: String?
  private var records: [OutputRecord] = []
  private var lastSync = Instant.now
  /// The last name without a number behind it, and the number that it got.
  private var lastName: (plain: String, clash: Int)?
  private var files = WrittenFiles()
  private var opened = 0
  private var writtenBefore = (items: 0, bytes: 0)
  private var events = OutputEvents()
  private(set) var failure: OutputError?
  private var holes = 0
  /// Why the first file could not be opened, until one can be.
  private var refusal: OutputError?
  /// Whether the last file that was begun could not be written at all.
  private var isFailing = false
  private var soundFailure: String?
  /// Whether it was said that the sound is encoded anew, that key pictures are rare, that the
  /// sender's clock seems wrong, and that the stream changes too often.
  private var hasNoted = (sound: false, keys: false, pace: false, changes: false)
  private var retention: Retention?

  init(
    _ container: Container, configuration: OutputLane.Configuration, deadline: WriteDeadline
  ) {
    self.container = container
    self.configuration = configuration
    self.deadline = deadline
  }

  private var plan: RecordingPlan { configuration.recording }

  var progress: OutputProgress {
    for event in retention?.takeEvents() ?? [] { events.append(event) }
    var progress = OutputProgress()
    progress.written = writtenBefore.items + (writer?.items ?? 0)
    progress.skipped = recorder?.skipped ?? 0
    progress.bytes = writtenBefore.bytes + (writer?.bytes ?? 0)
    progress.files = files
    progress.events = events
    return progress
  }

  // MARK: - Destination

  func open(whenReaderIsLate noteDelay: () -> Void) throws {
    var canSeek = true
    do throws(OutputError) {
      canSeek = try openFirst(whenReaderIsLate: noteDelay)
    } catch {
      // The folder's disk may come later; the other outputs go on meanwhile.
      guard case .cannotOpen = error, plan.name != nil || configuration.target.isFile,
        configuration.place?.wait() == true
      else { throw error }
      note(error, at: nil)
      (refusal, isFailing) = (error, true)
    }
    recorder = Recorder(
      Recorder.Configuration(
        container: container, segment: plan.segment, firstSegment: plan.firstSegment,
        clock: configuration.wallClock,
        canSeek: canSeek, canContinue: canContinue))
    if let name = plan.name { retention = try Retention.begin(of: name, keeping: plan.retention) }
  }

  /// Opens the first file, or sees whether it can be made; whether its bytes can be replaced.
  private func openFirst(whenReaderIsLate noteDelay: () -> Void) throws(OutputError) -> Bool {
    switch configuration.target {
    case .descriptor(let number):
      do {
        writer = RecordWriter(to: try FileWriter(takingOver: number), deadline: deadline)
      } catch { throw OutputError(error, path: "descriptor \(number)") }
      (canContinue, isFile) = (false, false)
      return false
    case .path(let path):
      if let name = plan.name {
        let folder = name.folder.isEmpty ? "." : name.folder
        guard unsafe access(folder, W_OK | X_OK) == 0 else {
          throw .cannotOpen(path: folder, errno: errno)
        }
        return true
      }
      do {
        let file = try FileWriter(opening: path, until: deadline, whenReaderIsLate: noteDelay)
        (canContinue, isFile) = (file.isFile, file.isFile)
        writer = RecordWriter(to: file, deadline: deadline)
        current = (path, nil)
        return file.canReplace
      } catch { throw OutputError(error, path: path) }
    }
  }

  func write(_ items: [OutputItem]) throws {
    defer { noteFindings() }
    for item in items {
      do {
        try recorder?.take(item)
      } catch {
        // What came before it is no part of the failure.
        try? perform()
        try? flush()
        throw error
      }
      try perform()
      // After a stall much comes at once, of which a file that cannot be written costs no more.
      if records.count >= Self.mostRecords { try attempt(flush) }
    }
    if configuration.wallClock.isLive {
      // A crash then costs what has not come, and little more.
      recorder?.completeFragment()
      try perform()
    }
    try attempt(flush)
  }

  func finish() throws {
    defer { noteFindings() }
    try recorder?.finish()
    try perform()
    if let refusal { throw refusal }
    if let failure { throw RecordingError.incomplete(holes: holes, because: failure) }
  }

  func close() {
    breakOff()
    retention?.finish(until: deadline.instant)
  }

  // MARK: - Files

  /// Does what the recorder says.
  private func perform() throws {
    while let action = recorder?.nextAction() {
      try attempt { () throws(OutputError) in
        switch action {
        case .begin(let beginning): try begin(beginning)
        case .write(let record): records.append(record)
        case .end(let ending): try end(ending)
        }
      }
    }
  }

  /// Does `body`; if that fails, the recording goes on in another file, unless it is a pipe.
  private func attempt(_ body: () throws(OutputError) -> Void) throws(OutputError) {
    do {
      try body()
    } catch {
      guard canContinue else { throw error }
      note(error, at: current?.path)
      breakOff()
      // The disk may be full, and the next file needs room.
      retention?.look()
      recorder?.fileFailed(pausing: isFailing ? Self.pause : .zero)
      isFailing = true
    }
  }

  /// Notes a hole; a disk that stays full makes one, and is named once.
  private func note(_ error: OutputError, at path: String?) {
    failure = failure ?? error
    guard !isFailing else { return }
    holes += 1
    events.append(.fileFailed(path: path ?? configuration.target.path ?? "", error))
  }

  private func begin(_ beginning: FileBeginning) throws(OutputError) {
    if writer == nil {
      writer = RecordWriter(to: try nextFile(at: beginning.start), deadline: deadline)
    }
    if refusal != nil {
      refusal = nil
      configuration.place?.goOn()
    }
    current?.start = beginning.start
    if let current { files.append(current.path) }
    opened += 1
    lastSync = .now
  }

  /// Makes the file that begins at `start`.
  private func nextFile(at start: WallClockTime) throws(OutputError) -> FileWriter {
    if let name = plan.name {
      // A name that is free again stays free, or the order of the names would be another.
      let plain = name.path(at: start)
      let first = lastName.map { $0.plain == plain ? $0.clash + 1 : 0 } ?? 0
      let (file, number) = try makeFile { name.path(at: start, clash: first + $0) }
      lastName = (plain, first + number)
      return file
    }
    guard case .path(let first) = configuration.target else { throw .readerGone }
    // What lies on a disk that comes late was not seen when the run began, and is not replaced.
    guard opened == 0, refusal == nil else {
      let made = try makeFile { number in
        opened + number == 0 ? first : OutputTarget.continuation(of: first, number: opened + number)
      }
      if opened + made.number > 0 { continuation = current?.path }
      return made.file
    }
    current = (first, nil)
    do {
      return try FileWriter(opening: first, until: deadline)
    } catch { throw OutputError(error, path: first) }
  }

  /// Makes the first file of `paths` that does not exist yet; retention leaves it alone.
  private func makeFile(
    _ paths: (Int) -> String
  ) throws(OutputError) -> (file: FileWriter, number: Int) {
    let made = try FileWriter.makingFirstFree(of: paths, in: plan.name) { path in
      current = (path, nil)
      retention?.note(open: path)
    }
    return (made.file, made.number)
  }

  private func flush() throws(OutputError) {
    guard !records.isEmpty, let writer else { return }
    let before = writer.items
    defer {
      records = []
      noteContinuation()
    }
    try writer.write(records)
    if writer.items > before { isFailing = false }
    guard isFile, lastSync.duration(to: .now) >= Self.syncInterval else { return }
    try writer.sync()
    lastSync = .now
  }

  /// Says where the recording goes on, once something of it is there: a full disk takes nothing.
  private func noteContinuation() {
    guard let path = continuation, let writer, writer.bytes > 0 else { return }
    events.append(.continued(path: path))
    continuation = nil
  }

  private func end(_ ending: FileEnding) throws(OutputError) {
    try flush()
    if isFile { try writer?.sync() }
    if let current, let start = current.start, let writer {
      events.append(
        .fileEnded(
          RecordedFile(path: current.path, start: start, ending: ending, bytes: writer.bytes)))
    }
    guard canContinue else { return }
    closeFile()
    retention?.look()
  }

  /// Closes a file that was not ended.
  private func breakOff() {
    writer?.writeLength()
    closeFile()
  }

  private func closeFile() {
    // A file to which nothing was written is unchanged or gone, so it is not listed.
    if writer?.bytes == 0, files.last.last == current?.path { files.removeLast() }
    // Also what was written before a failure; that is named already.
    if isFile, let writer, writer.bytes > 0 { try? writer.sync() }
    writtenBefore.items += writer?.items ?? 0
    writtenBefore.bytes += writer?.bytes ?? 0
    (writer, continuation) = (nil, nil)
    records = []
    current = nil
    retention?.note(open: nil)
  }

  private func noteFindings() {
    if let reason = recorder?.takeFileRefusal() {
      note(.failed(reason: reason), at: nil)
      isFailing = true
    }
    if let change = recorder?.soundChange, !hasNoted.sound {
      hasNoted.sound = true
      events.append(
        .soundConverted(
          SoundChange(from: change.from, to: change.to, container: container.name)))
    }
    if let distance = recorder?.keys.longest, let segment = plan.segment, !hasNoted.keys {
      hasNoted.keys = true
      events.append(.keyPicturesRare(distance: distance, segment: segment))
    }
    if let pace = recorder?.pace.wrong, !hasNoted.pace {
      hasNoted.pace = true
      events.append(.clockRunsWrong(pace: pace.ratio, clockRate: pace.clockRate))
    }
    if recorder?.changesTooOften == true, !hasNoted.changes {
      hasNoted.changes = true
      events.append(.changesTooOften)
    }
    guard let reason = recorder?.soundFailure, reason != soundFailure else { return }
    soundFailure = reason
    events.append(.soundLeftOut(reason: reason))
  }
}

extension OutputFormat {
  /// The coded pictures, as they were sent and with their times.
  static func recording(as container: Container) -> OutputFormat {
    OutputFormat(
      name: container.name, otherEndings: container.otherEndings,
      inputs: container.holdsPictures ? [.units, .sound] : .sound, isRecording: true
    ) { configuration, deadline in
      RecordingFiles(container, configuration: configuration, deadline: deadline)
    }
  }
}
