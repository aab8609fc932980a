public import CoreMetrics
import Synchronization

/// A backend of swift-metrics that holds the figures in memory, and shows them as text to whoever
/// asks; see ``text(as:)``.
///
/// Nothing happens while nobody asks, beyond the counting itself. Figures of other libraries are
/// shown too.
public final class MetricsRegistry: MetricsFactory, Sendable {
  /// All figures of one name.
  private struct Family {
    let kind: MetricCell.Kind
    var cells: [MetricCell] = []
    /// How many have each of them.
    var users: [Int] = []
    /// The places of the cells, by their labels.
    var index: [String: Int] = [:]

    /// The cell of these labels, with one more user.
    mutating func cell(_ kind: MetricCell.Kind, name: String, labels: String) -> MetricCell {
      if let place = index[labels] {
        guard cells[place].kind == kind else {
          return MetricCell(kind, name: name, labels: labels)
        }
        users[place] += 1
        return cells[place]
      }
      let cell = MetricCell(kind, name: name, labels: labels)
      index[labels] = cells.count
      cells.append(cell)
      users.append(1)
      return cell
    }

    /// Takes a user from a cell, and the cell away after the last one.
    mutating func remove(_ cell: MetricCell) {
      guard let place = index[cell.labels], cells[place] === cell else { return }
      users[place] -= 1
      guard users[place] == 0 else { return }
      // The last one takes the place of the one that goes.
      let last = cells.count - 1
      if place != last {
        cells.swapAt(place, last)
        users.swapAt(place, last)
        index[cells[place].labels] = place
      }
      cells.removeLast()
      users.removeLast()
      index[cell.labels] = nil
    }
  }

  private let families = Mutex<[String: Family]>([:])
  /// The words about each family, by the name of its figures.
  private let help = Mutex<[String: String]>([:])

  public init() {}

  public func makeCounter(
    label: String, dimensions: [(String, String)]
  ) -> any CounterHandler { cell(.counter, label, dimensions) }

  public func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler { cell(.floatingCounter, label, dimensions) }

  public func makeMeter(
    label: String, dimensions: [(String, String)]
  ) -> any MeterHandler { cell(.gauge, label, dimensions) }

  public func makeRecorder(
    label: String, dimensions: [(String, String)], aggregate: Bool
  ) -> any RecorderHandler { cell(aggregate ? .summary : .gauge, label, dimensions) }

  public func makeTimer(
    label: String, dimensions: [(String, String)]
  ) -> any TimerHandler {
    cell(.summary, label.hasSuffix("_seconds") ? label : "\(label)_seconds", dimensions)
  }

  public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }
  public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {
    remove(handler)
  }
  public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }
  public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }
  public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

  /// Notes what the figures of a name are about.
  func describe(_ family: MetricFamily) {
    help.withLock { $0[family.name] = $0[family.name] ?? MetricsText.escaped(family.help) }
  }

  /// The figures as text, in the order of their names.
  public func text(as format: MetricsFormat) -> String {
    let families = families.withLock { families in
      families.sorted { $0.key < $1.key }.map { ($0.key, $0.value.kind, $0.value.cells) }
    }
    var text = MetricsText(format, help: help.withLock(\.self))
    for (name, kind, cells) in families where !cells.isEmpty {
      text.add(cells, of: kind, named: name)
    }
    return text.finished()
  }

  // MARK: - Inside

  /// The cell of that name and those labels, which whoever asks for it has together.
  private func cell(
    _ kind: MetricCell.Kind, _ label: String, _ dimensions: [(String, String)]
  ) -> MetricCell {
    let name = MetricsText.name(label, of: kind)
    let labels = MetricsText.labels(dimensions)
    return families.withLock { families in
      // One of another kind under the same name would make the text wrong; it counts in vain.
      guard families[name].map({ $0.kind.word == kind.word }) ?? true else {
        return MetricCell(kind, name: name, labels: labels)
      }
      // In place: a copy would take as long as there are cameras.
      return families[name, default: Family(kind: kind)].cell(kind, name: name, labels: labels)
    }
  }

  private func remove(_ handler: AnyObject) {
    guard let cell = handler as? MetricCell else { return }
    families.withLock { families in
      families[cell.name]?.remove(cell)
      if families[cell.name]?.cells.isEmpty ?? false { families[cell.name] = nil }
    }
  }
}
