import Glibc

/// The environment of the process.
enum Environment {
  /// The value of the variable `name`, if it is set.
  static func value(of name: String) -> String? {
    unsafe getenv(name).flatMap { unsafe String(cString: $0) }
  }
}
