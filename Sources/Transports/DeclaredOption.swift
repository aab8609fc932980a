/// An option that a transport adds to the command line.
public struct DeclaredOption: Sendable {
  /// Without its dashes, such as `rtsp-transport`.
  public let name: String
  /// What stands for the value in help, such as `ms`.
  public let valueName: String
  public let help: String
  /// Writes a value, as typed, into the options; throws what is wrong with it.
  public let apply: @Sendable (_ value: String, _ options: inout TransportOptions) throws -> Void

  public init(
    _ name: String, valueName: String, help: String,
    apply: @escaping @Sendable (_ value: String, _ options: inout TransportOptions) throws -> Void
  ) {
    self.name = name
    self.valueName = valueName
    self.help = help
    self.apply = apply
  }
}
