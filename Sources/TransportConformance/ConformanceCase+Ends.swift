internal import NIOCore
internal import RTPWire
internal import Transports

/// Cases about transports that end by themselves.
extension ConformanceCase {
  static let ends: [ConformanceCase] = [
    ConformanceCase(clause: .orderlyEnd, needs: [.orderlyEnd]) { context in
      try await end(.finished, context)
    },
    ConformanceCase(clause: .failure, needs: [.failure]) { context in
      try await end(.failed, context)
    },
    ConformanceCase(clause: .refusedOpening, body: nobodyThere),
  ]

  private static func end(_ ending: Fixture.Ending, _ context: CheckContext) async throws {
    let sizes = [Int](repeating: max(700, context.carrier.packetSizes.lowerBound), count: 20)
    let fixture = try await Fixture(context, sizes: sizes, ending: ending)
    try await fixture.openForSure()
    try await fixture.send(sizes)
    // A broken connection may lose what the transport had not read.
    if ending == .finished || !context.carrier.isPrepared { await fixture.awaitDelivery(of: 20) }
    if !context.carrier.isPrepared {
      let (farEnd, limit) = (fixture.farEnd, context.carrier.deadline)
      let result = await outcome(within: limit) {
        await Result { try await ending == .finished ? farEnd.finish() : farEnd.fail() }
      }
      try result?.get()
    }
    switch (await fixture.awaitEnd(), ending) {
    case (nil, _): context.results.violated(.oneEnd, "the far end has \(ending), but no end came")
    case (.ended, .finished): break
    case (.failed(let error), .failed):
      if "\(error)".isEmpty { context.results.violated(.failure, "the reason has no description") }
    case (.some(let end), .finished):
      context.results.violated(.orderlyEnd, "the far end has finished, and the end was \(end)")
    case (.some(let end), _):
      context.results.violated(.failure, "the carrier broke, and the end was \(end)")
    }
    context.results.examined(ending == .finished ? .orderlyEnd : .failure)
    // After the end, calls must have no effect.
    var report = ByteBuffer()
    report.writeRTCPPacket(type: .receiverReport, count: 0) { $0.writeInteger(UInt32(1)) }
    fixture.transport.sendFeedback(report, track: 0)
    try? await fixture.eventLoop.submit { [transport = fixture.transport] in
      transport.holdReading(true)
      transport.holdReading(false)
    }.get()
    await fixture.tearDown()
  }

  /// The far end is gone before the transport opens.
  private static func nobodyThere(_ context: CheckContext) async throws {
    let fixture = try await Fixture(context, sizes: [context.carrier.packetSizes.lowerBound])
    await fixture.farEnd.close()
    if case .success = await fixture.open(within: context.carrier.endDeadline) {
      await fixture.settle()
    }
    await fixture.tearDown(isQuiet: false)
    context.results.examined(.refusedOpening)
  }
}
