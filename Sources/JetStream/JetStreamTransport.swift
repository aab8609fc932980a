public import NIOCore
public import RTPWire
public import Transports

/// A camera in a stream of JetStream, as another program publishes it.
public final class JetStreamTransport: RTPTransport {
  /// How long a server may be away, unless somebody says otherwise.
  public static let usualPatience = Duration.seconds(10)

  public var eventLoop: any EventLoop { receiver.eventLoop }
  /// What was published is a recording, with the times at which the server took it.
  public var clock: ArrivalClock { options.since == nil ? .monotonic : .recorded }
  public let isPassive = false
  /// A camera that is silent is not the server's fault.
  public let longestSilence: Duration? = nil
  public let takesReports = false
  private let address: StreamAddress
  private let login: NATSLogin
  private let options: JetStreamOptions
  private let patience: Duration?
  private let receiver: ReceiverSlot<JetStreamReceiver>

  /// Makes a transport without opening anything.
  ///
  /// - Parameters:
  ///   - address: where the camera is.
  ///   - login: who this is.
  ///   - options: where to begin.
  ///   - patience: how long the server may be away; `nil` for ever.
  ///   - eventLoop: the loop on which the sink is called.
  public init(
    address: StreamAddress, login: NATSLogin, options: JetStreamOptions = JetStreamOptions(),
    patience: Duration? = usualPatience, on eventLoop: any EventLoop
  ) {
    (self.address, self.login, self.options) = (address, login, options)
    self.patience = patience
    receiver = ReceiverSlot(on: eventLoop)
  }

  deinit { close() }

  /// - Throws: ``JetStreamError``, or `TransportError`.
  public func open(delivering sink: any DatagramSink) async throws {
    try await receiver.open(
      { [eventLoop] in JetStreamReceiver(on: eventLoop, delivering: sink) },
      begin: { [address, login, options, patience] receiver in
        receiver.begin { state in
          StreamReader(
            address: address, login: login, options: options, patience: patience, state: state)
        }
      }
    ).get()
  }

  public func sendFeedback(_ bytes: ByteBuffer, track: Int) {}

  public func holdReading(_ isHeld: Bool) { receiver.holdReading(isHeld) }

  public func counters() async -> TransportCounters { await receiver.counters() }

  public func close() { receiver.close() }
}
