import Glibc

/// The environment of the process.
enum Environment {
  /// The value of the variable `name`, if it is set.
  static func value(of name: String) -> String? {
    unsafe getenv(name).flatMap { unsafe String(cString: $0) }
  }

  /// The folder in which systemd gives this service its credentials (systemd.exec(5)).
  static var credentialsFolder: String? { value(of: "CREDENTIALS_DIRECTORY") }
}
