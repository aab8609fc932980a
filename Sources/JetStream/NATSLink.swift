import BlockingIO
import CNATS
import RTPWire
import Synchronization
import Transports

/// A connection to NATS, which libnats makes again whenever it breaks.
///
/// One thread uses it; libnats's own threads say what becomes of it, by ``watch``.
@safe final class NATSLink {
  /// What becomes of a connection.
  enum Phase: Sendable, Hashable {
    case connected
    /// Not yet, or not any more.
    case away(since: Instant)
    /// For good.
    case closed(JetStreamError)
  }

  /// Who is told what becomes of a connection, on threads of libnats.
  protocol Watcher: AnyObject, Sendable {
    /// The connection is in another phase.
    func linkChanged(_ phase: Phase)
  }

  /// Type-erased, for the registry.
  private final class Observer: Sendable {
    let watcher: any Watcher
    let server: String
    /// What this login may not do, as the server said it last, and when.
    let refusal = Mutex<(words: String, time: Instant)?>(nil)

    init(_ watcher: any Watcher, server: String) {
      (self.watcher, self.server) = (watcher, server)
    }
  }

  /// How long making a connection, and each request, may take, unless somebody says otherwise.
  static let patience = Duration.seconds(2)
  /// How often a server is asked whether it is there; two questions may be open.
  private static let pingInterval: Int64 = 2000
  /// How often a login with a key is tried.
  ///
  /// libnats before 3.8 leaves a signature out that begins with a zero byte, and one in 256 does.
  /// The server refuses that login; its next nonce makes another signature.
  private static let signatures = 3
  /// What libnats keeps while the connection is broken, besides what is kept here: next to nothing.
  private static let reconnectBuffer: Int32 = 32 << 10

  /// As people see it.
  let server: String
  /// How long making this connection, and each request, may take.
  let patience: Duration
  /// libnats's.
  private let connection: OpaquePointer
  private let observer: Observer
  private let handle: CallbackHandle<Observer>
  /// libnats's contexts that nobody uses any more.
  private var formerContexts: [OpaquePointer] = unsafe []
  /// libnats's subscriptions that have ended, and that its thread may still be using.
  private var formerSubscriptions: [OpaquePointer] = unsafe []

  /// Connects.
  ///
  /// - Parameters:
  ///   - address: where to.
  ///   - login: who this is.
  ///   - name: what the server calls the connection in its own reports.
  ///   - retries: whether a server that cannot be reached now is tried for ever; it is then reached
  ///     once `watcher` hears so.
  ///   - patience: how long making it, and each request, may take.
  ///   - watcher: who is told.
  /// - Throws: why there is no connection.
  init(
    to address: StreamAddress, as login: NATSLogin, named name: String, retries: Bool,
    patience: Duration = NATSLink.patience, watcher: any Watcher
  ) throws(JetStreamError) {
    server = address.endpoint
    self.patience = patience
    observer = Observer(watcher, server: address.endpoint)
    handle = CallbackHandle(observer)
    var made: OpaquePointer?
    guard unsafe natsOptions_Create(&made) == NATS_OK, let options = unsafe made else {
      throw .notConnected(server: address.endpoint, reason: "no memory")
    }
    defer { unsafe natsOptions_Destroy(options) }
    unsafe try Self.set(options, address, login, name, patience)
    unsafe Self.setCallbacks(options, handle)
    var connection: OpaquePointer?
    var status = unsafe natsConnection_Connect(&connection, options)
    for _ in 1..<Self.signatures
    where login.credentialsFile != nil && status == NATS_CONNECTION_AUTH_FAILED {
      status = unsafe natsConnection_Connect(&connection, options)
    }
    // A connection that is made later does not say why a login is refused.
    if retries, status == NATS_NO_SERVER || status == NATS_TIMEOUT {
      unsafe _ = natsOptions_SetRetryOnFailedConnect(
        options, true, Self.connected, handle.context)
      status = unsafe natsConnection_Connect(&connection, options)
    }
    guard let connection = unsafe connection,
      status == NATS_OK || retries && status == NATS_NOT_YET_CONNECTED
    else { throw Self.error(status, server: address.endpoint) }
    unsafe self.connection = connection
    if status == NATS_OK { watcher.linkChanged(.connected) }
  }

  deinit {
    unsafe natsConnection_Destroy(connection)
    freeSubscriptions()
    while let context = unsafe formerContexts.popLast() { unsafe jsCtx_Destroy(context) }
  }

  /// Destroys a context of libnats once nothing is read from the connection any more.
  ///
  /// The thread that reads looks up who gets an answer, and then uses that unprotected (libnats
  /// 3.4.1): a context that is destroyed in between ends the process.
  func destroyLater(_ context: OpaquePointer) { unsafe formerContexts.append(context) }

  /// Ends a subscription of libnats; this waits for the server, if it is there.
  ///
  /// The thread that reads looks up whose a message is, and then uses that unprotected as well. It
  /// is done with all that came before once it has read the answer to a ping.
  func end(_ subscription: OpaquePointer) {
    unsafe _ = natsSubscription_Unsubscribe(subscription)
    unsafe formerSubscriptions.append(subscription)
    guard unsafe natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED,
      unsafe natsConnection_FlushTimeout(connection, patience.milliseconds) == NATS_OK
    else { return }
    freeSubscriptions()
  }

  private func freeSubscriptions() {
    while let subscription = unsafe formerSubscriptions.popLast() {
      unsafe natsSubscription_Destroy(subscription)
    }
  }

  /// Bytes of the largest message, its headers included.
  var largestMessage: Int {
    max(0, Int(clamping: unsafe natsConnection_GetMaxPayload(connection)))
  }

  /// What the server said lately that this login may not do; once.
  func takeRefusal() -> String? {
    let refusal = observer.refusal.withLock { refusal in
      defer { refusal = nil }
      return refusal
    }
    guard let refusal, refusal.time.duration(to: .now) < patience * 2 else { return nil }
    return refusal.words
  }

  /// Calls `body` with libnats's connection.
  func withConnection<Value>(_ body: (OpaquePointer) throws -> Value) rethrows -> Value {
    unsafe try body(connection)
  }

  private static func set(
    _ options: OpaquePointer, _ address: StreamAddress, _ login: NATSLogin, _ name: String,
    _ patience: Duration
  ) throws(JetStreamError) {
    let server = address.endpoint
    func check(_ status: natsStatus) throws(JetStreamError) {
      guard status != NATS_OK else { return }
      throw error(status, server: server)
    }
    try check(unsafe natsOptions_SetURL(options, address.url))
    try check(unsafe natsOptions_SetName(options, name))
    try check(unsafe natsOptions_SetTimeout(options, patience.milliseconds))
    try check(unsafe natsOptions_SetMaxReconnect(options, -1))
    try check(unsafe natsOptions_SetReconnectWait(options, 250))
    try check(unsafe natsOptions_SetReconnectBufSize(options, reconnectBuffer))
    try check(unsafe natsOptions_SetPingInterval(options, pingInterval))
    try check(unsafe natsOptions_SetMaxPingsOut(options, 2))
    try check(unsafe natsOptions_SetWriteDeadline(options, patience.milliseconds))
    try check(unsafe natsOptions_SetFailRequestsOnDisconnect(options, true))
    if let file = login.credentialsFile {
      try check(unsafe natsOptions_SetUserCredentialsFromFiles(options, file, nil))
    } else if let token = login.token {
      try check(unsafe natsOptions_SetToken(options, token))
    } else if let user = login.user {
      try check(unsafe natsOptions_SetUserInfo(options, user.user, user.password))
    }
    guard address.isSecure else { return }
    try check(unsafe natsOptions_SetSecure(options, true))
    try check(unsafe natsOptions_SetExpectedHostname(options, address.host))
    if let file = login.authorities {
      try check(unsafe natsOptions_LoadCATrustedCertificates(options, file))
    }
    if let (chain, key) = login.certificate {
      try check(unsafe natsOptions_LoadCertificatesChain(options, chain, key))
    }
  }

  private static let connected: natsConnectionHandler = { _, context in
    unsafe CallbackHandle<Observer>.target(context)?.watcher.linkChanged(.connected)
  }

  private static func setCallbacks(
    _ options: OpaquePointer, _ handle: CallbackHandle<Observer>
  ) {
    let context = unsafe handle.context
    unsafe _ = natsOptions_SetReconnectedCB(options, connected, context)
    unsafe _ = natsOptions_SetDisconnectedCB(
      options,
      { _, context in
        unsafe CallbackHandle<Observer>.target(context)?.watcher.linkChanged(.away(since: .now))
      }, context)
    unsafe _ = natsOptions_SetClosedCB(
      options,
      { connection, context in
        guard let observer = unsafe CallbackHandle<Observer>.target(context) else { return }
        var text: UnsafePointer<CChar>?
        let status = unsafe natsConnection_GetLastError(connection, &text)
        let words = unsafe text.map { unsafe String(cString: $0) } ?? ""
        // Servers are tried for ever, but for those that refuse the login.
        let isRefused = status == NATS_NO_SERVER
        observer.watcher.linkChanged(
          .closed(
            isRefused
              ? .loginRefused(server: observer.server)
              : NATSLink.error(status, server: observer.server, text: words)))
      }, context)
    unsafe _ = natsOptions_SetErrorHandler(
      options,
      { connection, _, status, context in
        guard status == NATS_NOT_PERMITTED else { return }
        var text: UnsafePointer<CChar>?
        unsafe _ = natsConnection_GetLastError(connection, &text)
        let words = unsafe text.map { unsafe String(cString: $0) } ?? "it is not permitted"
        unsafe CallbackHandle<Observer>.target(context)?.refusal.withLock { $0 = (words, .now) }
      }, context)
  }

  /// What a status of libnats means; `text` says more, if there is one.
  static func error(
    _ status: natsStatus, server: String, text: String = ""
  ) -> JetStreamError {
    let general = unsafe String(cString: natsStatus_GetText(status))
    let words = String((text.isEmpty ? general : text).prefix(200)).lowercased()
    switch status {
    case NATS_CONNECTION_AUTH_FAILED, NATS_NOT_PERMITTED: return .loginRefused(server: server)
    case NATS_SSL_ERROR, NATS_SECURE_CONNECTION_REQUIRED, NATS_SECURE_CONNECTION_WANTED:
      return .notTrusted(server: server, reason: words)
    default:
      if words.contains("authorization") { return .loginRefused(server: server) }
      return .notConnected(server: server, reason: words)
    }
  }
}

extension Duration {
  var milliseconds: Int64 { wholeNanoseconds / 1_000_000 }
}
