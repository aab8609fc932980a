internal import NIOCore
internal import RTPWire
internal import Synchronization
internal import Transports

/// Cases about delivery.
extension ConformanceCase {
  static func delivery(seed: UInt64) -> [ConformanceCase] {
    [
      ConformanceCase(clause: .payload, body: everySize),
      ConformanceCase(clause: .tracks, body: everyTrack),
      ConformanceCase(clause: .completeness, body: gathered),
      ConformanceCase(clause: .heldBytes) { try await someAreHeld($0, seed: seed) },
      ConformanceCase(clause: .backPressure, needs: [.backPressure], body: held),
      ConformanceCase(clause: .feedback, needs: [.feedback], body: feedback),
      ConformanceCase(clause: .opensOnce, body: openedTwice),
    ]
  }

  private static func everySize(_ context: CheckContext) async throws {
    // The smallest size twice, because some transports accept a source only at its second packet.
    var sizes = ([context.carrier.packetSizes.lowerBound] + context.carrier.sizesSent)[...]
    while !sizes.isEmpty {
      // Prepared packets are on a disk or in memory.
      var weight = 0
      let portion =
        context.carrier.isPrepared
        ? sizes.prefix { size in
          weight += size
          return weight <= preparedLength
        } : sizes
      sizes = sizes.dropFirst(portion.count)
      try await everySize(Array(portion), context)
    }
    context.results.examined(
      .payload, .boundaries, .completeness, .order, .arrivalTimes, .description)
  }

  private static func everySize(_ sizes: [Int], _ context: CheckContext) async throws {
    let fixture = try await Fixture(context, sizes: sizes)
    fixture.checkCounters(await fixture.counters())
    try await fixture.openForSure()
    let reading = Task { await readCounters(of: fixture) }
    let sending = await Result { try await fixture.send(sizes) }
    if case .success = sending { await fixture.awaitAll() }
    reading.cancel()
    await reading.value
    fixture.checkCounters(await fixture.counters())
    if context.carrier.lacks[.description] == nil, fixture.collector.collected.descriptions == 0 {
      context.results.violated(.description, "the media was never described")
    }
    await fixture.tearDown()
    try sending.get()
  }

  /// Bursts, while what comes may gather: nothing is lost, and nothing comes out of order.
  private static func gathered(_ context: CheckContext) async throws {
    let size = max(100, context.carrier.packetSizes.lowerBound)
    let sizes = [Int](repeating: size, count: 400)
    let fixture = try await Fixture(context, sizes: sizes) { call, collected, transport in
      if call == .received, collected.delivered == 1 { transport.gather(for: gatheringTime) }
    }
    try await fixture.openForSure()
    for start in stride(from: 0, to: sizes.count, by: 40) {
      try await fixture.send(Array(sizes[start..<start + 40]))
    }
    await fixture.awaitAll()
    context.results.examined(.completeness, .order, .arrivalTimes)
    await fixture.tearDown()
  }

  private static let gatheringTime = Duration.milliseconds(100)

  /// Packets on each track in turn; each is awaited, because tracks may overtake each other.
  private static func everyTrack(_ context: CheckContext) async throws {
    let sizes = [Int](repeating: max(100, context.carrier.packetSizes.lowerBound), count: 20)
    let fixture = try await Fixture(context, sizes: sizes)
    try await fixture.openForSure()
    for track in 0..<context.carrier.tracks {
      try await fixture.send(sizes, onTrack: track)
      await fixture.awaitAll()
    }
    context.results.examined(.tracks)
    await fixture.tearDown()
  }

  /// Reads the counters repeatedly while packets come.
  private static func readCounters(of fixture: Fixture) async {
    var last: UInt64 = 0
    while !Task.isCancelled {
      let before = UInt64(fixture.collector.collected.delivered)
      guard let counters = await fixture.counters() else { return }
      let after = UInt64(fixture.collector.collected.delivered)
      // A datagram may be counted just before or just after it is delivered.
      if counters.delivered + 1 < before || counters.delivered > after + 1 {
        fixture.results.violated(
          .counters, "delivered was \(counters.delivered) between \(before) and \(after)")
      }
      if counters.delivered < last {
        fixture.results.violated(.counters, "delivered went back from \(last)")
      }
      last = counters.delivered
      try? await Task.sleep(for: .milliseconds(3))
    }
  }

  private static func someAreHeld(_ context: CheckContext, seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let limits = context.carrier.packetSizes
    let largest = min(limits.upperBound, 1400)
    let sizes = (0..<2000).map { _ in Int.random(in: limits.lowerBound...largest, using: &random) }
    let fixture = try await Fixture(context, sizes: sizes, holding: 64)
    try await fixture.openForSure()
    var rest = sizes[...]
    while !rest.isEmpty {
      let portion = rest.prefix(Int.random(in: 1...200, using: &random))
      rest = rest.dropFirst(portion.count)
      try await fixture.send(Array(portion))
    }
    await fixture.awaitAll()
    fixture.collector.checkHeld()
    await fixture.tearDown()
    fixture.collector.checkHeld()
    context.results.examined(.heldBytes)
  }

  /// Bytes prepared at once.
  private static let preparedLength = 64 << 20

  // MARK: - Back-pressure

  private static func held(_ context: CheckContext) async throws {
    let size = min(context.carrier.packetSizes.upperBound, 32_768)
    let portion = [Int](repeating: size, count: max(1, portionLength / size))
    let fixture = try await Fixture(context, sizes: portion, lossBreaks: .backPressure) {
      call, collected, transport in
      if call == .received, collected.delivered == 1 { transport.holdReading(true) }
    }
    try await fixture.openForSure()
    let isReleased = Flag()
    let sending = Task {
      guard !context.carrier.isPrepared else { return }
      // Two at first, because some transports accept a source only at its second packet.
      try await fixture.send([size, size])
      for _ in 0..<maximumPortions where !isReleased.isSet { try await fixture.send(portion) }
    }
    guard
      await fixture.collector.wait(within: context.carrier.deadline, until: { $0.delivered > 0 })
    else { throw FixtureError(description: "nothing came") }
    let (delivered, hasStopped) = await untilNothingComes(on: fixture, size)
    let bytes = delivered * size
    if !hasStopped || bytes > heldLimit {
      context.results.violated(
        .backPressure,
        "while it was held it delivered \(bytes) bytes, and "
          + (hasStopped ? "then stopped" : "did not stop"))
    }
    await untilFarEndWaits(fixture)
    if fixture.sent >= maximumPortions * portion.count {
      context.results.violated(
        .backPressure,
        "the far end was not held, and sent \(fixture.sent * size) bytes that were not taken")
    }
    isReleased.set()
    try? await fixture.eventLoop.submit { [transport = fixture.transport] in
      transport.holdReading(false)
    }.get()
    try await sending.value
    await fixture.awaitAll()
    context.results.examined(.backPressure)
    await fixture.tearDown()
  }

  /// Waits until the far end can send nothing more: it is held, or has sent everything.
  private static func untilFarEndWaits(_ fixture: Fixture) async {
    var last = -1
    while fixture.sent > last {
      last = fixture.sent
      try? await Task.sleep(for: waitingTime * 2)
    }
  }

  /// Waits for a pause in delivery, for a limited time; returns how many packets came, and whether
  /// they stopped.
  private static func untilNothingComes(
    on fixture: Fixture, _ size: Int
  ) async -> (Int, Bool) {
    var last = fixture.collector.collected.delivered
    // Not so many looks: a read of many packets can be seen packet by packet.
    let end = ContinuousClock.now + waitingTime * 40
    while ContinuousClock.now < end {
      let count = last
      guard await fixture.collector.wait(within: waitingTime * 2, until: { $0.delivered > count })
      else { return (last, true) }
      last = fixture.collector.collected.delivered
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

  private static func feedback(_ context: CheckContext) async throws {
    let sizes = [Int](repeating: max(100, context.carrier.packetSizes.lowerBound), count: 8)
    let fixture = try await Fixture(context, sizes: sizes)
    // There is no far end yet to receive it.
    fixture.transport.sendFeedback(receiverReport(words: 1), track: 0)
    try await fixture.openForSure()
    try await fixture.send(sizes)
    await fixture.awaitAll()
    let compounds = [1, 7, 60, 250].map { receiverReport(words: $0) }
    for compound in compounds { fixture.transport.sendFeedback(compound, track: 0) }
    // A far end tells nobody when a packet has come, so it is asked until the deadline.
    let deadline = ContinuousClock.now + context.carrier.deadline
    while ContinuousClock.now < deadline,
      !compounds.allSatisfy(fixture.farEnd.feedback.contains)
    {
      try await Task.sleep(for: .milliseconds(5))
    }
    for compound in compounds where !fixture.farEnd.feedback.contains(compound) {
      context.results.violated(
        .feedback, "a compound of \(compound.readableBytes) bytes did not arrive")
    }
    await fixture.tearDown()
    fixture.transport.sendFeedback(receiverReport(words: 1), track: 0)
    await fixture.settle()
    context.results.examined(.feedback)
  }

  /// A receiver report with a profile-specific extension of `words` words (RFC 3550 §6.4.2).
  private static func receiverReport(words: Int) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.writeRTCPPacket(type: .receiverReport, count: 0) { bytes in
      bytes.writeInteger(UInt32(0x1234_5678))
      for word in 0..<words { bytes.writeInteger(UInt32(clamping: word)) }
    }
    return bytes
  }

  // MARK: - Opening twice

  private static func openedTwice(_ context: CheckContext) async throws {
    let sizes = [Int](repeating: max(200, context.carrier.packetSizes.lowerBound), count: 20)
    let fixture = try await Fixture(context, sizes: sizes)
    try await fixture.openForSure()
    try await expectRefusal(of: fixture, "a second open")
    try await fixture.send(sizes)
    // The second one must not have disturbed the first.
    await fixture.awaitAll()
    await fixture.tearDown()
    try await expectRefusal(of: fixture, "an open after close")
    context.results.examined(.opensOnce)
  }

  private static func expectRefusal(of fixture: Fixture, _ what: String) async throws {
    let other = Collector(
      fixture.context.packets, on: fixture.eventLoop, fixture.results)
    let result = await outcome(within: fixture.carrier.deadline) {
      [transport = fixture.transport] in
      other.note(.opened)
      let result = await Result<Void, any Error> {
        try await transport.open(delivering: other)
      }
      if case .failure = result { other.note(.refused) }
      return result
    }
    switch result {
    case .failure: fixture.results.examined(.refusedOpening)
    case .success: fixture.results.violated(.opensOnce, "\(what) did not throw")
    case nil: fixture.results.violated(.opensOnce, "\(what) did not return")
    }
    await fixture.settle()
  }
}

extension Carrier {
  /// The sizes of packets that are sent to see that each comes as it was.
  var sizesSent: [Int] {
    packetSizes.filter { size in
      let power = 1 << (Int.bitWidth - 1 - max(size, 1).leadingZeroBitCount)
      return size <= everySizeUpTo || size % Self.step == 0
        || packetSizes.upperBound - size < Self.near
        || size - power < Self.near || 2 * power - size < Self.near
    }
  }

  /// A prime, so that sizes of every remainder are in the sample.
  private static let step = 61
  private static let near = 16
}
