import BlockingIO
import Dispatch
import Glibc
import Synchronization

/// The terminal of this process, drawn on as a whole.
///
/// It is as before whenever the process does not have it: at its end, however that comes, and while
/// it is stopped.
final class Terminal: Sendable {
  /// Why it cannot be drawn on.
  struct Unusable: Error, CustomStringConvertible {
    let description: String
  }

  private struct State {
    /// Whether the screen is ours now.
    var isShown = false
    /// Whether it has been given back for good.
    var isOver = false
    /// What stands on it.
    var lines: [ScreenLine] = []
    var size = (columns: 0, rows: 0)
  }

  /// What it is drawn with.
  let strokes: Sparkline.Strokes
  private let isColoured: Bool
  private let descriptor: Int32
  private let state = Mutex(State())

  /// A slow line, or one that was paused, is not waited for any longer.
  private static let patience = Duration.milliseconds(100)
  /// How often is looked, in the background, whether the terminal is this process's again.
  private static let backgroundPause = DispatchTimeInterval.milliseconds(500)
  private static let smallest = 1
  private static let largest = 1000

  // ECMA-48 and xterm: another screen, no cursor, and no line that wraps; and back again.
  private static let begin = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J"
  private static let end = "\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"
  // What comes between them is shown at once, where the terminal can do that.
  private static let beginUpdate = "\u{1B}[?2026h"
  private static let endUpdate = "\u{1B}[?2026l"

  /// Finds the terminal that the process was started from.
  ///
  /// - Throws: that there is none, or that it cannot be drawn on.
  init() throws(Unusable) {
    let name = Environment.value(of: "TERM") ?? ""
    guard !["", "dumb"].contains(name) else {
      throw Unusable(
        description: name.isEmpty
          ? "TERM does not say which terminal this is"
          : "the terminal (TERM=\(name)) has only lines")
    }
    descriptor = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    guard descriptor >= 0 else { throw Unusable(description: "there is no terminal") }
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { Environment.value(of: $0) }
      .first { !$0.isEmpty }
    let encoding = (locale ?? "").uppercased()
    strokes = encoding.contains("UTF-8") || encoding.contains("UTF8") ? .blocks : .letters
    isColoured = Environment.value(of: "NO_COLOR").map(\.isEmpty) ?? true
    Restoration.prepare(descriptor, Self.end)
  }

  deinit {
    leave()
    close(descriptor)
  }

  /// Whether the process may draw: a shell may have something else in the foreground.
  private var isForeground: Bool { tcgetpgrp(descriptor) == getpgrp() }

  /// Whether somebody has hung up.
  private var isGone: Bool { tcgetpgrp(descriptor) < 0 }

  /// Takes the screen, unless somebody else has it or it was given back for good.
  func enter() {
    state.withLock { state in
      guard !state.isShown, !state.isOver, isForeground else { return }
      // Keys come one by one, without an echo; those that send a signal go on doing so.
      Restoration.begin { $0.c_lflag &= ~tcflag_t(ICANON | ECHO) }
      state.isShown = true
      state.lines = []
      write(Self.begin)
    }
  }

  /// Gives the screen back; `isOver` says that it is not taken again.
  func leave(isOver: Bool = true) {
    state.withLock { state in
      state.isOver = state.isOver || isOver
      guard state.isShown else { return }
      state.isShown = false
      write(Self.end)
      Restoration.end()
    }
  }

  /// Draws what `view` makes of the size, in one write: only the lines that have changed.
  func show(_ view: (_ columns: Int, _ rows: Int) -> [ScreenLine]) {
    let size = size
    let lines = view(size.columns, size.rows)
    state.withLock { state in
      guard state.isShown else { return }
      var text = ""
      if state.size != size {
        text += "\u{1B}[0m\u{1B}[2J"
        state.lines = []
        state.size = size
      }
      for (row, line) in lines.enumerated() {
        if state.lines.indices.contains(row), state.lines[row] == line { continue }
        text += "\u{1B}[\(row + 1);1H" + coded(line) + "\u{1B}[0m"
        if line.width < size.columns { text += "\u{1B}[K" }
      }
      state.lines = lines
      guard !text.isEmpty else { return }
      // A part of it may be on the screen: all of it is drawn next time.
      if !write(Self.beginUpdate + text + Self.endUpdate) { state.lines = [] }
    }
  }

  /// What was typed; empty once the terminal is gone, `nil` if there is nothing for this process.
  func read() -> [UInt8]? {
    guard !isGone else { return [] }
    guard isForeground else { return nil }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = unsafe Glibc.read(descriptor, &bytes, bytes.count)
    if count < 0, errno == EAGAIN || errno == EINTR { return nil }
    return Array(bytes.prefix(max(0, count)))
  }

  /// Calls `body` on `queue` when something was typed.
  func onInput(_ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void)
    -> any DispatchSourceRead
  {
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [weak self] in
      guard let self, !isForeground, !isGone else { return body() }
      // What was typed for somebody else stays there, and would wake this again and again.
      source.suspend()
      nonisolated(unsafe) let paused = source
      queue.asyncAfter(deadline: .now() + Self.backgroundPause) { unsafe paused.resume() }
    }
    source.resume()
    return source
  }

  private func coded(_ line: ScreenLine) -> String {
    line.pieces.map { piece in
      let code = piece.tone.code(isColoured: isColoured)
      return code.isEmpty ? piece.text : "\u{1B}[\(code)m\(piece.text)\u{1B}[0m"
    }.joined()
  }

  private var size: (columns: Int, rows: Int) {
    var size = winsize()
    guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0
    else { return (80, 24) }
    return (
      min(Int(size.ws_col), Self.largest), min(max(Int(size.ws_row), Self.smallest), Self.largest)
    )
  }

  @discardableResult
  private func write(_ text: String) -> Bool {
    FileWriter(borrowing: descriptor).write(text, until: WriteDeadline(in: Self.patience)) == nil
  }
}
