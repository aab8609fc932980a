import BlockingIO
import Glibc
import NIOCore
import RTPWire

/// News of files that are followed, for the person who runs it.
public enum FollowEvent: Sendable, Hashable {
  /// No file of this name is there yet.
  case waiting(name: String)
  case began(name: String)
  /// A file broke off in the middle of something.
  case leftOut(bytes: Int, name: String)
  /// A file is left out, for this reason.
  case refused(name: String, reason: String)
  /// Its writer pauses within NAL units, so that each picture is sent when the next one begins.
  case pauses(name: String)
  /// Its pictures cannot be sent before the parameter sets are known.
  case withoutParameterSets(name: String)
  /// It became shorter, and is read from its beginning again.
  case restarted(name: String)
}

/// What is followed, and how.
public struct FollowConfiguration: Sendable {
  /// A file, or a pattern of names in one directory; see ``FileNames``.
  public var path: String
  /// The rate of pictures without times; otherwise what the stream says.
  public var framesPerSecond: Double?
  /// Where the parameter sets are, if the files do not have them.
  public var parameterSets: String?

  public init(path: String) { self.path = path }
}

/// The thread that follows files: it looks, reads and waits, and ``GrowingStream`` decides what the
/// bytes mean.
final class FileFollower {
  /// Bytes read at a time.
  private static let readLength = 256 << 10
  /// A pause after which a picture at the end is taken for whole.
  private static let pause: Int64 = 2_000_000
  /// How long a writer that has gone on may still write to a file that it has not closed, and how
  /// soon one that has closed it may open it again.
  private static let grace: Int64 = 300_000_000
  /// How soon it is looked again whether a file is over.
  private static let lookAgainInterval: Int64 = 20_000_000
  /// Some file systems report no changes, so it is looked without being told.
  private static let lookInterval: Int64 = 250_000_000
  /// Looks without being told take one part in so many of the time, however many files there are.
  private static let lookShare: Int64 = 400
  private static let ticksPerNanosecond = 90_000.0 / 1e9
  /// The most bytes of old pictures that are kept before the newest key picture is found.
  private static let longestBacklog = 64 << 20

  private let configuration: FollowConfiguration
  private let names: FileNames
  private let output: LiveStream
  private let inotify: Inotify
  private let waker: Waker
  private let onEvent: @Sendable (FollowEvent) -> Void

  private var stream: GrowingStream
  private var choice: FileChoice
  private var file: OpenFile?
  private var isClosed = false
  /// Its writer had gone before it was opened here.
  private var wasClosed = false
  private var lastByte = Instant(nanoseconds: 0)
  private var lastLook = Instant(nanoseconds: 0)
  /// How long it took.
  private var lookCost: Int64 = 0
  private var isLookDue = true
  private var isSettled = true
  /// Pictures that were there when following began, from the newest key picture on.
  private var backlog: [SourceAccessUnit]? = []
  private var backlogBytes = 0
  private var isOpen = false
  private var isWaitingForSets = false
  private var isPatient = false

  /// Follows on a thread of its own, until `output` is stopped.
  ///
  /// - Throws: ``SendError`` when the directory or the parameter sets cannot be read, or the system
  ///   grants no watch or thread.
  static func start(
    _ configuration: FollowConfiguration, into output: LiveStream,
    onEvent: @escaping @Sendable (FollowEvent) -> Void
  ) throws(SendError) {
    let known = try configuration.parameterSets.map { path throws(SendError) in
      try ParameterSetFile.read(path)
    }
    try check(configuration.path)
    guard let inotify = Inotify(), let waker = try? Waker() else {
      throw .cannotOpen(
        path: configuration.path, reason: "too many files are watched or open (inotify)")
    }
    output.onStop { waker.wake() }
    let follower = FileFollower(configuration, known, output, inotify, waker, onEvent)
    do {
      _ = try WorkerThread { follower.run() }
    } catch {
      throw .cannotOpen(path: configuration.path, reason: "the system grants no thread")
    }
  }

  /// A file can be awaited, but not its directory.
  private static func check(_ path: String) throws(SendError) {
    let directory = FileNames(path).directory
    guard OpenFile.isDirectory(directory) else {
      throw .cannotOpen(path: path, reason: "there is no directory \(directory)")
    }
    guard !OpenFile.isDirectory(path) else {
      throw .cannotOpen(path: path, reason: "it is a directory")
    }
  }

  private init(
    _ configuration: FollowConfiguration, _ known: KnownVideo?, _ output: LiveStream,
    _ inotify: sending Inotify, _ waker: Waker, _ onEvent: @escaping @Sendable (FollowEvent) -> Void
  ) {
    self.configuration = configuration
    self.output = output
    self.inotify = inotify
    self.waker = waker
    self.onEvent = onEvent
    names = FileNames(configuration.path)
    choice = FileChoice(hasOneName: names.onlyName != nil)
    stream = GrowingStream(known, framesPerSecond: configuration.framesPerSecond)
  }

  private func run() {
    inotify.watch(names)
    do throws(SendError) {
      try begin()
      while !output.isStopped {
        try readOn()
        try settle()
        try look()
        if !output.isStopped { wait() }
      }
      output.finish()
    } catch {
      output.finish(error)
    }
  }

  /// Opens the newest file, or waits for the first.
  private func begin() throws(SendError) {
    var hasWaited = false
    while !output.isStopped {
      let entries = entries()
      if let entry = choice.begin(in: entries, areNew: hasWaited) {
        if stream.video?.isDecodable != true {
          learn(from: entries, but: entry)
          stream.beginFile()
        }
        if open(entry) { break }
      }
      if !hasWaited { onEvent(.waiting(name: configuration.path)) }
      hasWaited = true
      // Nothing that is there when it appears is old.
      backlog = nil
      isSettled = true
      wait()
    }
  }

  /// Takes the parameter sets of an earlier file of the same writer.
  private func learn(from entries: [FileChoice.Entry], but present: FileChoice.Entry) {
    let earlier = entries.filter { $0 != present }.sorted { $0.modified > $1.modified }.prefix(3)
    for entry in earlier {
      guard let file = try? OpenFile(path: path(entry)),
        let known = try? ParameterSetFile.index(of: file), known.isDecodable
      else { continue }
      return stream.learn(known)
    }
  }

  private func entries() -> [FileChoice.Entry] {
    lastLook = .now
    defer { lookCost = lastLook.nanoseconds(to: .now) }
    return OpenFile.entries(of: names)
  }

  private var lookInterval: Int64 {
    max(Self.lookInterval, lookCost.multipliedSaturating(by: Self.lookShare))
  }

  private func path(_ entry: FileChoice.Entry) -> String { "\(names.directory)/\(entry.name)" }

  private var name: String { choice.current?.name ?? configuration.path }

  private func open(_ entry: FileChoice.Entry) -> Bool {
    guard let file = try? OpenFile(path: path(entry)) else { return false }
    // The order matters: what is written after the watch began is told, and what was before is
    // read.
    inotify.watch(file: file.descriptor)
    self.file = file
    (isClosed, wasClosed, isSettled) = (false, false, false)
    note(inotify.take())
    // Another file may have taken the only name meanwhile.
    if names.onlyName == nil { wasClosed = inotify.takeClosed(entry.name) }
    lastByte = .now
    onEvent(.began(name: entry.name))
    return true
  }

  /// Reads to the end of what is there.
  private func readOn() throws(SendError) {
    guard let file else { return }
    while !output.isStopped {
      let position = stream.file.position
      if file.status.size < position {
        onEvent(.restarted(name: name))
        try finishFile()
        guard self.file != nil else { return }
        stream.beginFile()
        continue
      }
      let bytes = try file.read(at: position, Self.readLength)
      guard bytes.readableBytes > 0 else { break }
      if let range = stream.file.headerRange {
        stream.reread(try file.read(at: range.lowerBound, range.count))
      }
      let now = Instant.now
      do throws(GrowingFault) {
        try stream.take(bytes)
        while let unit = try stream.next(at: Self.ticks(now)) { emit(unit) }
      } catch {
        return try refuse(error)
      }
      // Room that was reserved is read again when something has been written to it.
      guard stream.file.position > position else { break }
      (lastByte, isSettled) = (now, false)
      if bytes.readableBytes < Self.readLength { break }
    }
    if let backlog {
      self.backlog = nil
      for unit in backlog { send(unit) }
    }
    if stream.file.isPatient, !isPatient {
      isPatient = true
      onEvent(.pauses(name: name))
    }
    if !isOpen, !isWaitingForSets, stream.skipped > 0, stream.video?.isDecodable != true {
      isWaitingForSets = true
      onEvent(.withoutParameterSets(name: name))
    }
  }

  /// A file that cannot be followed ends the first time; later the next one may be better.
  private func refuse(_ fault: GrowingFault) throws(SendError) {
    guard isOpen else { throw .cannotOpen(path: name, reason: "\(fault)") }
    onEvent(.refused(name: name, reason: "\(fault)"))
    file = nil
    stream.beginFile()
  }

  /// Sends the last picture, once the writer pauses behind it, or has gone.
  private func settle() throws(SendError) {
    guard !isSettled, file != nil else { return }
    let quiet = lastByte.nanoseconds(to: .now)
    guard quiet >= Self.pause || isClosed else { return }
    let hasGone = isClosed || wasClosed
    let isOver = hasGone && quiet >= Self.grace
    do throws(GrowingFault) {
      while let unit = try stream.settle(at: Self.ticks(lastByte), isOver: isOver) {
        emit(unit)
        isSettled = true
      }
    } catch {
      return try refuse(error)
    }
    if isOver || !hasGone { isSettled = true }
  }

  /// Goes on to the next file, if there is one and this one is over.
  private func look() throws(SendError) {
    let now = Instant.now
    // While a file is being written, the next one has not begun or will be told.
    let isOver =
      file == nil || isClosed || wasClosed || lastByte.nanoseconds(to: now) >= Self.grace
    let isTime = isOver && lastLook.nanoseconds(to: now) >= lookInterval
    guard isLookDue || isTime else { return }
    isLookDue = false
    guard let next = choice.successor(in: entries()) else { return }
    if let file {
      guard isOver else {
        // It is looked again when something happens, or in a moment.
        isLookDue = true
        return
      }
      try endFile(file)
    }
    let modified = file?.status.modified ?? 0
    // What is looked for may have gone again; there may be more of them.
    isLookDue = true
    guard open(next) else { return }
    choice.goOn(to: next, after: modified)
    stream.beginFile()
    try readOn()
  }

  /// Takes what is left of a file that is over.
  private func endFile(_ file: OpenFile) throws(SendError) {
    try readOn()
    guard self.file != nil else { return }
    try finishFile()
    guard self.file != nil else { return }
    if stream.video?.isDecodable != true, let known = try ParameterSetFile.index(of: file) {
      stream.learn(known)
    }
  }

  /// Takes the last picture, of which nothing more will come.
  private func finishFile() throws(SendError) {
    do throws(GrowingFault) {
      while let unit = try stream.finishFile(at: Self.ticks(lastByte)) { emit(unit) }
    } catch {
      return try refuse(error)
    }
    let left = stream.file.waitingBytes
    if left > 0 { onEvent(.leftOut(bytes: left, name: name)) }
  }

  private func emit(_ unit: SourceAccessUnit) {
    guard backlog != nil else { return send(unit) }
    if unit.isRandomAccess || backlogBytes > Self.longestBacklog {
      (backlog, backlogBytes) = ([], 0)
    }
    backlog?.append(unit)
    backlogBytes += unit.units.reduce(0) { $0 + $1.readableBytes }
  }

  private func send(_ unit: SourceAccessUnit) {
    if !isOpen, let video = stream.video {
      isOpen = true
      output.open(
        LiveStream.Contents(
          video: LiveStream.Contents.Video(codec: video.codec, parameterSets: video.byKind)))
    }
    _ = output.append(unit)
  }

  /// Sleeps until something happens, or it is time to look.
  private func wait() {
    let now = Instant.now
    var limit = file == nil ? lookInterval : Self.lookInterval
    if !isSettled, file != nil {
      let quiet = lastByte.nanoseconds(to: now)
      let end = quiet < Self.pause && !isClosed ? Self.pause : Self.grace
      limit = min(limit, max(1_000_000, end - quiet))
    }
    if isLookDue, file != nil { limit = min(limit, Self.lookAgainInterval) }
    var descriptors = [
      pollfd(fd: inotify.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    _ = unsafe poll(&descriptors, 2, Int32(clamping: (limit + 999_999) / 1_000_000))
    note(inotify.take())
  }

  private func note(_ news: Inotify.News) {
    if news.contains(.directory) { isLookDue = true }
    if news.contains(.closed) {
      // Whoever has gone adds nothing to what waits.
      (isClosed, isSettled, isLookDue) = (true, false, true)
    } else if news.contains(.file) {
      (isClosed, wasClosed) = (false, false)
    }
  }

  private static func ticks(_ now: Instant) -> Int64 {
    Int64((Double(now.nanoseconds) * ticksPerNanosecond).rounded())
  }
}
