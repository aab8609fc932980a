public import Outputs
public import Transports

/// What is wrong with an address in NATS, a server of it, or what it has.
public enum JetStreamError: Error, Sendable, Hashable {
  /// The address cannot be meant like that, and why.
  case address(String)
  /// A file that the environment names cannot be read.
  case unreadable(path: String, reason: String)
  /// A file with a secret can be read by others than its owner.
  case readableByOthers(path: String)
  /// The server was not reached; the words are libnats's.
  case notConnected(server: String, reason: String)
  /// The server refuses user name, password, token or credentials.
  case loginRefused(server: String)
  /// The certificate of the server, or ours, is not accepted.
  case notTrusted(server: String, reason: String)
  /// The server keeps nothing.
  case noJetStream(server: String)
  /// The server cannot do it now; the words are its own.
  case unavailable(server: String, reason: String)
  /// Nobody has published such a camera.
  case noCamera(String, server: String)
  /// Nothing of the camera was published in the last seconds.
  case nothingPublished(String, seconds: Int)
  /// The server keeps no more, or not so; the words are its own.
  case refused(server: String, reason: String)
  /// The connection broke, and did not come back within this time.
  case connectionLost(server: String, seconds: Int)
  /// So many messages were not acknowledged by the end.
  case notAcknowledged(server: String, messages: Int)
  /// What is published is described otherwise from here on: another codec, or sound as well.
  case descriptionChanged
  /// A description that cannot be read.
  case badDescription(String)
  /// There is no payload format for this codec.
  case unsupportedCodec(String)
}

extension JetStreamError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .address(let words): words
    case .unreadable(let path, let reason): "cannot read \(path): \(reason)"
    case .readableByOthers(let path):
      "\(path) can be read by others than its owner; try: chmod 600 \(path)"
    case .notConnected(let server, let reason):
      "cannot connect to NATS at \(server) (\(reason.printable)); check the address, and that it is running"
    case .loginRefused(let server):
      "NATS at \(server) refuses the login; NATS_CREDS, NATS_TOKEN, or NATS_USER and NATS_PASSWORD "
        + "in the environment give one"
    case .notTrusted(let server, let reason):
      "the TLS connection to NATS at \(server) is refused (\(reason.printable)); NATS_CA names a file of "
        + "authorities that are trusted"
    case .noJetStream(let server):
      "NATS at \(server) keeps nothing; start it with -js, or 'jetstream' in its configuration"
    case .unavailable(let server, let reason):
      "NATS at \(server) cannot do it now (\(reason.printable)); check the other servers of its cluster"
    case .noCamera(let camera, let server):
      "nobody has published '\(camera)' to NATS at \(server); rtp-recv does it with "
        + "-o nats://\(server)/\(camera)"
    case .nothingPublished(let camera, let seconds):
      "nothing of '\(camera)' was published in the last \(seconds) s"
    case .refused(let server, let reason):
      "NATS at \(server) refuses the stream: \(reason.printable)"
    case .connectionLost(let server, let seconds):
      "NATS at \(server) did not come back within \(seconds) s"
    case .notAcknowledged(let server, let messages):
      messages == 0
        ? "NATS at \(server) was not reached"
        : "NATS at \(server) has not acknowledged the last \(messages.counted("message"))"
    case .descriptionChanged:
      "what is published is of another kind from here on; another connection receives it"
    case .badDescription(let reason):
      "the description of the camera cannot be read: \(reason.printable)"
    case .unsupportedCodec(let name): "\(name) cannot be published"
    }
  }
}

extension JetStreamError: TransportFault {
  public var fault: ConnectionFault {
    switch self {
    case .address, .unreadable, .readableByOthers, .notTrusted, .nothingPublished: .permanent
    case .loginRefused: .login
    case .notConnected, .noJetStream, .unavailable, .noCamera, .refused, .connectionLost,
      .descriptionChanged, .notAcknowledged, .badDescription, .unsupportedCodec:
      .transient
    }
  }

  public var continuesInAnotherConnection: Bool { self == .descriptionChanged }

  public var outcome: TransportOutcome? {
    switch self {
    case .address: .usage
    case .loginRefused: .credentials
    case .notTrusted: .notTrusted
    case .noCamera: .noSuchStream
    case .nothingPublished: .noMedia
    case .badDescription, .unsupportedCodec: .unrecognized
    case .unreadable, .readableByOthers, .notConnected, .noJetStream, .unavailable, .refused:
      .cannotOpen
    case .connectionLost: .mediaLost
    case .descriptionChanged, .notAcknowledged: nil
    }
  }
}

extension JetStreamError: OutputFault {
  public var name: String {
    switch self {
    case .address: "address"
    case .unreadable: "unreadable"
    case .readableByOthers: "readable_by_others"
    case .notConnected: "not_connected"
    case .loginRefused: "login_refused"
    case .notTrusted: "not_trusted"
    case .noJetStream: "no_jetstream"
    case .unavailable: "unavailable"
    case .noCamera: "no_camera"
    case .nothingPublished: "nothing_published"
    case .refused: "refused"
    case .connectionLost: "connection_lost"
    case .notAcknowledged: "not_acknowledged"
    case .descriptionChanged: "description_changed"
    case .badDescription: "bad_description"
    case .unsupportedCodec: "unsupported_codec"
    }
  }

  public func words(about output: String) -> String { "\(output): \(description)" }
}
