import NIOCore
import Transports

/// TLS of a server: its certificates and its key.
struct ServerSecrecy: Sendable {
  private let context: TLSContext

  /// Reads the files.
  ///
  /// - Throws: ``SendError/invalid(option:reason:)`` when they cannot be read or do not belong
  ///   together.
  init(_ identity: RTSPServerConfiguration.Identity) throws(SendError) {
    do throws(TLSError) {
      context = try TLSContext(certificates: identity.certificates, key: identity.key)
    } catch {
      switch error {
      case .fileUnusable(identity.certificates):
        throw .invalid(
          option: "--certificate", reason: "\(identity.certificates) is no certificate in PEM")
      case .fileUnusable:
        throw .invalid(option: "--key", reason: "\(identity.key) is no private key in PEM")
      default:
        throw .invalid(option: "--key", reason: "\(identity.key): \(error)")
      }
    }
  }

  func makeLayer() throws -> TLSLayer { try TLSLayer(context) }
}
