public import NIOCore
public import RTPWire

/// The client that said hello, and whether it is still there; one at a time.
///
/// A client says hello from the port on which it wants the stream. From then on every datagram from
/// that address is a heartbeat, and the client is gone when three intervals have passed without
/// any.
public struct ClientPresence: Sendable {
  /// Heartbeats that may be missed.
  public static let missedIntervals = 3

  /// What a datagram meant.
  public enum Outcome: Sendable, Hashable {
    /// A hello; the stream is to begin.
    case arrived
    case heartbeat
    /// A hello while another client is served.
    case busy
    /// Anything else from a stranger.
    case notHello
  }

  /// The client that is served, if any.
  public private(set) var client: SocketAddress?
  private let hello: [UInt8]
  private let interval: Duration
  private var lastHeard = Instant(nanoseconds: 0)

  /// Waits for `hello`, and then for a heartbeat every `interval`.
  public init(hello: [UInt8], heartbeatInterval interval: Duration) {
    self.hello = hello
    self.interval = interval
  }

  /// Takes a datagram that came from `origin` at `now`.
  public mutating func receive(
    _ bytes: ByteBuffer, from origin: SocketAddress, at now: Instant
  ) -> Outcome {
    if client == origin {
      lastHeard = now
      return .heartbeat
    }
    guard bytes.readableBytesView.elementsEqual(hello) else { return .notHello }
    guard client == nil else { return .busy }
    client = origin
    lastHeard = now
    return .arrived
  }

  /// When the client is gone if no heartbeat comes.
  public var deadline: Instant? {
    client.map { _ in lastHeard.advanced(by: interval * Self.missedIntervals) }
  }

  /// The client that is gone at `now`; the next one may come.
  public mutating func expire(at now: Instant) -> SocketAddress? {
    guard let gone = client, let deadline, deadline <= now else { return nil }
    client = nil
    return gone
  }
}
