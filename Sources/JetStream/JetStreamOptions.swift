public import Transports

/// What a user chooses about a camera in NATS, and what earlier connections teach.
public struct JetStreamOptions: TransportOption, Hashable {
  /// How far back a recording of what was published begins, which ends with what there is.
  ///
  /// `nil` for what is still to come, from the last key picture on.
  public var since: Duration?
  /// The last message that an earlier connection took; 0 for none.
  var position: UInt64 = 0
  /// The last message of a recording, of which earlier connections took a part.
  var end: UInt64 = 0

  public init() {}
}

extension TransportCounter {
  /// Messages of the stream.
  static let messages = TransportCounter("messages", in: "nats", unit: .events)
  /// Messages that are no packets, or packets that are cut.
  static let malformed = TransportCounter("malformed_messages", in: "nats", unit: .events)
  /// Messages that were gone before they could be delivered.
  static let expired = TransportCounter("expired_messages", in: "nats", unit: .events)
  /// How often the stream was another one than before, because the server had lost it.
  static let renewals = TransportCounter("renewed_streams", in: "nats", unit: .events)
  /// The number of the last message in the stream.
  static let position = TransportCounter("position", in: "nats", unit: .events, joining: .latest)
  /// The number of the last message of a recording; 0 for what is still to come.
  static let end = TransportCounter("end", in: "nats", unit: .events, joining: .latest)
}

extension TransportKind {
  /// `nats://HOST/CAMERA`, and the same with TLS.
  public static let jetStream: TransportKind = {
    var kind = TransportKind(name: "nats", schemes: StreamAddress.schemes) {
      source, options, eventLoop in
      let address = try StreamAddress(parsing: source, known: ["since"])
      var own = options[JetStreamOptions.self]
      if let text = address.options["since"] {
        guard let since = StreamAddress.duration(text) else {
          throw JetStreamError.address("since is written as in since=5m, or since=90s")
        }
        own.since = since
      }
      return JetStreamTransport(
        address: address, login: try NATSLogin(), options: own,
        patience: options.silence.duration(standard: JetStreamTransport.usualPatience),
        on: eventLoop)
    }
    kind.describesMedia = { _ in true }
    kind.counters = [.messages, .malformed, .expired, .renewals, .position, .end]
    kind.usage = [
      SourceForm(
        "nats://HOST/CAMERA",
        "what another rtp-recv publishes with -o nats://…;"
          + "\nwith ?since=5m, the last five minutes")
    ]
    kind.learn = { options, former in
      options[JetStreamOptions.self].position = former[.position]
      options[JetStreamOptions.self].end = former[.end]
    }
    kind.scopes = [OptionScope("nats://", toolOptions: ["--timeout"])]
    kind.hints = [
      TransportHint(.silence) { situation in
        guard situation.counters[.messages] == 0 else { return nil }
        return "nothing is published there now: check the rtp-recv that receives the camera"
      },
      TransportHint(.warning) { situation in
        let count = situation.counters[.malformed]
        guard count > 0 else { return nil }
        return "\(count.counted("message")) in NATS \(count == 1 ? "is" : "are") not as rtp-recv "
          + "publishes them"
      },
      TransportHint(.warning) { situation in
        let count = situation.counters[.expired]
        guard count > 0 else { return nil }
        return "messages were gone from NATS before they were received; it keeps too little, or "
          + "this side is too slow"
      },
    ]
    return kind
  }()
}
