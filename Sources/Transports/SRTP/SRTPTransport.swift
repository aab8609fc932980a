public import NIOCore
public import RTPWire

/// SRTP (RFC 3711, 6188, 7714) over any carrier: wraps a transport of protected packets, and
/// delivers the authentic ones as plain RTP and RTCP.
///
/// Nothing else is ever delivered. Packets that do not authenticate are counted
/// (``TransportCounters/srtp``) and change nothing: no roll-over counter, no table of sources, and
/// not the address from which the transport accepts packets.
public final class SRTPTransport: RTPTransport {
  private let carrier: any RTPTransport
  private let protection: SRTPProtection
  private let receiver: NIOLoopBoundBox<SRTPReceiver?>

  /// Opens nothing yet; all tracks are protected as `configuration` says.
  public convenience init(wrapping carrier: any RTPTransport, _ configuration: SRTPConfiguration) {
    self.init(wrapping: carrier, .everyTrack(configuration))
  }

  init(wrapping carrier: any RTPTransport, _ protection: SRTPProtection) {
    self.carrier = carrier
    self.protection = protection
    receiver = .makeBoxSendingValue(nil, eventLoop: carrier.eventLoop)
  }

  public var eventLoop: any EventLoop { carrier.eventLoop }
  public var clock: ArrivalClock { carrier.clock }

  public var isPassive: Bool { carrier.isPassive }
  public var comesAgain: Bool { carrier.comesAgain }
  public var longestSilence: Duration? { carrier.longestSilence }
  public var takesReports: Bool { carrier.takesReports }

  /// - Throws: ``SRTPError``, and what the carrier throws.
  public func open(delivering sink: any DatagramSink) async throws {
    let receiver = try SRTPReceiver(protection, on: eventLoop, delivering: sink)
    try await eventLoop.submit { [box = self.receiver] in
      guard box.value == nil else { throw TransportError.alreadyOpened }
      box.value = receiver
    }.get()
    do { try await carrier.open(delivering: receiver) } catch {
      // The sink may hold this transport, and the carrier tells it of no end.
      try? await eventLoop.submit { [box = self.receiver] in box.value?.abandon() }.get()
      throw error
    }
  }

  /// Sends RTCP as SRTCP under the key of the media, once that is known.
  public func sendFeedback(_ bytes: ByteBuffer, track: Int) {
    if eventLoop.inEventLoop { return protect(bytes, track: track) }
    eventLoop.execute { [self] in protect(bytes, track: track) }
  }

  public func holdReading(_ isHeld: Bool) { carrier.holdReading(isHeld) }

  public var canGather: Bool { carrier.canGather }

  public func gather(for time: Duration) { carrier.gather(for: time) }

  public func counters() async -> TransportCounters {
    let counters = await carrier.counters()
    let completed = try? await eventLoop.submit { [receiver] in
      var completed = counters
      receiver.value?.complete(&completed)
      return completed
    }.get()
    return completed ?? counters
  }

  public func close() { carrier.close() }

  private func protect(_ bytes: ByteBuffer, track: Int) {
    guard let protected = receiver.value?.protect(bytes, track: track) else { return }
    carrier.sendFeedback(protected, track: track)
  }
}
