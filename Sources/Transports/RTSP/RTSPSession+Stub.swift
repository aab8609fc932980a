internal import RTPWire

extension RTSPSession {
  init(
    configuration: RTSPConfiguration, url: RTSPURL, credentials: Credentials?,
    purpose: Purpose = .play, silence: Duration? = .seconds(5),
    randomness: any RandomNumberGenerator & Sendable, at now: Instant
  ) {}
  mutating func connectionOpened(at now: Instant) {}
  mutating func connectionFailed(at now: Instant) {}
  /// Takes what was received before it is told.
  mutating func connectionClosed(at now: Instant) {}
  mutating func receive(_ response: RTSPResponse, at now: Instant) {}
  mutating func receive(_ request: RTSPRequest, at now: Instant) {}
  /// What the connection brings can not be understood.
  mutating func inputFailed(_ error: RTSPError, at now: Instant) {}
  mutating func route(channel: UInt8, at now: Instant) -> Route { .unassigned }
  mutating func mediaArrived(at now: Instant) {}
  mutating func portsOpened(_ ports: ClientPorts, forMedia media: Int, at now: Instant) {}
  mutating func portsFailed(forMedia media: Int, at now: Instant) {}
  mutating func pause(at now: Instant) {}
  mutating func resume(at now: Instant) {}
  mutating func teardown(at now: Instant) {}
  mutating func wake(at now: Instant) {}
  mutating func nextAction() -> Action? { nil }
  var deadline: Instant? { nil }
  var assignedChannels: [UInt8] { [] }
  var feedbackChannel: UInt8? { nil }
}
