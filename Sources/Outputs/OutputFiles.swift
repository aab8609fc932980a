import BlockingIO
import Decode
import RTPWire

/// Everything that an output writes: one pipe, or one file and the files that continue it.
///
/// Used by one thread at a time.
final class OutputFiles: OutputDestination {
  /// How many items produced no output.
  private var skipped = 0
  private var files = WrittenFiles()
  private(set) lazy var isFile = configuration.target.isFile

  private let make: @Sendable () -> any Output
  private let configuration: OutputLane.Configuration
  private let deadline: WriteDeadline
  private var output: any Output
  private var writer: RecordWriter?
  private var geometry: RawFrame.Geometry?
  private var converter: FrameConverter?
  /// The matrix that had to be assumed for RGB.
  private var assumedMatrix: UInt8?
  private var writtenBefore = (items: 0, bytes: 0)
  private var allowance = FileAllowance()
  private var events = OutputEvents()
  /// Whether it was said that the stream changes too often.
  private var hasNotedChanges = false

  /// Writes records of what `make` makes.
  init(
    make: @escaping @Sendable () -> any Output, configuration: OutputLane.Configuration,
    deadline: WriteDeadline
  ) {
    self.make = make
    self.configuration = configuration
    self.deadline = deadline
    output = make()
    if configuration.shape != FrameShape() { converter = FrameConverter(to: configuration.shape) }
  }

  var progress: OutputProgress {
    var progress = OutputProgress()
    progress.written = writtenBefore.items + (writer?.items ?? 0)
    progress.skipped = skipped
    progress.bytes = writtenBefore.bytes + (writer?.bytes ?? 0)
    progress.files = files
    progress.events = events
    progress.notes = output.notes + (assumedMatrix.map { [.assumedMatrix($0)] } ?? [])
    return progress
  }

  /// Opens the first file, or the next one.
  ///
  /// - Parameter noteDelay: called when a named pipe has had no reader for some time.
  /// - Throws: an ``OutputError``.
  func open(whenReaderIsLate noteDelay: () -> Void = {}) throws(OutputError) {
    let file: FileWriter
    switch configuration.target {
    case .descriptor(let number):
      do {
        file = try FileWriter(takingOver: number)
      } catch {
        throw OutputError(error, path: "descriptor \(number)")
      }
    case .path(let first) where files.count == 0:
      do {
        file = try FileWriter(opening: first, until: deadline, whenReaderIsLate: noteDelay)
      } catch {
        throw OutputError(error, path: first)
      }
      files.append(first)
    case .path(let first):
      let made = try FileWriter.makingFirstFree(of: {
        OutputTarget.continuation(of: first, number: files.count + $0)
      })
      file = made.file
      files.append(made.path)
      events.append(.continued(path: made.path))
    }
    isFile = file.isFile
    writer = RecordWriter(to: file, deadline: deadline)
  }

  /// Writes what the output makes of `items`.
  ///
  /// - Throws: an ``OutputError``, or what the output throws.
  func write(_ items: [OutputItem]) throws {
    var records: [OutputRecord] = []
    var failure: (any Error)?
    for item in items where failure == nil {
      do {
        guard let item = try fitted(item) else {
          skipped += 1
          continue
        }
        if let record = try output.record(for: item) {
          records.append(record)
        } else {
          switch item {
          case .unit, .sound: skipped += 1
          case .frame, .report, .interruption: break
          }
        }
      } catch {
        failure = error
      }
    }
    if !records.isEmpty { try writer?.write(records) }
    if let failure { throw failure }
  }

  /// Writes the output's last record, if there is one, and ends the file.
  func finish() throws(OutputError) {
    if let record = output.finish() { try writer?.write([record]) }
    try writer?.finish()
  }

  func close() {
    // A file to which nothing was written is unchanged, so it is not listed.
    if writer?.bytes == 0 { files.removeLast() }
    let progress = progress
    writtenBefore = (progress.written, progress.bytes)
    writer = nil
  }

  /// Makes the item fit the current file, or begins a new file for it; `nil` if there have been too
  /// many.
  private func fitted(_ item: OutputItem) throws(OutputError) -> OutputItem? {
    guard case .frame(var frame) = item else { return item }
    if let converter {
      assumedMatrix = assumedMatrix ?? converter.assumedMatrix(of: frame)
      frame = try converter.converted(frame)
    }
    guard let current = geometry else {
      geometry = frame.geometry
      if configuration.scaleToFirst { converter = FrameConverter(like: frame) }
      return .frame(frame)
    }
    guard frame.geometry != current else { return .frame(frame) }
    guard case .path = configuration.target, isFile else {
      throw .formatChanged(from: current, to: frame.geometry)
    }
    guard allowance.allowsFile(at: frame.lastArrival) else {
      if !hasNotedChanges { events.append(.changesTooOften) }
      hasNotedChanges = true
      return nil
    }
    allowance.noteFile(at: frame.lastArrival)
    try finish()
    close()
    output = make()
    geometry = frame.geometry
    try open()
    return .frame(frame)
  }
}
