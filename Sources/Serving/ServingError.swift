/// Why the page cannot be served.
public struct ServingError: Error, Sendable, CustomStringConvertible {
  public let description: String
}
