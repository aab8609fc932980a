internal import NIOCore
internal import Transports

/// Scenes with far ends that are silent, slow or hostile.
extension Scene {
  static func farEnds(seed: UInt64) -> [Scene] {
    [
      Scene(clause: .silentFarEnd, kind: .patient, needs: [.silence], perform: silentFromTheStart),
      Scene(clause: .silentFarEnd, kind: .patient, needs: [.silence], perform: silentInBetween),
      Scene(clause: .slowFarEnd, kind: .patient, needs: [.byteStream], perform: byteByByte),
      Scene(clause: .hostileFarEnd, kind: .alone, needs: [.garbage]) { house in
        for hostility in house.carrier.hostilities { try await hostile(hostility, house) }
        for garbage in Garbage.allCases { try await flood(garbage, house, seed: seed) }
      },
    ]
  }

  // MARK: - Silent

  private static func silentFromTheStart(_ house: Stage.House) async throws {
    let stage = try await Stage(house, .silent)
    let result: Result<Void, any Error>?
    switch house.carrier.silentOpening {
    case .waits: result = await stage.open(within: .milliseconds(500))
    case .givesUp(let limit):
      result = await stage.open(within: limit + house.carrier.deadline)
      if case .failure = result {
      } else {
        house.journal.violated(
          .silentFarEnd, "open did not throw, although it should give up within \(limit)")
      }
    }
    if case .failure(let error) = result, house.carrier.silentOpening == .waits {
      house.journal.violated(.silentFarEnd, "open should wait, but threw \(error)")
    }
    await stage.dismantle()
    house.journal.examined(.silentFarEnd)
  }

  private static func silentInBetween(_ house: Stage.House) async throws {
    let sizes = [Int](repeating: max(300, house.carrier.packetSizes.lowerBound), count: 5)
    let stage = try await Stage(house, sizes: sizes)
    try await stage.openForSure()
    try await stage.send(sizes)
    await stage.awaitAll()
    guard let silence = stage.transport.longestSilence else {
      if await stage.awaitEnd(within: .milliseconds(500)) != nil {
        house.journal.violated(
          .silentFarEnd, "it ended in a pause, although its longestSilence is nil")
      }
      try await stage.send(sizes)
      await stage.awaitAll()
      return await stage.dismantle()
    }
    switch await stage.awaitEnd(within: silence + house.carrier.deadline) {
    case .failed: break
    case nil:
      house.journal.violated(.silentFarEnd, "a silence of more than \(silence) did not end it")
    case .some(let end):
      house.journal.violated(.silentFarEnd, "a silence of \(silence) was reported as \(end)")
    }
    await stage.dismantle(isQuiet: false)
  }

  // MARK: - Slow

  private static func byteByByte(_ house: Stage.House) async throws {
    let smallest = house.carrier.packetSizes.lowerBound
    let sizes = (0..<24).map { smallest + $0 * 3 }
    let stage = try await Stage(
      house, .byteByByte, sizes: sizes, lossBreaks: .slowFarEnd)
    try await stage.openForSure()
    try await stage.send(sizes)
    await stage.awaitAll()
    await stage.dismantle(isQuiet: false)
    house.journal.examined(.slowFarEnd)
  }

  // MARK: - Hostile

  /// Bytes that are not packets.
  private enum Garbage: String, Sendable, CaseIterable {
    case zeros, ones, noise, lineEnds

    func bytes(_ random: inout SplitMix) -> ByteBuffer {
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

  private static func hostile(_ name: String, _ house: Stage.House) async throws {
    let before = ProcessFigures.residentBytes
    let stage = try await Stage(house, .hostile(name), isCutOff: true, expectsForeign: true)
    switch await stage.open(within: house.carrier.endDeadline) {
    case .success: _ = await stage.awaitEnd(within: hostilePatience)
    case .failure: break
    case nil:
      house.journal.violated(
        .hostileFarEnd, "'\(name)': open did not return within \(house.carrier.endDeadline)")
    }
    await stage.dismantle(isQuiet: false)
    checkMemory(since: before, name, house)
  }

  /// Sends some packets, then only garbage; the transport must survive or give a reason.
  private static func flood(_ garbage: Garbage, _ house: Stage.House, seed: UInt64) async throws {
    var random = SplitMix(seed: seed)
    let bytes = garbage.bytes(&random)
    let sizes = [Int](repeating: max(300, house.carrier.packetSizes.lowerBound), count: 5)
    let before = ProcessFigures.residentBytes
    let stage = try await Stage(house, sizes: sizes, isCutOff: true, expectsForeign: true)
    try await stage.openForSure()
    try await stage.send(sizes)
    await stage.awaitDelivery(of: sizes.count)
    let flooding = Task { [farEnd = stage.farEnd] in
      // The transport may close the connection meanwhile, so that nothing more can be sent.
      for _ in 0..<floodLength where !Task.isCancelled { try? await farEnd.sendRaw(bytes) }
    }
    if await outcome(within: house.carrier.endDeadline, of: { await flooding.value }) == nil {
      flooding.cancel()
    }
    let hasBoundaries = house.carrier.lacks[.byteStream] != nil
    if stage.observer.sight.ends.isEmpty, hasBoundaries, !house.carrier.isPrepared {
      try await stage.send(sizes)
      await stage.awaitDelivery(of: sizes.count * 2)
      if !stage.observer.missing(of: sizes.count * 2).isEmpty {
        house.journal.violated(.hostileFarEnd, "after \(garbage), no more packets came")
      }
    }
    if case .failed(let error) = stage.observer.sight.ends.first, "\(error)".isEmpty {
      house.journal.violated(.hostileFarEnd, "\(garbage): the reason has no description")
    }
    await stage.dismantle(isQuiet: false)
    checkMemory(since: before, garbage.rawValue, house)
    house.journal.examined(.hostileFarEnd)
  }

  private static func checkMemory(since before: Int, _ name: String, _ house: Stage.House) {
    let growth = ProcessFigures.residentBytes - before
    if growth > memoryLimit {
      house.journal.violated(.hostileFarEnd, "'\(name)' took \(growth >> 20) MiB of memory")
    }
  }

  /// How long a hostile far end is observed once the transport is open.
  private static let hostilePatience = Duration.seconds(3)
  /// Blocks of garbage: 4 MiB in all.
  private static let floodLength = 128
  /// How much a far end may make the process grow, including the allocator's habits.
  private static let memoryLimit = 64 << 20
}
