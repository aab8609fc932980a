import NIOCore

/// The units of one track that wait for their readers, counted from the first one of all.
struct LiveLine {
  private var units = CircularBuffer<(unit: SourceAccessUnit, bytes: Int)>()
  /// The number of the first unit that is kept.
  private var first = 0
  private var bytes = 0
  /// The number of the unit at which new readers begin; `nil` before there is one.
  private var groupStart: Int?
  private var readers: [Int: Reader] = [:]
  private var nextReader = 0
  private var hasHadReader = false

  private struct Reader {
    /// The number of its next unit.
    var place: Int
    /// It has missed units, and goes on at the next key picture.
    var isBroken: Bool
    /// It was told that there is nothing yet.
    var isWaiting = false
    var wake: (@Sendable () -> Void)?
  }

  private var end: Int { first + units.count }

  /// Whether a unit of `length` bytes may be added to at most `limit`.
  func hasRoom(for length: Int, upTo limit: Int) -> Bool {
    units.isEmpty || bytes + length <= limit
  }

  mutating func append(_ unit: SourceAccessUnit, bytes length: Int) {
    units.append((unit, length))
    bytes += length
  }

  /// New readers begin with the last unit, or else with the next one.
  mutating func beginGroup(with last: Bool) { groupStart = end - (last ? 1 : 0) }

  /// Lets go of old units when there are more than `limit` bytes: readers that have not taken them
  /// have a gap.
  mutating func limit(to limit: Int) {
    guard bytes > limit, units.count > 1 else { return }
    // The present group alone may be too long.
    let start = groupStart.flatMap { $0 > first ? $0 : nil } ?? end
    for (number, reader) in readers where reader.place < start {
      readers[number]?.place = start
      readers[number]?.isBroken = true
    }
    drop(before: start)
    if groupStart.map({ $0 < first }) ?? false { groupStart = nil }
  }

  /// Lets go of what nobody needs any more.
  mutating func trim(keepsGroup: Bool) {
    var needed = readers.values.map(\.place).min()
    if keepsGroup { needed = min(needed ?? end, groupStart ?? end) }
    // Without a reader, one is waited for.
    if let needed { drop(before: needed) }
  }

  private mutating func drop(before number: Int) {
    while first < number, let gone = units.popFirst() {
      bytes -= gone.bytes
      first += 1
    }
  }

  /// Adds a reader, at the first unit that is kept or at the present group.
  mutating func addReader(fromStart: Bool) -> Int {
    nextReader += 1
    // The one before it may have left anywhere between two key pictures.
    readers[nextReader] = Reader(
      place: fromStart ? first : groupStart ?? end,
      isBroken: fromStart ? hasHadReader : groupStart == nil)
    hasHadReader = true
    return nextReader
  }

  /// Has a reader go on at the present group, unless it is there already.
  mutating func rejoin(_ number: Int) {
    guard let reader = readers[number], let groupStart, reader.place < groupStart else { return }
    readers[number]?.place = groupStart
    readers[number]?.isBroken = false
  }

  mutating func removeReader(_ number: Int) { readers[number] = nil }

  /// Sets whom to tell; true when there is something to tell already.
  mutating func setWake(
    _ wake: @escaping @Sendable () -> Void, of number: Int, hasEnded: Bool
  ) -> Bool {
    guard var reader = readers[number] else { return false }
    reader.wake = wake
    let isReady = reader.isWaiting && (hasEnded || reader.place < end)
    if isReady { reader.isWaiting = false }
    readers[number] = reader
    return isReady
  }

  /// Those who wait and have something now; each is told once.
  mutating func takeWakes() -> [@Sendable () -> Void] {
    var wakes: [@Sendable () -> Void] = []
    for (number, reader) in readers where reader.isWaiting {
      guard let wake = reader.wake else { continue }
      readers[number]?.isWaiting = false
      wakes.append(wake)
    }
    return wakes
  }

  /// The next unit of a reader.
  mutating func next(for number: Int, hasEnded: Bool, keepsGroup: Bool) -> SourceAccessUnit? {
    guard var reader = readers[number] else { return nil }
    defer {
      readers[number] = reader
      trim(keepsGroup: keepsGroup)
    }
    while reader.place < end {
      let unit = units[offset: reader.place - first].unit
      reader.place += 1
      if reader.isBroken, !unit.isRandomAccess { continue }
      reader.isBroken = false
      return unit
    }
    reader.isWaiting = !hasEnded
    return nil
  }
}
