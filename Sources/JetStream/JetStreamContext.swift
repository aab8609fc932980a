import CNATS
import RTPWire

/// What a connection asks JetStream with.
///
/// What libnats has of it stays until the connection ends, so a connection has few of them.
@safe final class JetStreamContext {
  let pointer: OpaquePointer
  /// The connection outlives its contexts.
  let link: NATSLink
  /// Whether libnats has what it needs to wait for acknowledgements.
  private var hasPublished = false

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
    unsafe options.Wait = link.patience.milliseconds
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
    self.link = link
  }

  deinit { unsafe link.destroyLater(pointer) }

  /// Publishes `message` without waiting for the acknowledgement; unless that fails, libnats has it
  /// from then on.
  func publish(
    _ message: inout OpaquePointer?, _ options: inout jsPubOptions
  ) -> natsStatus {
    let status = unsafe js_PublishMsgAsync(pointer, &message, &options)
    if status == NATS_OK { hasPublished = true }
    return status
  }

  /// Forgets the acknowledgements for which libnats waits: those that still come are nobody's.
  func forgetPublished() {
    guard hasPublished else { return }
    var messages = unsafe natsMsgList()
    guard unsafe js_PublishAsyncGetPendingList(&messages, pointer) == NATS_OK else { return }
    unsafe natsMsgList_Destroy(&messages)
  }

  /// Makes the stream `name` for `subjects`, otherwise as `choose` says; another that is made
  /// meanwhile stays as it is.
  func makeStream(
    _ name: String, for subjects: String, choosing choose: (inout jsStreamConfig) -> Void
  ) throws(JetStreamError) {
    var config = unsafe jsStreamConfig()
    unsafe jsStreamConfig_Init(&config)
    unsafe choose(&config)
    var code = jsErrCode(0)
    let status = unsafe name.withCString { name in
      unsafe subjects.withCString { subject in
        var subjects: [UnsafePointer<CChar>?] = unsafe [subject]
        return unsafe subjects.withUnsafeMutableBufferPointer { subjects in
          unsafe config.Name = unsafe name
          unsafe config.Subjects = subjects.baseAddress
          unsafe config.SubjectsLen = 1
          return unsafe js_AddStream(nil, pointer, &config, nil, &code)
        }
      }
    }
    guard status == NATS_OK || code == JSStreamNameExistErr else { throw error(status, code) }
  }

  /// What a request came to.
  func error(_ status: natsStatus, _ code: jsErrCode) -> JetStreamError {
    let server = link.server
    switch code {
    case JSNotEnabledErr, JSNotEnabledForAccountErr: return .noJetStream(server: server)
    case _ where Self.passing.contains(code):
      return .unavailable(
        server: server, reason: Self.lastWords(about: status) ?? "error \(code.rawValue)")
    case jsErrCode(0):
      // Nobody listens to requests: JetStream is not enabled, or has not begun yet.
      if status == NATS_NO_RESPONDERS { return .noJetStream(server: server) }
      // What may not be asked is not answered.
      if status == NATS_TIMEOUT, let words = link.takeRefusal() {
        return .refused(server: server, reason: words)
      }
      // Not every error has a number.
      if status == NATS_ERR, let words = Self.lastWords(about: status) {
        return .refused(server: server, reason: words)
      }
      return NATSLink.error(status, server: server)
    default:
      return .refused(
        server: server, reason: Self.lastWords(about: status) ?? "error \(code.rawValue)")
    }
  }

  /// What servers say while others of their cluster are missing, or while they have no room (503).
  private static let passing = [
    JSClusterNotAvailErr, JSClusterNotLeaderErr, JSInsufficientResourcesErr, JSStreamOfflineErr,
    JSConsumerOfflineErr,
  ]

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
