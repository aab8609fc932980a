internal import NIOCore
internal import Transports

/// Scenes about transports that end by themselves.
extension Scene {
  static let ends: [Scene] = [
    Scene(clause: .orderlyEnd, needs: [.orderlyEnd]) { house in
      try await end(.finished, house)
    },
    Scene(clause: .failure, needs: [.failure]) { house in try await end(.failed, house) },
    Scene(clause: .refusedOpening, perform: nobodyThere),
  ]

  private static func end(_ ending: Stage.Ending, _ house: Stage.House) async throws {
    let sizes = [Int](repeating: max(700, house.carrier.packetSizes.lowerBound), count: 20)
    let stage = try await Stage(house, sizes: sizes, ending: ending)
    try await stage.openForSure()
    try await stage.send(sizes)
    // A broken connection may lose what the transport had not read.
    if ending == .finished || !house.carrier.isPrepared { await stage.awaitDelivery(of: 20) }
    if !house.carrier.isPrepared {
      let (farEnd, limit) = (stage.farEnd, house.carrier.deadline)
      let result = await outcome(within: limit) {
        await Result { try await ending == .finished ? farEnd.finish() : farEnd.fail() }
      }
      try result?.get()
    }
    switch (await stage.awaitEnd(), ending) {
    case (nil, _): house.journal.violated(.oneEnd, "the far end has \(ending), but no end came")
    case (.ended, .finished): break
    case (.failed(let error), .failed):
      if "\(error)".isEmpty { house.journal.violated(.failure, "the reason has no description") }
    case (.some(let end), .finished):
      house.journal.violated(.orderlyEnd, "the far end has finished, and the end was \(end)")
    case (.some(let end), _):
      house.journal.violated(.failure, "the carrier broke, and the end was \(end)")
    }
    house.journal.examined(ending == .finished ? .orderlyEnd : .failure)
    // After the end, calls must have no effect.
    stage.transport.sendFeedback(ByteBuffer(bytes: [0x80, 201, 0, 1, 0, 0, 0, 1]), track: 0)
    try? await stage.eventLoop.submit { [transport = stage.transport] in
      transport.holdReading(true)
      transport.holdReading(false)
    }.get()
    await stage.dismantle()
  }

  /// The far end is gone before the transport opens.
  private static func nobodyThere(_ house: Stage.House) async throws {
    let stage = try await Stage(house, sizes: [house.carrier.packetSizes.lowerBound])
    await stage.farEnd.close()
    if case .success = await stage.open(within: house.carrier.endDeadline) {
      await stage.settle()
    }
    await stage.dismantle(isQuiet: false)
    house.journal.examined(.refusedOpening)
  }
}
