/// A user's choices about all transports: one value for each type of options.
///
/// A transport declares its options in its own folder and looks them up by type; the initial value
/// holds unless somebody sets another.
public struct TransportOptions: Sendable {
  private var values: [ObjectIdentifier: any TransportOption] = [:]

  public init() {}

  public subscript<Option: TransportOption>(type: Option.Type) -> Option {
    get { values[ObjectIdentifier(type)] as? Option ?? Option() }
    set { values[ObjectIdentifier(type)] = newValue }
  }

  /// The files that all options name, which are read.
  public var files: [String] { values.values.flatMap { $0.files } }

  /// What is risky about the options, a sentence each.
  public var warnings: [String] { values.values.flatMap { $0.warnings }.sorted() }
}

/// A user's choices about one transport, or about an aspect of several.
public protocol TransportOption: Sendable {
  /// The defaults.
  init()

  /// The files that it names, which are read and must not be written over.
  var files: [String] { get }

  /// What is risky about it, for whoever chose it.
  var warnings: [String] { get }
}

extension TransportOption {
  public var files: [String] { [] }
  public var warnings: [String] { [] }
}
