/// What a counter is called where many receivers are watched together, as Prometheus does.
///
/// It is declared beside the counter, so that there is no second list of them.
public struct Metric: Sendable, Hashable {
  /// A label that tells counters of one name apart; their sum is a figure too.
  public struct Label: Sendable, Hashable {
    public let name: String
    public let value: String

    public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
  }

  /// Without the program's name before it and `_total` behind it, such as `packets_lost`.
  public let name: String
  /// One sentence for the person who reads it; the same for all counters of this name.
  public let help: String
  public let label: Label?

  public init(_ name: String, _ help: String, _ label: Label? = nil) {
    (self.name, self.help, self.label) = (name, help, label)
  }

  /// That of a counter whose name or number is not the only one: `by` names what tells them apart.
  public func labelled(_ name: String, _ value: String) -> Metric {
    Metric(self.name, help, Label(name, value))
  }
}
