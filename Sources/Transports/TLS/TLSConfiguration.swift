/// How the far end of a TLS connection is verified, and which certificate it gets from us.
public struct TLSConfiguration: TransportOption, Hashable {
  /// A PEM file of certificates to trust instead of the system's.
  public var authorities: String?
  /// The SHA-256 of the server's certificate in DER; when it is given, nothing else is checked.
  public var pin: [UInt8]?
  /// PEM files.
  public var clientCertificate: String?
  public var clientKey: String?
  /// Whether any certificate is accepted.
  public var acceptsAnything = false

  public init() {}

  public var files: [String] {
    [authorities, clientCertificate, clientKey].compactMap(\.self)
  }

  public var warnings: [String] {
    acceptsAnything ? ["--tls-insecure: whoever answers is trusted"] : []
  }

  /// What is said where nothing of the server is verified.
  public static let insecurity = "the server's certificate is not verified (--tls-insecure)"

  /// That nothing of the server is verified; `nil` if something is.
  var remark: TransportDiagnostic? {
    acceptsAnything && pin == nil ? TransportDiagnostic(Self.insecurity) : nil
  }
}

extension TransportOptions {
  /// The TLS of all transports whose own options have none but the defaults.
  public var tls: TLSConfiguration {
    get { self[TLSConfiguration.self] }
    set { self[TLSConfiguration.self] = newValue }
  }
}
