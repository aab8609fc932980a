internal import NIOCore
internal import Synchronization
internal import Transports

/// Scenes about delivery.
extension Scene {
  static func delivery(seed: UInt64) -> [Scene] {
    [
      Scene(clause: .payload, perform: everySize),
      Scene(clause: .tracks, perform: everyTrack),
      Scene(clause: .heldBytes) { try await someAreHeld($0, seed: seed) },
      Scene(clause: .backPressure, needs: [.backPressure], perform: held),
      Scene(clause: .feedback, needs: [.feedback], perform: feedback),
      Scene(clause: .opensOnce, perform: openedTwice),
    ]
  }

  private static func everySize(_ house: Stage.House) async throws {
    let limits = house.carrier.packetSizes
    // The smallest size twice, because some transports accept a source only at its second packet.
    var sizes = ([limits.lowerBound] + Array(limits))[...]
    while !sizes.isEmpty {
      // Prepared packets are on a disk or in memory.
      var weight = 0
      let portion =
        house.carrier.isPrepared
        ? sizes.prefix { size in
          weight += size
          return weight <= preparedLength
        } : sizes
      sizes = sizes.dropFirst(portion.count)
      try await everySize(Array(portion), house)
    }
    house.journal.examined(
      .payload, .boundaries, .completeness, .order, .arrivalTimes, .description)
  }

  private static func everySize(_ sizes: [Int], _ house: Stage.House) async throws {
    let stage = try await Stage(house, sizes: sizes)
    stage.checkCounters(await stage.counters())
    try await stage.openForSure()
    let reading = Task { await readCounters(of: stage) }
    let sending = await Result { try await stage.send(sizes) }
    if case .success = sending { await stage.awaitAll() }
    reading.cancel()
    await reading.value
    stage.checkCounters(await stage.counters())
    if house.carrier.lacks[.description] == nil, stage.observer.sight.descriptions == 0 {
      house.journal.violated(.description, "the media was never described")
    }
    await stage.dismantle()
    try sending.get()
  }

  /// Packets on each track in turn; each is awaited, because tracks may overtake each other.
  private static func everyTrack(_ house: Stage.House) async throws {
    let sizes = [Int](repeating: max(100, house.carrier.packetSizes.lowerBound), count: 20)
    let stage = try await Stage(house, sizes: sizes)
    try await stage.openForSure()
    for track in 0..<house.carrier.tracks {
      try await stage.send(sizes, onTrack: track)
      await stage.awaitAll()
    }
    house.journal.examined(.tracks)
    await stage.dismantle()
  }

  /// Reads the counters repeatedly while packets come.
  private static func readCounters(of stage: Stage) async {
    var last: UInt64 = 0
    while !Task.isCancelled {
      let before = UInt64(stage.observer.sight.delivered)
      guard let counters = await stage.counters() else { return }
      let after = UInt64(stage.observer.sight.delivered)
      // A datagram may be counted just before or just after it is delivered.
      if counters.delivered + 1 < before || counters.delivered > after + 1 {
        stage.journal.violated(
          .counters, "delivered was \(counters.delivered) between \(before) and \(after)")
      }
      if counters.delivered < last {
        stage.journal.violated(.counters, "delivered went back from \(last)")
      }
      last = counters.delivered
      try? await Task.sleep(for: .milliseconds(3))
    }
  }

  private static func someAreHeld(_ house: Stage.House, seed: UInt64) async throws {
    var random = SplitMix(seed: seed)
    let limits = house.carrier.packetSizes
    let largest = min(limits.upperBound, 1400)
    let sizes = (0..<2000).map { _ in Int.random(in: limits.lowerBound...largest, using: &random) }
    let stage = try await Stage(house, sizes: sizes, holding: 64)
    try await stage.openForSure()
    var rest = sizes[...]
    while !rest.isEmpty {
      let portion = rest.prefix(Int.random(in: 1...200, using: &random))
      rest = rest.dropFirst(portion.count)
      try await stage.send(Array(portion))
    }
    await stage.awaitAll()
    stage.observer.checkHeld()
    await stage.dismantle()
    stage.observer.checkHeld()
    house.journal.examined(.heldBytes)
  }

  /// Bytes prepared at once.
  private static let preparedLength = 64 << 20

  // MARK: - Back-pressure

  private static func held(_ house: Stage.House) async throws {
    let size = min(house.carrier.packetSizes.upperBound, 32_768)
    let portion = [Int](repeating: size, count: max(1, portionLength / size))
    let stage = try await Stage(house, sizes: portion, lossBreaks: .backPressure) {
      call, sight, transport in
      if call == .received, sight.delivered == 1 { transport.holdReading(true) }
    }
    try await stage.openForSure()
    let isReleased = Flag()
    let sending = Task {
      guard !house.carrier.isPrepared else { return }
      // Two at first, because some transports accept a source only at its second packet.
      try await stage.send([size, size])
      for _ in 0..<maximumPortions where !isReleased.isSet { try await stage.send(portion) }
    }
    guard await stage.observer.wait(within: house.carrier.deadline, until: { $0.delivered > 0 })
    else { throw StageError(description: "nothing came") }
    let (delivered, hasStopped) = await untilNothingComes(on: stage, size)
    let bytes = delivered * size
    if !hasStopped || bytes > heldLimit {
      house.journal.violated(
        .backPressure,
        "while it was held it delivered \(bytes) bytes, and "
          + (hasStopped ? "then stopped" : "did not stop"))
    }
    await untilFarEndWaits(stage)
    if stage.sent >= maximumPortions * portion.count {
      house.journal.violated(
        .backPressure,
        "the far end was not held, and sent \(stage.sent * size) bytes that were not taken")
    }
    isReleased.set()
    try? await stage.eventLoop.submit { [transport = stage.transport] in
      transport.holdReading(false)
    }.get()
    try await sending.value
    await stage.awaitAll()
    house.journal.examined(.backPressure)
    await stage.dismantle()
  }

  /// Waits until the far end can send nothing more: it is held, or has sent everything.
  private static func untilFarEndWaits(_ stage: Stage) async {
    var last = -1
    while stage.sent > last {
      last = stage.sent
      try? await Task.sleep(for: waitingTime * 2)
    }
  }

  /// Waits for a pause in delivery, for a limited time; returns how many packets came, and whether
  /// they stopped.
  private static func untilNothingComes(
    on stage: Stage, _ size: Int
  ) async -> (Int, Bool) {
    var last = stage.observer.sight.delivered
    for _ in 0..<20 {
      let count = last
      guard await stage.observer.wait(within: waitingTime * 2, until: { $0.delivered > count })
      else { return (last, true) }
      last = stage.observer.sight.delivered
      if last * size > heldLimit * 4 { return (last, false) }
    }
    return (last, false)
  }

  /// A pause in sending of this length means that the far end is held.
  private static let waitingTime = Duration.milliseconds(200)
  /// How many bytes may still be delivered once a transport is held: some reads.
  private static let heldLimit = 1 << 20
  private static let portionLength = 4 << 20
  /// Portions that exceed any carrier's buffers: 128 MiB in all.
  private static let maximumPortions = 32

  // MARK: - Feedback

  private static func feedback(_ house: Stage.House) async throws {
    let sizes = [Int](repeating: max(100, house.carrier.packetSizes.lowerBound), count: 8)
    let stage = try await Stage(house, sizes: sizes)
    // There is no far end yet to receive it.
    stage.transport.sendFeedback(receiverReport(words: 1), track: 0)
    try await stage.openForSure()
    try await stage.send(sizes)
    await stage.awaitAll()
    let compounds = [1, 7, 60, 250].map { receiverReport(words: $0) }
    for compound in compounds { stage.transport.sendFeedback(compound, track: 0) }
    let deadline = ContinuousClock.now + house.carrier.deadline
    while ContinuousClock.now < deadline,
      !compounds.allSatisfy(stage.farEnd.feedback.contains)
    {
      try await Task.sleep(for: .milliseconds(5))
    }
    for compound in compounds where !stage.farEnd.feedback.contains(compound) {
      house.journal.violated(
        .feedback, "a compound of \(compound.readableBytes) bytes did not arrive")
    }
    await stage.dismantle()
    stage.transport.sendFeedback(receiverReport(words: 1), track: 0)
    await stage.settle()
    house.journal.examined(.feedback)
  }

  /// A receiver report with a profile-specific extension of `words` words (RFC 3550 §6.4.2).
  private static func receiverReport(words: Int) -> ByteBuffer {
    var bytes = ByteBuffer(bytes: [0x80, 201])
    bytes.writeMultipleIntegers(UInt16(clamping: 1 + words), UInt32(0x1234_5678))
    for word in 0..<words { bytes.writeInteger(UInt32(clamping: word)) }
    return bytes
  }

  // MARK: - Opening twice

  private static func openedTwice(_ house: Stage.House) async throws {
    let sizes = [Int](repeating: max(200, house.carrier.packetSizes.lowerBound), count: 20)
    let stage = try await Stage(house, sizes: sizes)
    try await stage.openForSure()
    try await expectRefusal(of: stage, "a second open")
    try await stage.send(sizes)
    // The second one must not have disturbed the first.
    await stage.awaitAll()
    await stage.dismantle()
    try await expectRefusal(of: stage, "an open after close")
    house.journal.examined(.opensOnce)
  }

  private static func expectRefusal(of stage: Stage, _ what: String) async throws {
    let stranger = Observer(
      stage.house.packets, on: stage.eventLoop, stage.journal)
    let result = await outcome(within: stage.carrier.deadline) { [transport = stage.transport] in
      stranger.note(.opened)
      let result = await Result<Void, any Error> {
        try await transport.open(delivering: stranger)
      }
      if case .failure = result { stranger.note(.refused) }
      return result
    }
    switch result {
    case .failure: stage.journal.examined(.refusedOpening)
    case .success: stage.journal.violated(.opensOnce, "\(what) did not throw")
    case nil: stage.journal.violated(.opensOnce, "\(what) did not return")
    }
    await stage.settle()
  }
}
