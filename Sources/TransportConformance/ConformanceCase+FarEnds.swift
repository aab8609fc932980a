internal import NIOCore
internal import RTPWire
internal import Transports

/// Cases with far ends that are silent, slow or hostile.
extension ConformanceCase {
  static func farEnds(seed: UInt64) -> [ConformanceCase] {
    [
      ConformanceCase(
        clause: .silentFarEnd, kind: .waiting, needs: [.silence], body: silentFromTheStart),
      ConformanceCase(
        clause: .silentFarEnd, kind: .waiting, needs: [.silence], body: silentInBetween),
      ConformanceCase(clause: .slowFarEnd, kind: .waiting, needs: [.byteStream], body: byteByByte),
      ConformanceCase(clause: .hostileFarEnd, kind: .exclusive, needs: [.garbage]) { context in
        for hostility in context.carrier.hostilities { try await hostile(hostility, context) }
        for garbage in Garbage.allCases { try await flood(garbage, context, seed: seed) }
      },
    ]
  }

  // MARK: - Silent

  private static func silentFromTheStart(_ context: CheckContext) async throws {
    let fixture = try await Fixture(context, .silent)
    let result: Result<Void, any Error>?
    switch context.carrier.silentOpening {
    case .waits: result = await fixture.open(within: .milliseconds(500))
    case .givesUp(let limit):
      result = await fixture.open(within: limit + context.carrier.deadline)
      if case .failure = result {
      } else {
        context.results.violated(
          .silentFarEnd, "open did not throw, although it should give up within \(limit)")
      }
    }
    if case .failure(let error) = result, context.carrier.silentOpening == .waits {
      context.results.violated(.silentFarEnd, "open should wait, but threw \(error)")
    }
    await fixture.tearDown()
    context.results.examined(.silentFarEnd)
  }

  private static func silentInBetween(_ context: CheckContext) async throws {
    let sizes = [Int](repeating: max(300, context.carrier.packetSizes.lowerBound), count: 5)
    let fixture = try await Fixture(context, .pausing, sizes: sizes)
    try await fixture.openForSure()
    try await fixture.send(sizes)
    await fixture.awaitAll()
    guard let silence = fixture.transport.longestSilence else {
      if await fixture.awaitEnd(within: .milliseconds(500)) != nil {
        context.results.violated(
          .silentFarEnd, "it ended in a pause, although its longestSilence is nil")
      }
      try await fixture.send(sizes)
      await fixture.awaitAll()
      return await fixture.tearDown()
    }
    switch await fixture.awaitEnd(within: silence + context.carrier.deadline) {
    case .failed: break
    case nil:
      context.results.violated(.silentFarEnd, "a silence of more than \(silence) did not end it")
    case .some(let end):
      context.results.violated(.silentFarEnd, "a silence of \(silence) was reported as \(end)")
    }
    await fixture.tearDown(isQuiet: false)
  }

  // MARK: - Slow

  private static func byteByByte(_ context: CheckContext) async throws {
    let smallest = context.carrier.packetSizes.lowerBound
    let sizes = (0..<24).map { smallest + $0 * 3 }
    let fixture = try await Fixture(
      context, .byteByByte, sizes: sizes, lossBreaks: .slowFarEnd)
    try await fixture.openForSure()
    try await fixture.send(sizes)
    await fixture.awaitAll()
    await fixture.tearDown(isQuiet: false)
    context.results.examined(.slowFarEnd)
  }

  // MARK: - Hostile

  /// Bytes that are not packets.
  private enum Garbage: String, Sendable, CaseIterable {
    case zeros, ones, noise, lineEnds

    func bytes(_ random: inout SplitMix64) -> ByteBuffer {
      switch self {
      case .zeros: return ByteBuffer(repeating: 0, count: Self.length)
      case .ones: return ByteBuffer(repeating: 0xFF, count: Self.length)
      case .lineEnds: return ByteBuffer(repeating: 0x0A, count: Self.length)
      case .noise:
        var bytes = ByteBuffer()
        for _ in 0..<(Self.length / 8) { bytes.writeInteger(random.next()) }
        return bytes
      }
    }

    /// Small enough for a datagram.
    private static let length = 32 << 10
  }

  private static func hostile(_ name: String, _ context: CheckContext) async throws {
    let before = ProcessFigures.residentBytes
    let fixture = try await Fixture(context, .hostile(name), isCutOff: true, expectsForeign: true)
    switch await fixture.open(within: context.carrier.endDeadline) {
    case .success: _ = await fixture.awaitEnd(within: hostilePatience)
    case .failure: break
    case nil:
      context.results.violated(
        .hostileFarEnd, "'\(name)': open did not return within \(context.carrier.endDeadline)")
    }
    await fixture.tearDown(isQuiet: false)
    checkMemory(since: before, name, context)
  }

  /// Sends some packets, then only garbage; the transport must survive or give a reason.
  private static func flood(_ garbage: Garbage, _ context: CheckContext, seed: UInt64) async throws
  {
    var random = SplitMix64(seed: seed)
    let bytes = garbage.bytes(&random)
    let sizes = [Int](repeating: max(300, context.carrier.packetSizes.lowerBound), count: 5)
    let before = ProcessFigures.residentBytes
    let fixture = try await Fixture(context, sizes: sizes, isCutOff: true, expectsForeign: true)
    try await fixture.openForSure()
    try await fixture.send(sizes)
    await fixture.awaitDelivery(of: sizes.count)
    let flooding = Task { [farEnd = fixture.farEnd] in
      // The transport may close the connection meanwhile, so that nothing more can be sent.
      for _ in 0..<floodLength where !Task.isCancelled { try? await farEnd.sendRaw(bytes) }
    }
    if await outcome(within: context.carrier.endDeadline, of: { await flooding.value }) == nil {
      flooding.cancel()
    }
    let hasBoundaries = context.carrier.lacks[.byteStream] != nil
    if fixture.collector.collected.ends.isEmpty, hasBoundaries, !context.carrier.isPrepared {
      try await fixture.send(sizes)
      await fixture.awaitDelivery(of: sizes.count * 2)
      if !fixture.collector.missing(of: sizes.count * 2).isEmpty {
        context.results.violated(.hostileFarEnd, "after \(garbage), no more packets came")
      }
    }
    if case .failed(let error) = fixture.collector.collected.ends.first, "\(error)".isEmpty {
      context.results.violated(.hostileFarEnd, "\(garbage): the reason has no description")
    }
    await fixture.tearDown(isQuiet: false)
    checkMemory(since: before, garbage.rawValue, context)
    context.results.examined(.hostileFarEnd)
  }

  private static func checkMemory(since before: Int, _ name: String, _ context: CheckContext) {
    let growth = ProcessFigures.residentBytes - before
    if growth > memoryLimit {
      context.results.violated(.hostileFarEnd, "'\(name)' took \(growth >> 20) MiB of memory")
    }
  }

  /// How long a hostile far end is observed once the transport is open.
  private static let hostilePatience = Duration.seconds(3)
  /// Blocks of garbage: 4 MiB in all.
  private static let floodLength = 128
  /// How much a far end may make the process grow, including the allocator's habits.
  private static let memoryLimit = 64 << 20
}
