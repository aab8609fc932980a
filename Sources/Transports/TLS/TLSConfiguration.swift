/// How the far end of a TLS connection is verified, and what it is shown.
public struct TLSConfiguration: Sendable, Hashable {
  /// A file of certificates in PEM to trust instead of the system's.
  public var authorities: String?
  /// The SHA-256 of the server's certificate in DER, which then alone decides.
  public var pin: [UInt8]?
  /// Files in PEM.
  public var clientCertificate: String?
  public var clientKey: String?
  /// Whether anything is accepted, whoever sent it.
  public var acceptsAnything = false

  public init() {}
}
