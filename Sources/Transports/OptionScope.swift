/// Which options of the command line have an effect on sources of one sort.
///
/// An option in no scope concerns every source. An option in some scope, but not in that of the
/// source at hand, is a mistake.
public struct OptionScope: Sendable {
  /// What people call such sources, such as `rtsp://`.
  public let words: String
  /// The declared options for such sources alone; those of ``TransportKind/options`` count too.
  public let options: [DeclaredOption]
  /// Options of the tool itself, with their dashes, such as `--timeout`.
  public let toolOptions: [String]
  /// Whether a source of the transport is of this sort.
  public let includes: @Sendable (_ source: String) -> Bool

  public init(
    _ words: String, options: [DeclaredOption] = [], toolOptions: [String] = [],
    includes: @escaping @Sendable (_ source: String) -> Bool = { _ in true }
  ) {
    self.words = words
    self.options = options
    self.toolOptions = toolOptions
    self.includes = includes
  }

  /// The names of all its options, with their dashes.
  public var names: [String] { options.map { "--\($0.name)" } + toolOptions }
}
