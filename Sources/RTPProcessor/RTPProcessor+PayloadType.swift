public import RTPWire

/// A sender that goes on with another payload type.
extension RTPProcessor {
  /// From when on the media of the current source has paused for longer than it usually does;
  /// `nil` without a source.
  ///
  /// A source that has said goodbye has paused since then.
  public var silentFrom: Instant? { goodbye ?? source?.liveliness.silentFrom }

  /// Whether that media has paused at `now` for longer than it did before; `true` without a source.
  public func pausesUnusually(at now: Instant) -> Bool {
    goodbye != nil || source?.liveliness.pausesUnusually(at: now) ?? true
  }

  /// Takes packets of `payloadType` for the media from now on.
  ///
  /// What was held is ready before them, gaps included. The totals and the media time continue.
  ///
  /// - Parameters:
  ///   - payloadType: what the configuration says from now on.
  ///   - datagrams: those of that type that were ignored and are about to be received again; their
  ///     counts are taken back.
  public mutating func change(payloadType: UInt8, receivingAgain datagrams: [Datagram]) {
    releaseEverything()
    configuration.payloadType = payloadType
    numberedTypes = NumberedTypes()
    for datagram in datagrams {
      statistics.takeBackIgnored(datagram, payloadType: payloadType)
    }
    source?.payloadType = payloadType
    let sources = datagrams.compactMap { try? $0.packet().ssrc }
    // Their numbers may count as taken, so it begins anew.
    if let ssrc, sources.contains(ssrc) { leaveSource() }
  }

  /// Waits for a source, on the same timeline.
  private mutating func leaveSource() {
    let timeline = source?.timeline
    source = nil
    formerTimeline = timeline
    correction = nil
  }
}
