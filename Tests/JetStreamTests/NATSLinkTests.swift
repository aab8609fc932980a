import Foundation
import TestSupport
import Testing
import Transports

@testable import JetStream

/// A connection to a real server.
struct NATSLinkTests {
  /// libnats before 3.8 leaves one signature in 256 out.
  @Test("a login with a key succeeds, whatever its signatures begin with") func key() throws {
    let accounts = try NATSAccounts()
    let server = try NATSServer(accounts.settings + "\nauthorization { timeout: 30 }")
    let folder = try TemporaryFolder()
    var login = try NATSLogin()
    login.credentialsFile = folder("creds")
    try Data(accounts.credentials.utf8).write(to: folder.url("creds"))
    for _ in 0..<1000 { _ = try server.link(as: login) }
  }
}
