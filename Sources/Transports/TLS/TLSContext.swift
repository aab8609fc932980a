internal import COpenSSL
internal import Glibc
internal import NIOCore
internal import NIOPosix

/// What the connections of one side have in common: versions, authorities, certificate and key.
///
/// TLS 1.2 is the oldest version. There is no renegotiation and no resumption.
@safe package final class TLSContext: @unchecked Sendable {
  /// An `SSL_CTX`, which is only read after `init`; that is safe on several threads.
  let handle: OpaquePointer
  /// The SHA-256 of the only certificate that is accepted.
  private let pin: [UInt8]?
  /// Whether the name of the server is compared with its certificate.
  let verifiesNames: Bool

  /// The client's side.
  ///
  /// - Throws: ``TLSError/fileUnusable(path:)``, ``TLSError/noAuthorities`` or
  ///   ``TLSError/keyMismatch``.
  init(_ configuration: TLSConfiguration) throws(TLSError) {
    unsafe handle = try Self.make(TLS_client_method())
    verifiesNames = !configuration.acceptsAnything && configuration.pin == nil
    pin = configuration.pin
    if pin != nil {
      unsafe SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nil)
      unsafe SSL_CTX_set_cert_verify_callback(
        handle, Self.comparePin, Unmanaged.passUnretained(self).toOpaque())
    } else if !configuration.acceptsAnything {
      unsafe SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nil)
      try trust(configuration.authorities)
    }
    if verifiesNames {
      unsafe SSL_CTX_set_security_level(handle, 2)
    } else {
      // Who trusts one certificate, or any, has a camera. Those of every age are in use.
      unsafe SSL_CTX_set_security_level(handle, 1)
      unsafe copenssl_tolerate_old_servers(handle)
    }
    if let path = configuration.clientCertificate {
      try identify(certificates: path, key: configuration.clientKey ?? path)
    }
  }

  /// The server's side, with files in PEM.
  ///
  /// - Throws: ``TLSError/fileUnusable(path:)`` or ``TLSError/keyMismatch``.
  package init(certificates: String, key: String) throws(TLSError) {
    unsafe handle = try Self.make(TLS_server_method())
    pin = nil
    verifiesNames = false
    // Whoever runs a server knows its key. At level 2 one of 1024 bits could not be shown.
    unsafe SSL_CTX_set_security_level(handle, 1)
    try identify(certificates: certificates, key: key)
  }

  deinit { unsafe SSL_CTX_free(handle) }

  static var library: LinkedLibrary {
    let number = UInt(OpenSSL_version_num())
    return LinkedLibrary(
      name: "OpenSSL",
      version: .init(major: number >> 28, minor: number >> 20 & 0xFF, patch: number >> 4 & 0xFF),
      oldest: .init(major: 3, minor: 0, patch: 0),
      need: "is the first that refuses signatures with SHA-1")
  }

  /// Reads the files and the system's authorities off the event loop, because it takes
  /// milliseconds.
  static func make(
    _ configuration: TLSConfiguration, on eventLoop: any EventLoop
  ) -> EventLoopFuture<TLSContext> {
    NIOThreadPool.singleton.runIfActive(eventLoop: eventLoop) { try TLSContext(configuration) }
  }

  private static func make(_ method: OpaquePointer?) throws(TLSError) -> OpaquePointer {
    guard let handle = unsafe SSL_CTX_new(method),
      unsafe copenssl_set_versions(handle, TLS1_2_VERSION, 0) == 1
    else {
      throw .handshakeFailed(reason: TLSSession.lastError()?.words ?? "OpenSSL has no context")
    }
    unsafe copenssl_limit(handle)
    // OpenSSL would ask for the password of a key on the terminal.
    unsafe SSL_CTX_set_default_passwd_cb(handle) { _, _, _, _ in 0 }
    return unsafe handle
  }

  /// Trusts the certificates in a file, which need not be authorities, or those of the system.
  private func trust(_ path: String?) throws(TLSError) {
    if let path {
      guard unsafe SSL_CTX_load_verify_file(handle, path) == 1 else {
        throw .fileUnusable(path: path)
      }
      let store = unsafe SSL_CTX_get_cert_store(handle)
      unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
    } else {
      guard unsafe SSL_CTX_set_default_verify_paths(handle) == 1, Self.systemHasAuthorities else {
        throw .noAuthorities
      }
    }
  }

  /// Whether the file or a folder exists where OpenSSL looks.
  private static var systemHasAuthorities: Bool {
    func path(_ variable: UnsafePointer<CChar>, _ usual: UnsafePointer<CChar>) -> String {
      unsafe String(cString: getenv(variable).map { unsafe UnsafePointer($0) } ?? usual)
    }
    let file = unsafe path(X509_get_default_cert_file_env(), X509_get_default_cert_file())
    let folders = unsafe path(X509_get_default_cert_dir_env(), X509_get_default_cert_dir())
    return unsafe access(file, R_OK) == 0
      || folders.split(separator: ":").contains { unsafe access(String($0), R_OK | X_OK) == 0 }
  }

  private func identify(certificates: String, key: String) throws(TLSError) {
    guard unsafe SSL_CTX_use_certificate_chain_file(handle, certificates) == 1 else {
      throw .fileUnusable(path: certificates)
    }
    ERR_clear_error()
    guard unsafe SSL_CTX_use_PrivateKey_file(handle, key, SSL_FILETYPE_PEM) == 1 else {
      let error = ERR_peek_last_error()
      let reason = ERR_GET_REASON(error)
      let isOther =
        ERR_GET_LIB(error) == ERR_LIB_X509
        && (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH)
      throw isOther ? .keyMismatch : .fileUnusable(path: key)
    }
    guard unsafe SSL_CTX_check_private_key(handle) == 1 else { throw .keyMismatch }
  }

  /// Accepts the pinned certificate, and no other, whatever else it says; gets the context, which
  /// every session keeps.
  private static let comparePin: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> CInt =
    { verification, context in
      guard let certificate = unsafe X509_STORE_CTX_get0_cert(verification),
        let context = unsafe context,
        let fingerprint = unsafe TLSCertificate.fingerprint(of: certificate),
        unsafe Unmanaged<TLSContext>.fromOpaque(context).takeUnretainedValue().pin == fingerprint
      else {
        unsafe X509_STORE_CTX_set_error(verification, X509_V_ERR_APPLICATION_VERIFICATION)
        return 0
      }
      return 1
    }
}
