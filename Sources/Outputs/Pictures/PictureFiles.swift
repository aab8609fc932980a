import BlockingIO
import Decode
import Glibc
import NIOCore
import RTPWire

/// `.jpg` and `.png`: pictures, each in a file of its own that appears whole; or one after another
/// in a pipe.
///
/// A path without a pattern, and without an interval, is for one picture.
final class PictureFiles: OutputDestination {
  static let formats = [
    OutputFormat(
      name: "jpg", otherEndings: ["jpeg"], inputs: .frames, samples: .own,
      makeDestination: { PictureFiles(JPEGEncoder(size: $0.shape.size), $0, $1) }),
    OutputFormat(
      name: "png", inputs: .frames, samples: .own,
      makeDestination: { PictureFiles(PNGEncoder(size: $0.shape.size), $0, $1) }),
  ]

  private(set) var progress = OutputProgress()
  private(set) lazy var isFile = configuration.target.isFile

  private let configuration: OutputLane.Configuration
  private let deadline: WriteDeadline
  private let encoder: any PictureEncoder
  private var schedule: PictureSchedule
  /// How many pictures the clock of a live stream may call for; a recording's is what it is.
  private var allowance: FileAllowance?
  /// Whether it was said that they are too many.
  private var hasNotedHaste = false
  /// `nil` for a descriptor.
  private let names: NamePattern?
  private let isSingle: Bool
  /// What is no regular file, and is kept open.
  private var pipe: FileWriter?
  private var seen = 0
  /// The number of the first file.
  private var firstNumber = 1
  /// Why a picture is missing: the first reason.
  private(set) var failure: OutputError?
  /// Whether the last picture could not be stored.
  private var isFailing = false
  /// Whether it waits for its folder.
  private var awaitsFolder = false
  /// The last name without a number behind it, and the number that it got.
  private var lastName: (plain: String, clash: Int)?
  private var retention: Retention?
  private var lastLook = Instant.now

  /// How long after a look for old pictures the next one is, at least: a folder may have many.
  private static let pauseBetweenLooks = Duration.seconds(5)

  init(
    _ encoder: any PictureEncoder, _ configuration: OutputLane.Configuration,
    _ deadline: WriteDeadline
  ) {
    self.configuration = configuration
    self.deadline = deadline
    let interval = configuration.pictures.interval
    self.encoder = encoder
    schedule = PictureSchedule(every: interval)
    // Twice as often as is asked for: no camera's clock is that fast.
    if configuration.wallClock.isLive { allowance = interval.map { FileAllowance(every: $0 / 2) } }
    switch configuration.target {
    case .descriptor:
      names = nil
      isSingle = interval == nil
    case .path(let path):
      let given = try? NamePattern(path, allowsNumbers: true)
      names = interval == nil ? given : given?.numbered
      isSingle = names?.isSingle ?? true
    }
  }

  var isComplete: Bool { isSingle && progress.written > 0 }

  func open(whenReaderIsLate noteDelay: () -> Void) throws {
    switch configuration.target {
    case .descriptor(let number):
      do {
        pipe = try FileWriter(takingOver: number)
      } catch {
        throw OutputError(error, path: "descriptor \(number)")
      }
    case .path(let path):
      var status = stat()
      if unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
        do {
          pipe = try FileWriter(opening: path, until: deadline, whenReaderIsLate: noteDelay)
        } catch {
          throw OutputError(error, path: path)
        }
        return
      }
      // Said at once, and not with the first picture.
      do throws(OutputError) {
        try enterFolder(of: path)
      } catch {
        // Its disk may come later; the other outputs go on meanwhile.
        guard !isSingle, configuration.place?.wait() == true else { throw error }
        awaitsFolder = true
        note(error)
      }
      if !isSingle, let names {
        retention = try Retention.begin(of: names, keeping: configuration.pictures.retention)
      }
    }
  }

  /// Sees whether pictures can be stored, and which number the first one has.
  private func enterFolder(of path: String) throws(OutputError) {
    // Folders of their time are made later.
    let timed = names.flatMap { $0.folders.isEmpty ? nil : $0.folder.isEmpty ? "." : $0.folder }
    let folder = if let timed { timed } else { try Self.place(of: path).folder }
    guard unsafe access(folder + "/.", W_OK | X_OK) == 0 else {
      throw .cannotOpen(path: path, errno: errno)
    }
    let pictures = configuration.pictures
    if pictures.goesOn || !pictures.retention.isEmpty, let names, !names.isSingle, !names.hasTime {
      firstNumber = names.highestNumber + 1
    }
  }

  func write(_ items: [OutputItem]) throws {
    defer { noteDeleted() }
    for case .frame(let frame) in items {
      seen += 1
      guard takes(frame) else {
        progress.skipped += 1
        continue
      }
      let picture = try encoder.encode(frame)
      do throws(OutputError) {
        if awaitsFolder, case .path(let path) = configuration.target { try enterFolder(of: path) }
        try store(picture, of: frame)
      } catch {
        // Of many, the next one may be stored again.
        guard pipe == nil, !isSingle, !deadline.isPast else { throw failure ?? error }
        note(error)
        progress.skipped += 1
        // The disk may be full.
        lookForOldPictures()
        continue
      }
      isFailing = false
      if awaitsFolder { configuration.place?.goOn() }
      awaitsFolder = false
      progress.written += 1
      progress.bytes += picture.readableBytes
      lookForOldPictures()
    }
  }

  /// Whether `frame` becomes a picture.
  private func takes(_ frame: RawFrame) -> Bool {
    guard !isComplete, configuration.pictures.takesDamaged || frame.condition == .intact else {
      return false
    }
    var next = schedule
    guard next.takes(frame.time) else { return false }
    // One that is too early stays due.
    guard allowance?.allowsFile(at: frame.lastArrival) ?? true else {
      if !hasNotedHaste { progress.events.append(.picturesTooOften) }
      hasNotedHaste = true
      return false
    }
    allowance?.noteFile(at: frame.lastArrival)
    schedule = next
    return true
  }

  private func lookForOldPictures() {
    guard let retention,
      lastLook.duration(to: .now) >= max(Self.pauseBetweenLooks, retention.rest)
    else { return }
    lastLook = .now
    retention.look()
  }

  private func noteDeleted() {
    for event in retention?.takeEvents() ?? [] { progress.events.append(event) }
  }

  func finish() throws {
    if let failure { throw failure }
    guard progress.written > 0 || seen == 0 else { throw OutputError.noIntactPicture(of: seen) }
  }

  func close() {
    pipe = nil
    retention?.finish(until: deadline.instant)
    noteDeleted()
  }

  /// Notes why a picture is missing; a disk that stays full is named once.
  private func note(_ error: OutputError) {
    failure = failure ?? error
    if !isFailing {
      // Of many, the message says which one is missing.
      let path: String? =
        if case .cannotOpen(let path, _) = error { path } else { configuration.target.path }
      progress.events.append(.fileFailed(path: path ?? "", error))
    }
    isFailing = true
  }

  private func store(_ picture: ByteBuffer, of frame: RawFrame) throws(OutputError) {
    if let pipe {
      if let failure = write(picture, to: pipe) { throw OutputError(failure, path: "") }
      return
    }
    let path = nextPath(for: frame)
    // Through symbolic links, which stay.
    let (folder, name) = try Self.place(of: path)
    let target = "\(folder)/\(name)"
    let temporary = "\(folder)/.\(name).\(getpid()).part"
    do throws(WriteFailure) {
      // A program of this number may have been killed here, or somebody has put a link there.
      unsafe unlink(temporary)
      let make = { () throws(WriteFailure) in try FileWriter(creating: temporary) }
      let file = if let names { try names.making(path, make) } else { try make() }
      if let failure = write(picture, to: file) ?? file.finish() {
        unsafe unlink(temporary)
        throw failure
      }
    } catch .failed(let number) {
      throw .pictureLeftOut(path: path, errno: number)
    } catch {
      throw OutputError(error, path: path)
    }
    // The newest picture stays, whatever the rules say.
    retention?.note(open: path)
    guard unsafe rename(temporary, target) == 0 else {
      let number = errno
      unsafe unlink(temporary)
      throw .cannotOpen(path: path, errno: number)
    }
    progress.files.append(path)
  }

  private func write(_ picture: ByteBuffer, to file: FileWriter) -> WriteFailure? {
    unsafe picture.withUnsafeReadableBytes { unsafe file.write($0, until: deadline).failure }
  }

  /// The path of the next picture; one that says the time is used once.
  private func nextPath(for frame: RawFrame) -> String {
    guard let names else { return "" }
    let time = configuration.wallClock.time(of: frame.firstArrival)
    let number = firstNumber + progress.written
    let plain = names.path(at: time, number: number)
    guard names.hasTime else { return plain }
    // A name that is free again stays free, or the order of the names would be another.
    var clash = lastName.map { $0.plain == plain ? $0.clash + 1 : 0 } ?? 0
    while true {
      let path = names.path(at: time, number: number, clash: clash)
      guard clash < NamePattern.mostOfOneName, unsafe access(path, F_OK) == 0 else {
        lastName = (plain, clash)
        return path
      }
      clash += 1
    }
  }

  /// Where the file lies, or will.
  private static func place(
    of path: String
  ) throws(OutputError) -> (folder: String, name: String) {
    do throws(WriteFailure) {
      return SymbolicLink.divide(try SymbolicLink.target(of: path))
    } catch {
      throw OutputError(error, path: path)
    }
  }
}
