import BlockingIO
import Decode
public import Defragment
import NIOCore
import RTPWire
import Synchronization

/// A camera on the page: takes what is received, and hands it to the viewers that watch it.
///
/// While nobody watches, it keeps the pictures since the last key picture, by reference, as far as
/// there is room, and the last events. It stays while the runs that receive it come and go.
public final class LiveCamera: Sendable {
  public let name: String
  /// What it is in messages.
  let number: UInt16
  private let state: Mutex<State>
  /// Told of each event.
  private let tell: @Sendable (UInt16, LiveEvent) -> Void

  /// Asks a run for its figures.
  public typealias Asking = @Sendable () async -> Figures

  private struct State: Sendable {
    var source: String
    var box: DecoderBox?
    var stream = BrowserStream()
    var group = PictureGroup()
    /// Bytes of the group while nobody watches.
    var share = PictureGroup.limits.bytes
    var watchers: [ObjectIdentifier: (viewer: Viewer, form: ViewerCommand.Form)] = [:]
    var listeners: [ObjectIdentifier: Viewer] = [:]
    /// Decodes for those that get JPEG.
    var feed: JPEGFeed?
    /// When the first picture came that nobody wanted as JPEG any more.
    var feedIdleSince: Instant?
    var events = CircularBuffer<LiveEvent>()
    var hasSaidUnboxed = false
    var ask: Asking?
    var attention: (@Sendable (Bool) -> Void)?

    var isWatched: Bool { !watchers.isEmpty || !listeners.isEmpty }
    var wantsJPEG: Bool { watchers.values.contains { $0.form == .jpeg } }

    /// Notes that a picture came at `now`; returns the feed once it has gone on for nobody long
    /// enough.
    mutating func takeIdleFeed(at now: Instant) -> JPEGFeed? {
      guard feed != nil, !wantsJPEG else { return nil }
      let since = feedIdleSince ?? now
      feedIdleSince = since
      return since.duration(to: now) < LiveCamera.feedLinger ? nil : takeFeed()
    }

    mutating func takeFeed() -> JPEGFeed? {
      defer { (feed, feedIdleSince) = (nil, nil) }
      return feed
    }
  }

  /// What is remembered of what happened.
  static let mostEvents = 200
  /// How long decoding for JPEG goes on when nobody watches: who comes and goes all the time must
  /// not begin a decoder each time.
  static let feedLinger = Duration.seconds(5)

  init(
    name: String, number: UInt16, source: String, box: DecoderBox?,
    tell: @escaping @Sendable (UInt16, LiveEvent) -> Void
  ) {
    (self.name, self.number, self.tell) = (name, number, tell)
    state = Mutex(State(source: source, box: box))
  }

  /// The source, without a password.
  var source: String {
    get { state.withLock(\.source) }
    set { state.withLock { $0.source = newValue } }
  }

  /// Where its pictures are decoded.
  var box: DecoderBox? {
    get { state.withLock(\.box) }
    set { state.withLock { $0.box = newValue } }
  }

  /// Keeps no more than so many bytes of pictures while nobody watches.
  func setShare(_ bytes: Int) { state.withLock { $0.share = bytes } }

  // MARK: - A run

  /// Begins a run: `ask` asks it for figures, and `attention` is told, from any thread, when
  /// somebody begins to watch, and when nobody does any more.
  public func begin(ask: @escaping Asking, attention: @escaping @Sendable (Bool) -> Void) {
    let isWatched = state.withLock { state in
      (state.ask, state.attention) = (ask, attention)
      return state.isWatched
    }
    if isWatched { attention(true) }
  }

  /// Ends the run.
  public func end() {
    let feed = state.withLock { state in
      (state.ask, state.attention) = (nil, nil)
      state.stream.restart()
      return state.wantsJPEG ? nil : state.takeFeed()
    }
    feed?.end()
  }

  /// Takes an access unit of the pictures.
  public func take(_ unit: AccessUnit) {
    let arrival = unit.lastArrival
    let (unit, watchers, idle, feed) = state.withLock { state in
      let unit = state.stream.take(unit)
      state.group.append(
        unit, within: state.isWatched ? PictureGroup.limits.bytes : state.share)
      let idle = state.takeIdleFeed(at: arrival)
      return (unit, state.watchers, idle, state.feed)
    }
    idle?.end()
    feed?.submit(unit)
    for (viewer, form) in watchers.values where form == .coded { viewer.offer(unit, of: number) }
    if feed == nil, !watchers.isEmpty { openFeed() }
  }

  /// Takes a unit of the sound.
  public func take(_ unit: SoundUnit) {
    for viewer in state.withLock(\.listeners).values { viewer.offer(unit, of: number) }
  }

  /// Notes what happened to it, in a sentence.
  public func note(_ words: String, isWarning: Bool) {
    let event = LiveEvent(words, isWarning: isWarning)
    state.withLock { state in
      state.events.append(event)
      if state.events.count > Self.mostEvents { state.events.removeFirst() }
    }
    tell(number, event)
  }

  /// Notes, once, that pictures for the page are decoded with less of a box than there should be,
  /// or not at all.
  func note(_ event: DecoderBoxEvent) {
    let words: String? =
      switch event {
      case .absent(let reason): "pictures for the page are decoded without a sandbox: \(reason)"
      case .incomplete(let reason): "the sandbox of the page's decoder is incomplete: \(reason)"
      case .failed(let error): "pictures for the page cannot be decoded: \(error)"
      case .lost: nil
      }
    let isNews = state.withLock { state in
      defer { state.hasSaidUnboxed = state.hasSaidUnboxed || words != nil }
      return !state.hasSaidUnboxed
    }
    if let words, isNews { note(words, isWarning: true) }
  }

  // MARK: - Viewers

  var events: [LiveEvent] { state.withLock { Array($0.events) } }

  var figures: Figures {
    get async {
      guard let ask = state.withLock(\.ask) else { return .idle }
      return await ask()
    }
  }

  /// The pictures since the last key picture, as far as they are kept.
  var group: PictureGroup { state.withLock(\.group) }

  /// Hands pictures to `viewer` from now on, beginning with those since the last key picture.
  func add(_ viewer: Viewer, as form: ViewerCommand.Form) {
    change { state in
      // Within the lock, so that no picture is missed, and none comes twice.
      viewer.begin(number, with: form == .coded ? state.group : nil)
      state.watchers[ObjectIdentifier(viewer)] = (viewer, form)
    }
    openFeed()
  }

  func remove(_ viewer: Viewer) {
    change { $0.watchers[ObjectIdentifier(viewer)] = nil }
    viewer.end(number)
  }

  func addListener(_ viewer: Viewer) {
    change { $0.listeners[ObjectIdentifier(viewer)] = viewer }
  }

  func removeListener(_ viewer: Viewer) {
    change { $0.listeners[ObjectIdentifier(viewer)] = nil }
  }

  private func change(_ body: (inout State) -> Void) {
    let attention = state.withLock { state -> (@Sendable (Bool) -> Void)? in
      let wasWatched = state.isWatched
      body(&state)
      if state.wantsJPEG { state.feedIdleSince = nil }
      return state.isWatched != wasWatched ? state.attention : nil
    }
    attention?(state.withLock(\.isWatched))
  }

  /// What decodes for JPEG now.
  var feed: JPEGFeed? { state.withLock(\.feed) }

  /// Begins to decode, if somebody wants JPEG and there is something to begin with.
  private func openFeed() {
    state.withLock { state in
      guard state.wantsJPEG, state.feed == nil, let first = state.group.beginning.first else {
        return
      }
      state.feed = JPEGFeed(
        state.group, codec: first.sent.codec, box: state.box,
        deliver: { [weak self] in self?.deliver($0) }, onEvent: { [weak self] in self?.note($0) })
    }
  }

  private func deliver(_ picture: JPEGPicture) {
    for (viewer, form) in state.withLock(\.watchers).values where form == .jpeg {
      viewer.offer(picture, of: number)
    }
  }
}
