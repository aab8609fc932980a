import Bitstream
import Defragment
import RTPWire

/// Which access unit every picture in the decoder came from, and what became of it.
///
/// libavcodec says when it allocates a picture and when it lets go of it. An access unit whose
/// pictures are all gone without one having come out gave no frame; until then its frame may merely
/// be waiting for its turn. This holds however far a stream reorders, and needs no timestamps.
struct PictureLedger {
  /// The number under which a unit goes through the decoder, in the place of a timestamp.
  typealias Index = Int64

  private struct Entry {
    var units: [UnitRecord]
    /// Pictures allocated while the unit was being decoded.
    var started = 0
    /// Those of them that the decoder still holds.
    var live = 0
    var frames = 0
    /// Its picture was shown without the decoder, which may give it out yet.
    var isTaken = false
    var error: DecodeFailure.Reason?

    /// Whether it has a picture that has not come out.
    var isWaiting: Bool { started > 0 && frames == 0 && error == nil }

    /// Its turn among pictures to be shown.
    func place(_ index: Index) -> (Int64, Index) { (units.first?.time.ticks ?? 0, index) }

    /// What was thought to be intact is not.
    mutating func note(_ condition: RawFrame.Condition) {
      for index in units.indices {
        units[index].isGood = false
        if units[index].condition == .intact { units[index].condition = condition }
      }
    }
  }

  private var entries: [Index: Entry] = [:]
  private var nextIndex: Index = 0
  /// The unit that is being decoded.
  private(set) var current: Index?
  private var previous: Index?
  private var canCompleteFrame = false
  /// The unit before the current one gave its frame while the current one was being decoded.
  private var previousCameOut = false
  /// Entries whose last picture the decoder has let go of, not yet looked at.
  private var released: [Index] = []
  /// Whether pictures that the decoder has let go of unseen may be shown yet, by ``take(_:)``.
  var holdsPictures = false {
    didSet {
      guard oldValue, !holdsPictures else { return }
      released += entries.filter { $1.live <= 0 && $1.isWaiting }.map(\.key)
    }
  }

  /// Starts the account of a unit that is about to be decoded.
  ///
  /// - Parameters:
  ///   - unit: what is to be remembered of it.
  ///   - canCompleteFrame: whether it may be the second field of a frame for which the unit before it
  ///     started the picture.
  /// - Returns: the number that its pictures go by.
  mutating func begin(_ unit: UnitRecord, canCompleteFrame: Bool) -> Index {
    let index = nextIndex
    nextIndex += 1
    entries[index] = Entry(units: [unit])
    previous = current
    current = index
    self.canCompleteFrame = canCompleteFrame
    previousCameOut = false
    return index
  }

  /// What is decoded next belongs to no unit.
  mutating func beginStandIn() { (current, previous) = (nil, nil) }

  /// The decoder has allocated a picture; the answer goes to ``pictureReleased(_:)`` in the end.
  mutating func pictureStarted() -> Index? {
    guard let current else { return nil }
    entries[current]?.started += 1
    entries[current]?.live += 1
    return current
  }

  /// The unit whose picture is the first to be shown where more than `depth` have not come out.
  ///
  /// Nothing of the decoder tells whether it will ever give out a picture; but more than `depth` do not
  /// wait in it.
  func withheld(beyond depth: Int) -> Index? {
    let waiting = entries.filter { $1.isWaiting }
    guard waiting.count > depth else { return nil }
    return waiting.min { $0.value.place($0.key) < $1.value.place($1.key) }?.key
  }

  /// The picture of `index` can not be shown.
  mutating func giveUp(_ index: Index) {
    entries[index]?.error = .notShown
    if entries[index]?.live ?? 1 <= 0 { released.append(index) }
  }

  func isWaiting(_ index: Index) -> Bool { entries[index]?.isWaiting == true }

  /// Whether of the pictures that have not come out all are intact.
  var areWaitingIntact: Bool {
    entries.values.allSatisfy { !$0.isWaiting || $0.units.first?.condition == .intact }
  }

  /// The picture of `index` is shown without the decoder.
  mutating func take(_ index: Index) -> UnitRecord? {
    let unit = frameOut(index)
    entries[index]?.isTaken = true
    if entries[index]?.live ?? 1 <= 0 { released.append(index) }
    return unit
  }

  /// The decoder has let go of a picture, shown or not.
  mutating func pictureReleased(_ index: Index) {
    entries[index]?.live -= 1
    if entries[index]?.live == 0 { released.append(index) }
  }

  /// A frame has come out; the answer is the unit it belongs to.
  mutating func frameOut(_ index: Index) -> UnitRecord? {
    guard let entry = entries[index], !entry.isTaken, var unit = entry.units.first else {
      return nil
    }
    entries[index]?.frames += 1
    for second in entry.units.dropFirst() { unit.complete(with: second) }
    if canCompleteFrame, index == previous, let current, let second = entries[current],
      second.started == 0, let last = second.units.last
    {
      previousCameOut = true
      unit.complete(with: last)
    }
    return unit
  }

  /// Bits of the frame that just came out were wrong: what was decoded behind it, and waits for its turn,
  /// refers to it.
  ///
  /// - Returns: whether what comes may refer to it too.
  mutating func spreadError(from index: Index, in dependency: PictureDependency) -> Bool {
    guard dependency.isReference else { return false }
    for later in entries.keys.sorted() where later > index {
      if entries[later]?.units.first?.dependency.references == PictureDependency.References.none {
        return false
      }
      entries[later]?.note(.damaged)
    }
    return true
  }

  /// The frame that just came out cannot be shown after all.
  mutating func frameRefused(_ index: Index, _ reason: DecodeFailure.Reason) {
    entries[index]?.frames -= 1
    entries[index]?.error = reason
  }

  /// The current unit has been decoded, with `error` if there was one.
  ///
  /// - Returns: the units that can no longer give a frame.
  mutating func end(error: DecodeFailure.Reason?) -> [DecodeFailure] {
    if let current {
      if let error {
        entries[current]?.error = error
        // The decoder could not make use of all of it, although all of it came.
        entries[current]?.note(.concealed)
      }
      settleUnitWithoutPicture(current)
      released.append(current)
    }
    return settle()
  }

  /// The decoder has been emptied; whatever has not come out never will.
  mutating func endAll(reason: DecodeFailure.Reason) -> [DecodeFailure] {
    let rest = entries.sorted { $0.key < $1.key }
    entries = [:]
    released = []
    current = nil
    previous = nil
    return rest.flatMap { _, entry in
      entry.frames > 0 ? [] : entry.units.map { $0.failure(entry.error ?? reason) }
    }
  }

  /// A unit that was decoded without error and without starting a picture is a second field, or it
  /// holds nothing to show.
  private mutating func settleUnitWithoutPicture(_ index: Index) {
    guard let entry = entries[index], entry.started == 0, entry.error == nil else { return }
    if previousCameOut {
      entries[index] = nil
    } else if canCompleteFrame, let previous, entries[previous]?.live ?? 0 > 0,
      entries[previous]?.frames == 0
    {
      entries[previous]?.units += entry.units
      entries[index] = nil
    } else {
      entries[index]?.error = .noPicture
    }
  }

  private mutating func settle() -> [DecodeFailure] {
    guard !released.isEmpty else { return [] }
    var failures: [DecodeFailure] = []
    for index in released {
      guard let entry = entries[index], entry.live <= 0 else { continue }
      if holdsPictures, entry.isWaiting { continue }
      entries[index] = nil
      guard entry.frames <= 0 else { continue }
      failures += entry.units.map { $0.failure(entry.error ?? .notShown) }
    }
    released.removeAll(keepingCapacity: true)
    return failures
  }
}

extension UnitRecord {
  /// Takes over from the second field what the frame of both has to say.
  fileprivate mutating func complete(with second: UnitRecord) {
    lastArrival = max(lastArrival, second.lastArrival)
    if second.condition == .concealed || condition == .intact { condition = second.condition }
    isGood = isGood && second.isGood
    byteCount += second.byteCount
  }
}
