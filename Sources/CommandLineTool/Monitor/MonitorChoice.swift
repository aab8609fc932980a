/// What of a fleet the monitor shows, as the keys say.
struct MonitorChoice: Sendable {
  enum Outcome: Sendable, Hashable { case goesOn, ends }

  /// The camera that is chosen in the table, by its name.
  private(set) var selection: String?
  /// Whether it is shown by itself.
  private(set) var isInFull = false
  /// Whether it was asked if all is to end.
  private(set) var isAsking = false
  private let hasTable: Bool

  private static let page = 10

  /// Without a table there is one stream, which is always shown in full.
  init(hasTable: Bool) {
    self.hasTable = hasTable
    isInFull = !hasTable
  }

  /// Does what `key` says; `names` are those of the table, in its order.
  mutating func take(_ key: MonitorKey, among names: [String]) -> Outcome {
    if isAsking {
      isAsking = false
      return key == .yes ? .ends : .goesOn
    }
    guard hasTable else { return key == .quit ? .ends : .goesOn }
    switch key {
    case .quit, .back:
      if isInFull {
        isInFull = false
      } else {
        isAsking = key == .quit
      }
    case .enter:
      // The order changes by itself, and what is shown in full does not.
      selection = selection.flatMap { names.contains($0) ? $0 : nil } ?? names.first
      isInFull = selection != nil
    case .up: move(by: -1, among: names)
    case .down: move(by: 1, among: names)
    case .pageUp: move(by: -Self.page, among: names)
    case .pageDown: move(by: Self.page, among: names)
    case .first: selection = names.first
    case .last: selection = names.last
    case .yes, .other: break
    }
    return .goesOn
  }

  private mutating func move(by step: Int, among names: [String]) {
    guard !names.isEmpty else { return }
    let place = selection.flatMap { names.firstIndex(of: $0) } ?? 0
    selection = names[min(max(place + step, 0), names.count - 1)]
  }
}
