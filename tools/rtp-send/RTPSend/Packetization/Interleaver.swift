public import NIOCore

/// Numbers NAL units in decoding order and hands them out in another order.
///
/// Windows of eight units are sent evens first, odds second, so that a receiver that ignores
/// decoding order numbers shows nonsense, and one that heeds them needs a small buffer.
public struct Interleaver: Sendable {
  /// NAL units in a window; even.
  public static let window = 8
  /// `sprop-interleaving-depth` (RFC 6184 §8.1), `sprop-depack-buf-nalus` (RFC 7798 §7.1).
  ///
  /// The units that are sent before unit 1 although they follow it: 2, 4 and 6.
  public static let depth = window / 2 - 1
  /// `sprop-max-don-diff`: unit 6 is sent before unit 1.
  public static let maximumDifference = window - 3

  /// A NAL unit with its place in decoding order.
  public struct Item: Sendable, Equatable {
    public var unit: ByteBuffer
    public var ticks: Int64
    /// The decoding order number, modulo 2^16.
    public var number: UInt16
    /// True on the unit of an access unit that is sent last.
    public var endsAccessUnit: Bool
    /// Whether decoding can begin at its access unit.
    public var isKey = false
  }

  private var held: [Entry] = []
  private var nextNumber: UInt16
  private var accessUnit = 0

  private struct Entry {
    var item: Item
    var accessUnit: Int
    var isFinal: Bool
  }

  /// Starts with the decoding order number `first`.
  public init(first: UInt16 = 65_530) { nextNumber = first }

  /// Takes the NAL units of one access unit and returns the windows that became full.
  public mutating func push(_ units: [ByteBuffer], ticks: Int64, isKey: Bool = false) -> [Item] {
    accessUnit &+= 1
    var out: [Item] = []
    for (index, unit) in units.enumerated() {
      let item = Item(
        unit: unit, ticks: ticks, number: nextNumber, endsAccessUnit: false, isKey: isKey)
      let isFinal = index == units.count - 1
      held.append(Entry(item: item, accessUnit: accessUnit, isFinal: isFinal))
      nextNumber &+= 1
      if held.count == Self.window { out += finish() }
    }
    return out
  }

  /// The units that are still held, interleaved.
  public mutating func finish() -> [Item] {
    let order =
      stride(from: 0, to: held.count, by: 2).map { held[$0] }
      + stride(from: 1, to: held.count, by: 2).map { held[$0] }
    let finished = Set(held.filter(\.isFinal).map(\.accessUnit))
    held.removeAll()
    var ended: Set<Int> = []
    var items: [Item] = []
    for entry in order.reversed() {
      var item = entry.item
      item.endsAccessUnit =
        finished.contains(entry.accessUnit) && ended.insert(entry.accessUnit).inserted
      items.append(item)
    }
    return items.reversed()
  }
}

extension Collection<Interleaver.Item> {
  /// The time of the latest picture among them at which decoding can begin.
  var key: Int64? { lazy.filter(\.isKey).map(\.ticks).max() }
}
