import ArgumentParser
import Dispatch
import Glibc
import Receiver
import Synchronization

/// The full-screen view of a run on a terminal, and its keys.
///
/// While it is shown, messages are events in it. Once it is left, they go where they always go.
final class MonitorScreen: Sendable {
  private struct State {
    var streams: [MonitoredStream] = []
    var choice: MonitorChoice
    /// What was last said of no stream.
    var news: MonitorModel.Event?
    /// The errors that nobody sees any more once the screen is given back, and whose they are.
    var errors: [(speaker: String?, remark: Remark)] = []
    var refreshing: Task<Void, Never>?
    var sources: Sources?
    /// What is said now goes to the terminal itself.
    var hasLeft = false
  }

  /// What wakes the monitor; Dispatch lets any thread cancel it.
  private struct Sources: @unchecked Sendable {
    let keys: any DispatchSourceRead
    let signals: [any DispatchSourceSignal]

    func cancel() {
      keys.cancel()
      for signal in signals { signal.cancel() }
    }
  }

  private let terminal: Terminal
  private let title: String?
  private let state: Mutex<State>
  private let queue = DispatchQueue(label: "rtp-recv.monitor")

  /// From one look to the next: at a stream, and at a fleet.
  private static let interval = Duration.milliseconds(250)
  private static let intervalOfFleet = Duration.milliseconds(500)
  private static let keysOfStream = "q end the run"
  private static let keysOfCamera = "q back to the table"
  /// How many errors are said again.
  private static let mostErrors = 50
  private static let question = "End all of them? y ends, any other key does not"

  /// Prepares it for one stream, or for a fleet that is called `title`.
  ///
  /// - Throws: that there is no terminal for it.
  init(forTerminalOf title: String?) throws(ValidationError) {
    do throws(Terminal.Unusable) {
      terminal = try Terminal()
    } catch {
      throw ValidationError("--monitor cannot be shown: \(error)")
    }
    self.title = title
    state = Mutex(State(choice: MonitorChoice(hasTable: title != nil)))
  }

  /// What is shown from now on.
  func keep(_ streams: [MonitoredStream]) { state.withLock { $0.streams = streams } }

  /// Takes the screen, and draws on it again and again what `refresh` has noted; `quit` is called
  /// when a key ends the run, or the terminal is gone.
  func begin(
    refreshing refresh: @escaping @Sendable () async -> Void, quit: @escaping @Sendable () -> Void
  ) {
    guard state.withLock({ $0.refreshing == nil }) else { return }
    let keys = terminal.onInput(queue) { [self] in readKeys(quit) }
    let signals = [SIGTSTP, SIGCONT, SIGWINCH].map { number in
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { [self] in heard(number) }
      source.resume()
      return source
    }
    let sources = Sources(keys: keys, signals: signals)
    let interval = title == nil ? Self.interval : Self.intervalOfFleet
    let refreshing = Task(executorPreference: TaskQueue(label: "rtp-recv.monitor")) { [self] in
      while !Task.isCancelled {
        await refresh()
        queue.async { [self] in draw() }
        try? await Task.sleep(for: interval)
      }
    }
    state.withLock { ($0.sources, $0.refreshing) = (sources, refreshing) }
    StandardError.divert { [self] speaker, remark in
      let (isTaken, stream) = state.withLock { state -> (Bool, MonitoredStream?) in
        guard !state.hasLeft else { return (false, nil) }
        if remark.level == .error {
          if state.errors.count >= Self.mostErrors { state.errors.removeFirst() }
          state.errors.append((speaker, remark))
        }
        let stream = state.streams.first { $0.name == speaker ?? "" }
        if stream == nil { state.news = MonitorModel.Event(remark, at: MonitoredStream.time) }
        return (true, stream)
      }
      stream?.note(remark)
      return isTaken
    }
    terminal.enter()
  }

  /// Gives the screen back for good.
  func leave() {
    let (refreshing, sources) = state.withLock { state in
      defer { (state.refreshing, state.sources) = (nil, nil) }
      return (state.refreshing, state.sources)
    }
    refreshing?.cancel()
    sources?.cancel()
    terminal.leave()
    // An error is either among these, or is said where it can be seen.
    let errors = state.withLock { state in
      defer { (state.errors, state.hasLeft) = ([], true) }
      return state.errors
    }
    StandardError.divert(nil)
    // Elsewhere they stand already.
    guard isatty(STDERR_FILENO) == 1 else { return }
    for (speaker, remark) in errors {
      StandardError.$speaker.withValue(speaker) { StandardError.say(remark) }
    }
  }

  // MARK: - On the queue

  private func heard(_ signal: Int32) {
    switch signal {
    case SIGTSTP:
      terminal.leave(isOver: false)
      kill(getpid(), SIGSTOP)
    case SIGCONT:
      terminal.enter()
      draw()
    default: draw()
    }
  }

  private func readKeys(_ quit: @Sendable () -> Void) {
    guard let bytes = terminal.read() else { return }
    guard !bytes.isEmpty else { return quit() }
    let names = FleetView.sorted(state.withLock(\.streams).map(\.model)).map(\.name)
    for key in MonitorKey.keys(in: bytes) {
      if state.withLock({ $0.choice.take(key, among: names) }) == .ends { return quit() }
    }
    draw()
  }

  private func draw() {
    let (streams, choice, news) = state.withLock { ($0.streams, $0.choice, $0.news) }
    let models = streams.map(\.model)
    terminal.show { columns, rows in
      view(models, choice, news, columns: columns, rows: rows)
    }
  }

  private func view(
    _ models: [MonitorModel], _ choice: MonitorChoice, _ news: MonitorModel.Event?,
    columns: Int, rows: Int
  ) -> [ScreenLine] {
    let sorted = FleetView.sorted(models)
    if choice.isInFull,
      let model = sorted.first(where: { $0.name == choice.selection }) ?? sorted.first
    {
      return StreamView(
        model: model, strokes: terminal.strokes,
        keys: title == nil ? Self.keysOfStream : Self.keysOfCamera
      ).lines(columns: columns, rows: rows)
    }
    return FleetView(
      title: title ?? "", time: MonitoredStream.time, models: models, selection: choice.selection,
      question: choice.isAsking ? Self.question : nil, news: news
    ).lines(columns: columns, rows: rows)
  }
}
