import Outputs

/// What is measured of a camera, for one look.
public struct Figures: Sendable {
  /// What it does, in a word or a sentence: `receiving`, `no route to host; connecting again`.
  public var state: String
  /// Whether media comes.
  public var isUp: Bool
  /// Numbers of the last second or two, by name, in base units: `bits_per_s`, `loss`, `jitter_s`,
  /// `pictures_per_s`.
  public var numbers: [(name: String, value: Double?)]
  /// Words: `format`, `sound`, `transport`.
  public var words: [(name: String, value: String?)]

  public init(
    state: String, isUp: Bool, numbers: [(name: String, value: Double?)] = [],
    words: [(name: String, value: String?)] = []
  ) {
    (self.state, self.isUp, self.numbers, self.words) = (state, isUp, numbers, words)
  }

  /// The state of a camera that no run receives.
  static let idle = Figures(state: "not received now", isUp: false)

  func json(of camera: UInt16) -> JSONLine {
    var line = JSONLine()
    line.add("id", camera)
    line.add("state", state)
    line.add("up", isUp)
    for (name, value) in numbers { line.add(name, value, digits: 6) }
    for (name, value) in words { line.add(name, value) }
    return line
  }
}
