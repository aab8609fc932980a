internal import COpenSSL
internal import NIOCore

/// The TLS of one connection, without its socket: it takes and gives encrypted bytes in memory.
@safe final class TLSSession {
  /// OpenSSL's `SSL`, which owns both memories.
  private let handle: OpaquePointer
  /// What came from the far end.
  private let input: OpaquePointer
  /// What is for the far end.
  private let output: OpaquePointer
  /// Read by OpenSSL in the handshake, for the pin.
  private let context: TLSContext

  enum Side {
    case server
    /// A client whose server is this host, as the URL names it.
    case client(of: String)
  }

  /// Why there is nothing more to do.
  enum Pause {
    case needsInput
    /// The far end has closed TLS (RFC 8446 §6.1).
    case closed
  }

  /// - Throws: ``TLSError/handshakeFailed(reason:)`` when there is no memory, or for a host whose
  ///   name no certificate can contain.
  init(_ context: TLSContext, _ side: Side) throws(TLSError) {
    guard let handle = unsafe SSL_new(context.handle) else { throw Self.failure() }
    guard let input = unsafe BIO_new(BIO_s_mem()), let output = unsafe BIO_new(BIO_s_mem()) else {
      unsafe SSL_free(handle)
      throw Self.failure()
    }
    unsafe SSL_set_bio(handle, input, output)
    unsafe (self.handle, self.input, self.output) = (handle, input, output)
    self.context = context
    switch side {
    case .server: unsafe SSL_set_accept_state(handle)
    case .client(let host):
      unsafe SSL_set_connect_state(handle)
      try name(host, isVerified: context.verifiesNames)
    }
  }

  deinit { unsafe SSL_free(handle) }

  private func name(_ host: String, isVerified: Bool) throws(TLSError) {
    let parameters = unsafe SSL_get0_param(handle)
    // An address cannot be sent as a server name (RFC 6066 §3), and its zone is this machine's.
    let address = host.prefix { $0 != "%" }
    if (try? SocketAddress(ipAddress: String(address), port: 0)) != nil {
      guard isVerified else { return }
      guard unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, String(address)) == 1 else {
        throw Self.failure()
      }
      return
    }
    let name = host.hasSuffix(".") ? String(host.dropLast()) : host
    guard unsafe copenssl_set_server_name(handle, name) == 1 else { throw Self.failure() }
    guard isVerified else { return }
    // RFC 9525 §2 and §6.3: no common names, and a wildcard is a whole label.
    unsafe X509_VERIFY_PARAM_set_hostflags(
      parameters,
      UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    guard unsafe X509_VERIFY_PARAM_set1_host(parameters, name, name.utf8.count) == 1 else {
      throw Self.failure()
    }
  }

  // MARK: From the far end

  func receive(_ bytes: ByteBuffer) throws(TLSError) {
    let written = unsafe bytes.withUnsafeReadableBytes { bytes in
      unsafe BIO_write(input, bytes.baseAddress, CInt(clamping: bytes.count))
    }
    guard written == bytes.readableBytes else { throw Self.failure() }
  }

  /// Goes on with the handshake; the result is `nil` once it is complete.
  func handshake() throws(Fault) -> Pause? {
    ERR_clear_error()
    let result = unsafe SSL_do_handshake(handle)
    return result == 1 ? nil : try pause(after: result)
  }

  /// Appends everything that can be decrypted.
  func read(into bytes: inout ByteBuffer) throws(Fault) -> Pause {
    while true {
      ERR_clear_error()
      var result: CInt = 0
      unsafe bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.recordSize) { space in
        unsafe result = SSL_read(handle, space.baseAddress, CInt(clamping: space.count))
        return Int(max(result, 0))
      }
      if result <= 0 { return try pause(after: result) }
    }
  }

  // MARK: To the far end

  func write(_ bytes: ByteBuffer) throws(Fault) {
    guard bytes.readableBytes > 0 else { return }
    ERR_clear_error()
    let result = unsafe bytes.withUnsafeReadableBytes { bytes in
      unsafe SSL_write(handle, bytes.baseAddress, CInt(clamping: bytes.count))
    }
    // Memory takes everything at once.
    guard Int(result) == bytes.readableBytes else { throw fault() }
  }

  /// Says that nothing more is sent (RFC 8446 §6.1), unless the handshake is unfinished.
  func sayGoodbye() {
    ERR_clear_error()
    if unsafe SSL_is_init_finished(handle) == 1 { unsafe SSL_shutdown(handle) }
    ERR_clear_error()
  }

  /// Takes what is to be sent.
  func takeOutput(_ allocator: ByteBufferAllocator) -> ByteBuffer? {
    let count = unsafe BIO_ctrl_pending(output)
    guard count > 0 else { return nil }
    var bytes = allocator.buffer(capacity: count)
    unsafe bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
      Int(max(unsafe BIO_read(output, space.baseAddress, CInt(clamping: count)), 0))
    }
    return bytes
  }

  // MARK: Faults

  /// An error of OpenSSL, and what it thinks of the far end's certificate.
  struct Fault: Error {
    /// As OpenSSL packs library and reason; 0 if it gives none.
    let code: UInt
    let words: String
    /// `X509_V_ERR_…`, 0 if nothing is wrong with it.
    let verification: Int
    let certificate: TLSCertificate?
  }

  /// The certificate that the far end has shown, even if it was refused.
  var peerCertificate: TLSCertificate? {
    if let certificate = unsafe SSL_get0_peer_certificate(handle) {
      return unsafe TLSCertificate(certificate)
    }
    guard let chain = unsafe SSL_get_peer_cert_chain(handle),
      let first = unsafe OPENSSL_sk_value(chain, 0)
    else { return nil }
    return unsafe TLSCertificate(OpaquePointer(first))
  }

  private func pause(after result: CInt) throws(Fault) -> Pause {
    switch unsafe SSL_get_error(handle, result) {
    case SSL_ERROR_WANT_READ: return .needsInput
    case SSL_ERROR_ZERO_RETURN: return .closed
    default: throw fault()
    }
  }

  private func fault() -> Fault {
    let error = Self.lastError()
    return Fault(
      code: error?.code ?? 0, words: error?.words ?? "unknown",
      verification: unsafe SSL_get_verify_result(handle), certificate: peerCertificate)
  }

  private static func failure() -> TLSError {
    .handshakeFailed(reason: lastError()?.words ?? "no memory")
  }

  /// This thread's last error, with its reason for people, such as "wrong version number".
  static func lastError() -> (code: UInt, words: String)? {
    defer { ERR_clear_error() }
    let code = ERR_peek_last_error()
    return unsafe ERR_reason_error_string(code).map { (code, unsafe String(cString: $0)) }
  }

  /// The most that a record contains (RFC 8446 §5.1).
  private static let recordSize = 1 << 14
}
