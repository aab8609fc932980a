import BlockingIO
public import NIOCore

/// What goes on while it is sent, and can be read only once: a file that is still being written,
/// standard input, a camera.
///
/// One thread makes its units, for any number of readers.
public final class LiveStream: Sendable {
  /// Whom the units are for.
  public enum Readership: Sendable, Hashable {
    /// One reader at a time, for whom whoever makes them waits: nothing is left out.
    case one
    /// Readers come and go, and each begins at the newest key picture. Nobody waits for them: one
    /// that is too slow loses what comes before the next key picture.
    case many
  }

  /// What is known of a stream before its first unit.
  public struct Contents: Sendable {
    public var video: Video?
    public var sound: Sound?

    public struct Video: Sendable {
      public var codec: Codec
      public var parameterSets: [Codec.ParameterSet: [ByteBuffer]]

      public init(codec: Codec, parameterSets: [Codec.ParameterSet: [ByteBuffer]]) {
        self.codec = codec
        self.parameterSets = parameterSets
      }
    }

    /// See ``SoundSource``.
    public struct Sound: Sendable {
      public var format: SoundFormat
      public var frameLength: Int?
      public var configuration: [UInt8]

      public init(format: SoundFormat, frameLength: Int?, configuration: [UInt8]) {
        self.format = format
        self.frameLength = frameLength
        self.configuration = configuration
      }
    }

    public init(video: Video?, sound: Sound? = nil) {
      self.video = video
      self.sound = sound
    }
  }

  /// What the units of a line are.
  public enum Track: Int, Sendable, CaseIterable {
    case video
    case sound
  }

  /// The most bytes that wait, except that one unit may always wait.
  static let longestLine = 32 << 20
  /// The same where the one who makes the units waits, so that they are not older than necessary.
  static let longestHeldLine = 4 << 20

  /// For people: a path, or "standard input".
  public let name: String
  /// Whether units are sent as they come, and not when their times say.
  public let isLive: Bool
  private let readership: Readership
  private let wanted: Set<Track>
  private let state = Monitor(State())

  struct State {
    var lines = Track.allCases.map { _ in LiveLine() }
    var contents: Contents?
    /// The parameter sets that came last.
    var known: KnownVideo?
    var waiters: [@Sendable (Result<Contents, any Error>) -> Void] = []
    /// How the stream ended.
    var end: Result<Void, SendError>?
    var isStopped = false
    var interrupts: [@Sendable () -> Void] = []
    var isKeyPictureWanted = false
  }

  /// A stream of the tracks in `wanted`; what others have is left out.
  public init(name: String, for readership: Readership, isLive: Bool, wanted: Set<Track>) {
    self.name = name
    self.readership = readership
    self.isLive = isLive
    self.wanted = wanted
  }

  /// What is known of it, as soon as it is.
  ///
  /// - Throws: ``SendError`` when it ends before that.
  public func contents() async throws -> Contents {
    try await withCheckedThrowingContinuation { continuation in
      whenKnown { continuation.resume(with: $0) }
    }
  }

  /// The same for whoever cannot wait: has `tell` called once, on any thread.
  func whenKnown(_ tell: @escaping @Sendable (Result<Contents, any Error>) -> Void) {
    let outcome: Result<Contents, any Error>? = state.update { state in
      if let contents = state.contents { return .success(contents) }
      if let end = state.end { return .failure(failure(end)) }
      state.waiters.append(tell)
      return nil
    }
    if let outcome { tell(outcome) }
  }

  /// What is known now, with the parameter sets that came last.
  public var knownContents: Contents? { state.quietly { $0.contents } }

  /// Ends it: whoever makes the units stops, and readers come to the end.
  public func stop() {
    let interrupts = state.update { state in
      state.isStopped = true
      defer { state.interrupts = [] }
      return state.interrupts
    }
    for interrupt in interrupts { interrupt() }
    finish()
  }

  private func failure(_ end: Result<Void, SendError>) -> SendError {
    if case .failure(let error) = end { return error }
    return .cannotOpen(path: name, reason: "it ended before its first picture")
  }
}

/// What the thread does that makes the units.
extension LiveStream {
  /// Tells what is known; to be called once, before the first unit.
  func open(_ contents: Contents) {
    let waiters = state.update { state in
      state.contents = contents
      state.known = contents.video.map { KnownVideo($0) }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter(.success(contents)) }
  }

  /// Whether nobody wants units any more.
  public var isStopped: Bool { state.quietly { $0.isStopped } }

  /// Has `interrupt` called by ``stop()``, on any thread, to end a wait.
  func onStop(_ interrupt: @escaping @Sendable () -> Void) {
    let isStopped = state.update { state in
      if !state.isStopped { state.interrupts.append(interrupt) }
      return state.isStopped
    }
    if isStopped { interrupt() }
  }

  /// Adds a unit; with a readership of one it waits for room.
  ///
  /// - Returns: false when nobody wants any more.
  func append(_ unit: SourceAccessUnit, to track: Track = .video) -> Bool {
    guard wanted.contains(track) else { return !isStopped }
    let length = unit.units.reduce(0) { $0 + $1.readableBytes }
    let wakes: [@Sendable () -> Void]? = state.wait { state -> [@Sendable () -> Void]? in
      if state.isStopped { return [] }
      if readership == .one,
        !state.lines[track.rawValue].hasRoom(for: length, upTo: Self.longestHeldLine)
      {
        return nil
      }
      if track == .video { state.note(unit) }
      state.lines[track.rawValue].append(unit, bytes: length)
      if readership == .many {
        if track == .video, unit.isRandomAccess {
          for index in state.lines.indices {
            state.lines[index].beginGroup(with: track.rawValue == index)
          }
        } else if !wanted.contains(.video) {
          state.lines[track.rawValue].beginGroup(with: true)
        }
        state.lines[track.rawValue].limit(to: Self.longestLine)
      }
      state.lines[track.rawValue].trim(keepsGroup: readership == .many)
      return state.lines[track.rawValue].takeWakes()
    }
    for wake in wakes ?? [] { wake() }
    return !isStopped
  }

  /// Ends it; only the first end counts.
  func finish(_ error: SendError? = nil) {
    let (wakes, waiters, end) = state.update { state in
      let end: Result<Void, SendError> = state.end ?? error.map { .failure($0) } ?? .success(())
      state.end = end
      defer { state.waiters = [] }
      let wakes = state.lines.indices.flatMap { state.lines[$0].takeWakes() }
      return (wakes, state.waiters, end)
    }
    for waiter in waiters { waiter(.failure(failure(end))) }
    for wake in wakes { wake() }
  }

  /// Whether a reader has asked for a key picture since the last call.
  func takeKeyPictureRequest() -> Bool {
    state.quietly { state in
      defer { state.isKeyPictureWanted = false }
      return state.isKeyPictureWanted
    }
  }
}

/// What readers do.
extension LiveStream {
  func subscribe(to track: Track) -> Int {
    state.update { $0.lines[track.rawValue].addReader(fromStart: readership == .one) }
  }

  func unsubscribe(_ reader: Int, from track: Track) {
    state.update { state in
      state.lines[track.rawValue].removeReader(reader)
    }
  }

  func notify(_ reader: Int, of track: Track, _ wake: @escaping @Sendable () -> Void) {
    let isReady = state.update { state in
      state.lines[track.rawValue].setWake(wake, of: reader, hasEnded: state.end != nil)
    }
    if isReady { wake() }
  }

  func next(for reader: Int, of track: Track) throws(SendError) -> Supply<SourceAccessUnit> {
    let supply: Result<Supply<SourceAccessUnit>, SendError> = state.update { state in
      if let unit = state.lines[track.rawValue].next(
        for: reader, hasEnded: state.end != nil, keepsGroup: readership == .many)
      {
        return .success(.next(unit))
      }
      guard let end = state.end else { return .success(.nothingYet) }
      return end.map { .end }
    }
    return try supply.get()
  }

  func rejoin(_ reader: Int, of track: Track) {
    guard readership == .many else { return }
    state.update { $0.lines[track.rawValue].rejoin(reader) }
  }

  func requestKeyPicture() { state.quietly { $0.isKeyPictureWanted = true } }
}

extension LiveStream.State {
  /// Notes the parameter sets of a unit, which hold from there on.
  fileprivate mutating func note(_ unit: SourceAccessUnit) {
    var hasChanged = false
    for set in unit.units {
      if known?.take(set) == true { hasChanged = true }
    }
    if hasChanged { contents?.video?.parameterSets = known?.byKind ?? [:] }
  }
}

extension KnownVideo {
  /// What is known of a stream before its first unit.
  init(_ video: LiveStream.Contents.Video) {
    self.init(video.codec)
    for set in video.parameterSets.values.joined() { take(set) }
  }
}

extension LiveStream: Hashable {
  public static func == (one: LiveStream, other: LiveStream) -> Bool { one === other }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
