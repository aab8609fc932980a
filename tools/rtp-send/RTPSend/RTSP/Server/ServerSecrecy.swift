import NIOCore
import NIOSSL

/// TLS of a server: its certificates and its key.
struct ServerSecrecy: Sendable {
  private let context: NIOSSLContext

  /// Reads the files.
  ///
  /// - Throws: ``SendError/invalid(option:reason:)`` when they cannot be read or do not belong
  ///   together.
  init(_ identity: RTSPServerConfiguration.Identity) throws(SendError) {
    let certificates: [NIOSSLCertificate]
    do {
      certificates = try NIOSSLCertificate.fromPEMFile(identity.certificates)
    } catch {
      throw .invalid(
        option: "--certificate", reason: "\(identity.certificates) is no certificate in PEM")
    }
    let key: NIOSSLPrivateKey
    do {
      key = try NIOSSLPrivateKey(file: identity.key, format: .pem)
    } catch {
      throw .invalid(option: "--key", reason: "\(identity.key) is no private key in PEM")
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: certificates.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    do {
      context = try NIOSSLContext(configuration: configuration)
    } catch {
      throw .invalid(option: "--key", reason: "\(identity.key) does not belong to the certificate")
    }
  }

  func makeHandler() -> NIOSSLServerHandler { NIOSSLServerHandler(context: context) }
}
