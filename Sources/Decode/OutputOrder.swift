import Bitstream

/// Puts decoded pictures into output order, and releases each as soon as no earlier one can still
/// come.
///
/// The order is that of the picture order counts (H.264 §8.2.1, H.265 §8.3.1). Nothing comes before
/// a picture when its count directly follows the previous one, when more pictures wait than the
/// stream reorders (as declared or observed), or when the stream does not reorder. Where
/// declarations and pictures disagree, the pictures count.
struct OutputOrder<Picture> {
  /// A picture's position.
  struct Place {
    var order: PictureOrder
    /// The sender's presentation time, in any unit.
    var time: Int64
    /// Packets are missing in the picture or directly before it.
    var isBehindLoss = false
  }

  private struct Entry {
    let picture: Picture
    let count: Int
    let time: Int64
    let number: Int
  }

  /// The most pictures a decoder holds of any stream (H.264 §A.3.1, H.265 §A.4.2).
  private static var most: Int { 16 }
  /// How many may wait if a stream without B pictures declares nothing: some encoders send two
  /// pictures ahead.
  private static var usual: Int { 2 }

  /// The pictures of the current sequence, in output order.
  private var waiting: [Entry] = []
  private var ready: [Picture] = []
  /// The last one released in this sequence.
  private var last: (count: Int, time: Int64)?
  /// How many pictures were decoded, and the count of the last one.
  private var number = 0
  private var newest = 0
  /// The number of the picture that began the sequence, until it is released; `nil` if its
  /// beginning was lost.
  private var leader: Int?
  private var mayBeLed = true
  /// Something was lost since the sequence began.
  private var isBehindLoss = false

  // MARK: - What the stream has shown of itself

  /// The declared reorder depth; `nil` if nothing is declared.
  private var saidDepth: Int??
  /// The reorder depth, raised where the declaration was wrong.
  private var depth: Int?
  /// The most pictures that one was observed to overtake in output order.
  private var seenDepth = 0
  /// How many pictures a decoder may have to hold.
  private var capacity = most
  private var hasBPictures = false
  /// The difference between the counts of consecutive pictures.
  private var step = 1
  private var isStepKnown = false
  /// The same between consecutive frames of any stream of this codec.
  private var usualStep = 1
  /// Whether pictures were decoded out of output order.
  private var reorders = false
  /// Whether counts are skipped for good, and not for pictures that come later.
  private var skipsCounts = false
  /// Whether other pictures precede one that begins a sequence; `nil` until the first one shows it.
  private var leads: Bool?
  /// Whether the sender's times rise as the counts do.
  private var timesFollowCounts = true
  /// Whether that was observed where pictures are reordered: some senders give pictures their
  /// decoding times (`ffmpeg -c copy` from a file without times).
  private var timesAreProven = false

  /// Adds a decoded picture; call ``next()`` until `nil` afterwards.
  ///
  /// A picture without a known place follows all that were decoded before it.
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

  /// The next picture whose turn has certainly come.
  mutating func next() -> Picture? { ready.isEmpty ? nil : ready.removeFirst() }

  /// Releases all waiting pictures in order: no later one precedes them.
  mutating func close() {
    ready += waiting.map(\.picture)
    waiting = []
    (last, leader) = (nil, nil)
  }

  /// Forgets what the stream has shown of itself, because another one begins.
  private mutating func expect(_ order: PictureOrder) {
    (saidDepth, depth, usualStep) = (order.reorderDepth, order.reorderDepth, order.usualStep)
    (step, isStepKnown) = depth == 0 ? (usualStep, true) : (1, false)
    (seenDepth, hasBPictures) = (0, false)
    (reorders, skipsCounts, leads) = (false, false, nil)
    (timesFollowCounts, timesAreProven) = (true, false)
  }

  private mutating func show(_ entry: Entry) {
    waiting.removeFirst()
    ready.append(entry.picture)
    if let last, !isStepKnown || entry.count - last.count < step {
      // Nothing came between the two, although it was waited for.
      (step, isStepKnown) = (max(entry.count - last.count, 1), true)
    } else if let last, entry.count - last.count > step, !reorders {
      skipsCounts = true
    }
    if entry.number == leader {
      // The first picture of all, and one of a type that nothing precedes, say nothing about later
      // ones (RADL pictures, H.265 §7.4.2.2).
      if leads == nil, depth ?? 0 == 0 || mayBeLed && entry.number > 1 { leads = false }
      leader = nil
    }
    last = (entry.count, entry.time)
  }

  /// Whether no picture can still come before `first`, the first waiting one.
  private func isCertain(_ first: Entry) -> Bool {
    if waiting.count > Self.most { return true }
    let isNewest = first.number == number
    if let last {
      if first.count - last.count <= certainStep { return true }
      if depth ?? 0 == 0, !reorders, skipsCounts { return true }
    } else if first.number == leader {
      // Either it leads, or none of the pictures that might precede it overtook it.
      if !isNewest || !mayBeLed || depth == 0 && !reorders { return true }
      return leads == false
    } else if depth ?? 0 == 0, !reorders, leads == false {
      return true
    }
    // The next decoded picture may still precede the last decoded one and those after it, whatever
    // the stream declares.
    guard newest > first.count else { return false }
    return waiting.count > bound
  }

  /// How far the count of the next picture in output order may be from the last one's, so that none
  /// comes between them.
  ///
  /// A declared depth lets larger steps become smaller at any picture, so only the codec's usual
  /// one is certain: the counts of H.264 are those of fields (§8.2.1), and two frames in a row
  /// differ by two, or by one where the encoder counts frames.
  private var certainStep: Int { depth ?? 0 > 0 ? min(step, usualStep) : step }

  /// How many pictures may wait although everything before them has come.
  private var bound: Int {
    if let depth, depth > 0 || !reorders { return depth }
    if isStepKnown { return max(seenDepth, 1) }
    return hasBPictures ? capacity : Self.usual
  }

  /// Whether the counts restarted at a picture that never came.
  private func isRestart(_ entry: Entry) -> Bool {
    if let last, entry.count <= last.count {
      if last.count - entry.count > 4 * Self.most * step { return true }
      return isBehindLoss && (!timesFollowCounts || entry.time > last.time)
    }
    return isBehindLoss && timesFollowCounts && timesAreProven
      && waiting.contains { $0.count > entry.count && $0.time < entry.time }
  }

  /// Learns from `entry`, which should have been released earlier: an assumption about the stream
  /// was wrong.
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
