/// One figure at one moment.
struct Reading: Sendable {
  enum Value: Sendable, Hashable {
    /// Events since a start that the far end does not know.
    case count(UInt64)
    /// The same in seconds.
    case seconds(Double)
    /// A state.
    case now(Double)
  }

  /// What tells it apart from all others of its camera.
  struct Key: Sendable, Hashable {
    let name: String
    let labels: [Label]
  }

  struct Label: Sendable, Hashable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
  }

  let family: MetricFamily
  let labels: [Label]
  let value: Value

  var key: Key { Key(name: family.name, labels: labels) }
}
