import Glibc

/// Puts a terminal back where the process ends without its own doing: by `exit`, or by a fault.
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
  nonisolated(unsafe) private static var former: [sigaction] = []

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

  /// Remembers how the terminal is set, and has keys come one by one, without an echo.
  ///
  /// Those that send a signal go on doing so.
  static func begin() {
    unsafe tcgetattr(descriptor, &settings)
    var raw = unsafe settings
    raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
    unsafe tcsetattr(descriptor, TCSANOW, &raw)
    unsafe isNeeded = true
    unsafe former = faults.map { number in
      var action = sigaction()
      unsafe action.__sigaction_handler.sa_handler = { number in
        Restoration.restore()
        // What happened before happens now, or again when the fault comes again.
        signal(number, SIG_DFL)
        raise(number)
      }
      var former = sigaction()
      unsafe sigaction(number, &action, &former)
      return former
    }
  }

  /// Sets the terminal as it was.
  static func end() {
    unsafe isNeeded = false
    unsafe tcsetattr(descriptor, TCSANOW, &settings)
    for (number, var action) in unsafe zip(faults, former) {
      unsafe sigaction(number, &action, nil)
    }
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
