import CNATS
import RTPWire

/// What a connection asks JetStream with.
@safe final class JetStreamContext {
  let pointer: OpaquePointer
  private let server: String
  /// The connection outlives its contexts.
  private let link: NATSLink

  /// - Parameters:
  ///   - link: the connection.
  ///   - onAcknowledgement: called by libnats with each acknowledgement of what was published
  ///     without waiting, and with what it does not get.
  ///   - context: what that gets.
  /// - Throws: why libnats makes none.
  init(
    _ link: NATSLink, onAcknowledgement: jsPubAckHandler? = nil,
    context: UnsafeMutableRawPointer? = nil
  ) throws(JetStreamError) {
    var options = unsafe jsOptions()
    unsafe jsOptions_Init(&options)
    unsafe options.Wait = NATSLink.patience.milliseconds
    unsafe options.PublishAsync.AckHandler = unsafe onAcknowledgement
    unsafe options.PublishAsync.AckHandlerClosure = unsafe context
    var made: OpaquePointer?
    let status = unsafe link.withConnection { connection in
      unsafe natsConnection_JetStream(&made, connection, &options)
    }
    guard status == NATS_OK, let made = unsafe made else {
      throw NATSLink.error(status, server: link.server)
    }
    unsafe pointer = made
    server = link.server
    self.link = link
  }

  deinit { unsafe jsCtx_Destroy(pointer) }

  /// What a request came to.
  func error(_ status: natsStatus, _ code: jsErrCode) -> JetStreamError {
    switch code {
    case JSNotEnabledErr, JSNotEnabledForAccountErr: return .noJetStream(server: server)
    case jsErrCode(0):
      // Nobody listens to requests: JetStream is not enabled, or has not begun yet.
      if status == NATS_NO_RESPONDERS { return .noJetStream(server: server) }
      // What may not be asked is not answered.
      if status == NATS_TIMEOUT, let words = link.takeRefusal() {
        return .refused(server: server, reason: words)
      }
      // Of some requests libnats keeps the number of the error for itself.
      if status == NATS_ERR, let words = Self.lastWords(about: status) {
        return .refused(server: server, reason: words)
      }
      return NATSLink.error(status, server: server)
    default:
      return .refused(
        server: server, reason: Self.lastWords(about: status) ?? "error \(code.rawValue)")
    }
  }

  /// What libnats says of the last failure on this thread, if that was `status`.
  private static func lastWords(about status: natsStatus) -> String? {
    var last = NATS_OK
    guard let text = unsafe nats_GetLastError(&last).map({ unsafe String(cString: $0) }),
      last == status
    else { return nil }
    // libnats puts the place in its source before the words.
    return text.split(separator: "): ", maxSplits: 1).last.map(String.init)
  }
}

/// The names of a camera's stream and of its subjects.
struct StreamNames: Sendable, Hashable {
  let stream: String
  private let prefix: String

  init(camera: String) {
    stream = "rtp_\(camera)"
    prefix = "rtp.\(camera)."
  }

  var all: String { prefix + "*" }

  func subject(_ subject: Publication.Subject) -> String { prefix + subject.rawValue }

  /// What `text` is a subject of; `nil` for others.
  func subject(named text: String) -> Publication.Subject? {
    text.hasPrefix(prefix)
      ? Publication.Subject(rawValue: String(text.dropFirst(prefix.count))) : nil
  }
}
