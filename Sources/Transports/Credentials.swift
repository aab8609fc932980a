/// A user name and a password.
///
/// Neither has a description: whatever prints a configuration prints no secret.
public struct Credentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  public var user: String
  public var password: String

  public init(user: String, password: String) {
    self.user = user
    self.password = password
  }

  public var description: String { "(credentials)" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
