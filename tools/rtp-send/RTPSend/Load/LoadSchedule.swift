import RTPWire

/// Which of many streams sends which picture when, on a virtual clock.
///
/// All send the packets of one ``PacketLoop``, each under numbers of its own. They begin one after
/// the other while the first one sends its loop, so that their key pictures do not coincide.
struct LoadSchedule {
  /// What is sent now: a picture, or a report.
  enum Item: Equatable {
    /// A picture of the loop, the number of its first packet, and the RTP timestamp of the start of
    /// the loop.
    case picture(Int, sequence: UInt16, timestamp: UInt32)
    case report(timestamp: UInt32)
    case goodbye(timestamp: UInt32)
  }

  /// One stream's numbers.
  struct Stream {
    let ssrc: UInt32
    fileprivate var packetCount: UInt32 = 0
    fileprivate var octetCount: UInt32 = 0
    fileprivate var sequence: UInt16
    fileprivate let timestamp: UInt32
    /// Nanoseconds after the start of all.
    fileprivate let begin: Int64
    /// Pictures sent.
    fileprivate var pictures = 0
    /// When the next one is due, in nanoseconds after the start of all.
    fileprivate var due: Int64
    fileprivate var nextReport: Int64
    fileprivate var isFinished = false

    var account: SenderAccount {
      SenderAccount(ssrc: ssrc, packetCount: packetCount, octetCount: octetCount)
    }
  }

  /// A schedule that is later than this starts over instead of catching up in a flood.
  private static let longestDebt: Int64 = 1_000_000_000

  private let loop: PacketLoop
  private(set) var streams: [Stream] = []
  private let limit: Int?
  private let sendsReports: Bool
  private var start: Instant
  /// The greatest time by which a picture was late.
  private(set) var lateness: Int64 = 0
  /// Packets given out.
  private(set) var packetCount = 0
  private(set) var pictureCount = 0

  /// Makes the schedule of streams that begin one after the other.
  ///
  /// - Parameters:
  ///   - loop: what is sent.
  ///   - count: how many streams there are.
  ///   - limit: the pictures of each stream; `nil` means no end.
  ///   - first: the numbers of the first stream.
  ///   - seed: from which the numbers of the others are drawn.
  ///   - sendsReports: whether sender reports and goodbyes are sent.
  ///   - start: when the first stream begins.
  init(
    _ loop: PacketLoop, count: Int, limit: Int?, first: RTPStream.Configuration, seed: UInt64,
    sendsReports: Bool, at start: Instant
  ) {
    self.loop = loop
    self.limit = limit
    self.start = start
    self.sendsReports = sendsReports
    var dice = SplitMix64(seed: seed)
    let period = loop.clock.nanoseconds(of: loop.ticks)
    for index in 0..<count {
      let begin = Int64(Double(period) * Double(index) / Double(count))
      let numbers = dice.next()
      streams.append(
        Stream(
          ssrc: index == 0 ? first.ssrc : UInt32(truncatingIfNeeded: dice.next()),
          sequence: index == 0 ? first.initialSequence : UInt16(truncatingIfNeeded: numbers),
          timestamp: index == 0
            ? first.initialTimestamp : UInt32(truncatingIfNeeded: numbers >> 32),
          begin: begin, due: begin, nextReport: begin))
    }
  }

  /// Whether every stream has sent all.
  var isFinished: Bool { streams.allSatisfy(\.isFinished) }

  /// Gives everything that is due by `now`, stream by stream, and returns when more is due.
  mutating func take(by now: Instant, _ give: (_ stream: Int, Item) -> Void) -> Instant? {
    forgiveDebt(at: now)
    let time = start.nanoseconds(to: now)
    var next: Int64?
    for index in streams.indices where !streams[index].isFinished {
      while streams[index].due <= time, !streams[index].isFinished {
        lateness = max(lateness, time - streams[index].due)
        give(index, takePicture(of: index))
        if limit.map({ streams[index].pictures >= $0 }) ?? false { finish(index, at: time, give) }
      }
      if streams[index].isFinished { continue }
      if sendsReports, streams[index].nextReport <= time {
        streams[index].nextReport = time + SenderReports.intervalNanoseconds
        give(index, .report(timestamp: timestamp(of: index, at: time)))
      }
      next = min(next ?? .max, streams[index].due)
    }
    return next.map { start.advanced(byNanoseconds: $0) }
  }

  /// Says goodbye for all streams that are still sending.
  mutating func end(at now: Instant, _ give: (_ stream: Int, Item) -> Void) {
    let time = start.nanoseconds(to: now)
    for index in streams.indices where !streams[index].isFinished { finish(index, at: time, give) }
  }

  private mutating func finish(_ index: Int, at time: Int64, _ give: (Int, Item) -> Void) {
    streams[index].isFinished = true
    guard sendsReports, streams[index].packetCount > 0 else { return }
    give(index, .goodbye(timestamp: timestamp(of: index, at: time)))
  }

  private mutating func takePicture(of index: Int) -> Item {
    let (round, place) = streams[index].pictures.quotientAndRemainder(
      dividingBy: loop.pictures.count)
    let packets = loop.pictures[place].packets
    let sequence = streams[index].sequence
    let offset = UInt32(truncatingIfNeeded: Int64(round).multipliedSaturating(by: loop.ticks))
    let bytes = loop.packets[packets].reduce(0) { $0 + $1.payload.count }
    streams[index].sequence &+= UInt16(truncatingIfNeeded: packets.count)
    streams[index].packetCount &+= UInt32(truncatingIfNeeded: packets.count)
    streams[index].octetCount &+= UInt32(truncatingIfNeeded: bytes)
    streams[index].pictures += 1
    streams[index].due = due(index)
    packetCount += packets.count
    pictureCount += 1
    return .picture(
      place, sequence: sequence, timestamp: streams[index].timestamp &+ offset)
  }

  /// When the next picture of a stream is due, in nanoseconds after the start.
  private func due(_ index: Int) -> Int64 {
    let (round, place) = streams[index].pictures.quotientAndRemainder(
      dividingBy: loop.pictures.count)
    let ticks = Int64(round).multipliedSaturating(by: loop.ticks) + loop.pictures[place].ticks
    return streams[index].begin + loop.clock.nanoseconds(of: ticks)
  }

  private func timestamp(of index: Int, at time: Int64) -> UInt32 {
    let ticks = loop.clock.ticks(of: time - streams[index].begin)
    return streams[index].timestamp &+ UInt32(truncatingIfNeeded: ticks)
  }

  /// Moves the schedule when the next picture is so late that catching up would be a flood.
  private mutating func forgiveDebt(at now: Instant) {
    let time = start.nanoseconds(to: now)
    let oldest = streams.lazy.filter { !$0.isFinished }.map(\.due).min() ?? time
    if time - oldest > Self.longestDebt {
      lateness = max(lateness, time - oldest)
      start = start.advanced(byNanoseconds: time - oldest)
    }
  }
}
