/// What is wrong with a ``DeclaredOption`` that was typed.
public struct OptionFault: Error, Hashable, CustomStringConvertible {
  /// A sentence that names the option, and nothing that may be secret.
  public let description: String

  public init(_ description: String) { self.description = description }
}
