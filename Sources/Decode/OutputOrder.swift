import Bitstream

/// Puts decoded pictures into the order in which they are shown, and tells when the next one's turn
/// is certain: when no picture can come that is to be shown before it.
///
/// The order is that of the picture order counts (H.264 §8.2.1, H.265 §8.3.1). Three things tell
/// that nothing comes before a picture: its count follows that of the one before; more pictures
/// wait than the stream reorders, by its own words or by what was seen; or the stream does not
/// reorder at all. Where the words and the pictures differ, the pictures are believed.
struct OutputOrder<Picture> {
  /// A picture's place.
  struct Place {
    var order: PictureOrder
    /// When it is shown by its sender, in any unit.
    var time: Int64
    /// Packets are missing in it or directly before it.
    var isBehindLoss = false
  }

  private struct Entry {
    let picture: Picture
    let count: Int
    let time: Int64
    let number: Int
  }

  /// More than a decoder holds of any stream (H.264 §A.3.1, H.265 §A.4.2).
  private static var most: Int { 16 }
  /// How many may wait of a stream without B pictures that says nothing: some encoders send two
  /// pictures ahead.
  private static var usual: Int { 2 }

  /// Those of the current sequence, the first to be shown first.
  private var waiting: [Entry] = []
  private var ready: [Picture] = []
  /// The one shown last in this sequence.
  private var last: (count: Int, time: Int64)?
  /// Pictures decoded so far, and the count of the last of them.
  private var number = 0
  private var newest = 0
  /// The number of the picture that began the sequence, until it is shown; `nil` where a loss has
  /// cut the sequence's beginning off.
  private var leader: Int?
  private var mayBeLed = true
  /// Something was lost since the sequence began.
  private var isBehindLoss = false

  // MARK: What the stream has shown of itself

  /// How many pictures it says that it reorders; `nil` where it says nothing.
  private var saidDepth: Int??
  /// The same, or more where that was not true.
  private var depth: Int?
  /// How many pictures one has been decoded behind and is shown before, at most.
  private var seenDepth = 0
  /// What a decoder may have to hold of it.
  private var capacity = most
  private var hasBPictures = false
  /// The difference of the counts of two pictures that follow one another.
  private var step = 1
  private var isStepKnown = false
  /// Pictures were decoded out of the order in which they are shown.
  private var reorders = false
  /// Counts are left out for good, not for pictures that come later.
  private var skipsCounts = false
  /// Whether others come before a picture that begins a sequence; `nil` before the first has shown
  /// it.
  private var leads: Bool?
  /// Whether the sender's times rise as the counts do.
  private var timesFollowCounts = true
  /// They were seen to do so where pictures are decoded out of order: some senders give pictures
  /// the times in which they are decoded (`ffmpeg -c copy` from a file without times).
  private var timesAreProven = false

  /// Takes in a picture that has been decoded; pull ``next()`` until `nil` afterwards.
  ///
  /// One whose place nobody knows is shown behind all that were decoded before it.
  mutating func insert(_ picture: Picture, at place: Place?) {
    number += 1
    guard let place, !place.order.isDecodingOrder else {
      close()
      return ready.append(picture)
    }
    let entry = Entry(picture: picture, count: place.order.count, time: place.time, number: number)
    isBehindLoss = isBehindLoss || place.isBehindLoss
    if saidDepth != .some(place.order.reorderDepth) { expect(place.order) }
    capacity = min(place.order.capacity ?? Self.most, Self.most)
    hasBPictures = hasBPictures || place.order.isBidirectional
    if place.order.beginsSequence {
      close()
      (leader, mayBeLed, isBehindLoss) = (number, place.order.mayBeLed, false)
    } else if isRestart(entry) {
      close()
      isBehindLoss = false
    } else if let last, entry.count <= last.count {
      noteLate(entry)
      return ready.append(picture)
    }
    noteOrder(of: entry)
    newest = entry.count
    let index = waiting.firstIndex { $0.count > entry.count } ?? waiting.endIndex
    waiting.insert(entry, at: index)
    while let first = waiting.first, isCertain(first) { show(first) }
  }

  /// The next picture whose turn is certain.
  mutating func next() -> Picture? { ready.isEmpty ? nil : ready.removeFirst() }

  /// Lets all go that wait, in their order: nothing that comes is shown before them.
  mutating func close() {
    ready += waiting.map(\.picture)
    waiting = []
    (last, leader) = (nil, nil)
  }

  /// Forgets what the stream has shown of itself, since another one begins.
  private mutating func expect(_ order: PictureOrder) {
    (saidDepth, depth) = (order.reorderDepth, order.reorderDepth)
    (step, isStepKnown) = depth == 0 ? (order.usualStep, true) : (1, false)
    (seenDepth, hasBPictures) = (0, false)
    (reorders, skipsCounts, leads) = (false, false, nil)
    (timesFollowCounts, timesAreProven) = (true, false)
  }

  private mutating func show(_ entry: Entry) {
    waiting.removeFirst()
    ready.append(entry.picture)
    if let last, !isStepKnown || entry.count - last.count < step {
      // Nothing was between the two, although it was waited for.
      (step, isStepKnown) = (max(entry.count - last.count, 1), true)
    } else if let last, entry.count - last.count > step, !reorders {
      skipsCounts = true
    }
    if entry.number == leader {
      if leads == nil { leads = false }
      leader = nil
    }
    last = (entry.count, entry.time)
  }

  /// Whether nothing can come that is shown before `first`, the first of those that wait.
  private func isCertain(_ first: Entry) -> Bool {
    if waiting.count > Self.most { return true }
    let isNewest = first.number == number
    if let last {
      if first.count - last.count <= step { return true }
      if depth ?? 0 == 0, !reorders, skipsCounts { return true }
    } else if first.number == leader {
      // Either it leads, or it has been overtaken by none of those that might come before it.
      if !isNewest || !mayBeLed || depth == 0 && !reorders { return true }
      return leads == false
    } else if depth ?? 0 == 0, !reorders, leads == false {
      return true
    }
    // What is decoded next may still be shown before the one that was decoded last and those behind
    // it, whatever the stream says.
    guard newest > first.count else { return false }
    return waiting.count > bound
  }

  /// How many pictures may wait although they have all come that are shown before them.
  private var bound: Int {
    if let depth, depth > 0 || !reorders { return depth }
    if isStepKnown { return max(seenDepth, 1) }
    return hasBPictures ? capacity : Self.usual
  }

  /// Whether the counts have begun anew although the picture that did so never came.
  private func isRestart(_ entry: Entry) -> Bool {
    if let last, entry.count <= last.count {
      if last.count - entry.count > 4 * Self.most * step { return true }
      return isBehindLoss && (!timesFollowCounts || entry.time > last.time)
    }
    return isBehindLoss && timesFollowCounts && timesAreProven
      && waiting.contains { $0.count > entry.count && $0.time < entry.time }
  }

  /// `entry` was to be shown before one that has been shown: the stream is not what was thought of
  /// it.
  private mutating func noteLate(_ entry: Entry) {
    (reorders, skipsCounts, leads) = (true, false, true)
    (step, isStepKnown) = (1, true)
    seenDepth = min(max(seenDepth + 1, Self.usual), Self.most)
    depth = depth.map { max($0, seenDepth) }
  }

  private mutating func noteOrder(of entry: Entry) {
    for other in waiting where other.count > entry.count {
      if other.number == leader { leads = true } else { reorders = true }
    }
    guard !isBehindLoss else { return }
    seenDepth = max(seenDepth, waiting.count { $0.count > entry.count })
    let isBefore = waiting.last { $0.count < entry.count }.map { $0.time >= entry.time } ?? false
    let isBehind = waiting.first { $0.count > entry.count }.map { $0.time <= entry.time } ?? false
    if isBefore || isBehind || last.map({ $0.time >= entry.time }) ?? false {
      timesFollowCounts = false
    } else if waiting.contains(where: { $0.count > entry.count }) {
      timesAreProven = true
    }
  }
}
