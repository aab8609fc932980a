import Glibc

/// Puts a terminal back where the process ends without its own doing: by `exit`, by a fault, or by
/// a signal that nobody takes yet.
///
/// What a signal finds here is only written while no signal can come to it: the screen is taken
/// after it, and given back before.
enum Restoration {
  nonisolated(unsafe) private static var descriptor: Int32 = -1
  /// How it was set before.
  nonisolated(unsafe) private static var settings = termios()
  nonisolated(unsafe) private static var farewell: UnsafeMutablePointer<UInt8>?
  nonisolated(unsafe) private static var farewellLength = 0
  nonisolated(unsafe) private static var isNeeded = false
  nonisolated(unsafe) private static var former: [(number: Int32, action: sigaction)] = []

  private static let faults = [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGQUIT]

  /// Gets ready; `text` is what gives the screen back.
  static func prepare(_ terminal: Int32, _ text: String) {
    let bytes = Array(text.utf8)
    let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count)
    unsafe memory.initialize(from: bytes, count: bytes.count)
    unsafe descriptor = terminal
    unsafe farewell = memory
    unsafe farewellLength = bytes.count
    atexit { Restoration.restore() }
  }

  /// Remembers how the terminal is set, and has it set as `change` says; `time` is that of
  /// tcsetattr(3).
  ///
  /// The signals `ends` end the process as they do otherwise, unless they are ignored.
  static func begin(
    at time: Int32 = TCSANOW, endedBy ends: [Int32] = [], _ change: (inout termios) -> Void
  ) {
    unsafe tcgetattr(descriptor, &settings)
    var changed = unsafe settings
    change(&changed)
    unsafe isNeeded = true
    unsafe former = (faults + ends).compactMap { number in
      var action = sigaction()
      unsafe action.__sigaction_handler.sa_handler = { number in
        Restoration.restore()
        // What happened before happens now, or again when the fault comes again.
        signal(number, SIG_DFL)
        raise(number)
      }
      var former = sigaction()
      unsafe sigaction(number, &action, &former)
      guard unsafe !TerminationSignals.isIgnoring(former.__sigaction_handler.sa_handler) else {
        unsafe sigaction(number, &former, nil)
        return nil
      }
      return (number, former)
    }
    unsafe tcsetattr(descriptor, time, &changed)
  }

  /// Sets the terminal as it was, at the `time` of tcsetattr(3).
  static func end(at time: Int32 = TCSANOW) {
    unsafe tcsetattr(descriptor, time, &settings)
    unsafe isNeeded = false
    for (number, var action) in unsafe former { unsafe sigaction(number, &action, nil) }
  }

  /// Calls only what a signal may call (signal-safety(7)).
  private static func restore() {
    guard unsafe isNeeded else { return }
    unsafe isNeeded = false
    if let farewell = unsafe farewell {
      _ = unsafe write(descriptor, farewell, farewellLength)
    }
    unsafe tcsetattr(descriptor, TCSANOW, &settings)
  }
}
