import Foundation
import TestSupport
import Testing

/// How a server of NATS and its clients make sure of each other.
@Suite(.serialized)
struct NATSLoginTests {
  /// What a server may want.
  enum Login: CaseIterable {
    case password, token, credentialsFile, nothingOverTLS, certificate
  }

  /// The server gives a client two seconds to log in, which a busy machine may not have.
  private static let patience = "timeout: 30"

  /// A server that wants `login`, and what a client that has it finds in its environment.
  private static func server(
    wanting login: Login
  ) throws -> (server: NATSServer, environment: [String: String]) {
    func secure(_ more: String) throws -> String {
      let certificates = try Certificates.shared.get()
      return
        "tls { cert_file: \"\(certificates.good)\", key_file: \"\(certificates.key)\", "
        + "\(patience) \(more) }"
    }
    switch login {
    case .password:
      let environment = ["NATS_USER": "me", "NATS_PASSWORD": "right"]
      return (
        try NATSServer("authorization { user: me, password: right, \(patience) }"), environment
      )
    case .token:
      return (
        try NATSServer("authorization { token: right, \(patience) }"), ["NATS_TOKEN": "right"]
      )
    case .credentialsFile:
      let accounts = try NATSAccounts()
      let file = try Scratch.path("creds")
      #expect(
        FileManager.default.createFile(
          atPath: file, contents: Data(accounts.credentials.utf8),
          attributes: [.posixPermissions: 0o600]))
      return (
        try NATSServer(accounts.settings + "\nauthorization { \(patience) }"), ["NATS_CREDS": file]
      )
    case .nothingOverTLS:
      let authority = try Certificates.shared.get().authority
      return (try NATSServer(try secure("")), ["NATS_CA": authority])
    case .certificate:
      let certificates = try Certificates.shared.get()
      let settings = try secure(", ca_file: \"\(certificates.authority)\", verify: true")
      let environment = [
        "NATS_CA": certificates.authority, "NATS_CERT": certificates.good,
        "NATS_KEY": certificates.key,
      ]
      return (try NATSServer(settings), environment)
    }
  }

  @Test("whatever login it wants, who has it publishes and receives", arguments: Login.allCases)
  func right(login: Login) throws {
    let (server, environment) = try Self.server(wanting: login)
    let (reference, publisher) = try NATSTests.publish(
      .h264, 30, to: server.url("door"), environment: environment)
    let copy = try Scratch.path("h264")
    let reader = try RunningProcess(
      Product.rtpRecv, [server.url("door", "?since=10m"), "-o", copy], environment: environment)
    #expect(
      try reader.waitForExit() == 0, "\(publisher.standardError) \(reader.standardError)")
    #expect(try NATSTests.bytes(copy) == NATSTests.bytes(reference))
  }

  @Test("whatever login it wants, nobody else gets anything", arguments: Login.allCases)
  func missing(login: Login) throws {
    let (server, environment) = try Self.server(wanting: login)
    // Of a certificate, the half that makes sure of the server stays.
    let kept = login == .certificate ? environment.filter { $0.key == "NATS_CA" } : [:]
    let reader = try RunningProcess(Product.rtpRecv, [server.url("door")], environment: kept)
    let status = try reader.waitForExit()
    switch login {
    case .password, .token, .credentialsFile:
      #expect(status == 3)
      #expect(reader.standardError.contains("login"), "\(reader.standardError)")
    case .nothingOverTLS:
      #expect(status == 10)
      #expect(reader.standardError.contains("NATS_CA"), "\(reader.standardError)")
    case .certificate:
      #expect(status != 0)
      #expect(!reader.standardError.isEmpty)
    }
  }

  @Test("a server whose certificate is another's, or too old, gets no login", arguments: [0, 1])
  func untrusted(which: Int) throws {
    let certificates = try Certificates.shared.get()
    let chain = [certificates.otherHost, certificates.expired][which]
    let server = try NATSServer(
      "authorization { token: right, \(Self.patience) }\n"
        + "tls { cert_file: \"\(chain)\", key_file: \"\(certificates.key)\", \(Self.patience) }")
    let reader = try RunningProcess(
      Product.rtpRecv, [server.url("door")],
      environment: ["NATS_CA": certificates.authority, "NATS_TOKEN": "right"])
    #expect(try reader.waitForExit() == 10, "\(reader.standardError)")
  }

  /// A server that says who else belongs to its cluster, and goes away.
  private static func herald(
    of member: NATSServer, isSecure: Bool
  ) throws -> (process: RunningProcess, port: String) {
    let words =
      "{\"server_id\":\"herald\",\"version\":\"2.9.10\",\"proto\":1,\"headers\":true,"
      + "\"max_payload\":1048576,\"tls_required\":\(isSecure),"
      + "\"connect_urls\":[\"127.0.0.1:\(member.port)\"]}"
    let process = try RunningProcess(
      "python3",
      [
        "-c",
        """
        import socket, sys
        listener = socket.create_server(("127.0.0.1", 0))
        print("ready", listener.getsockname()[1], flush=True)
        while True:
            with listener.accept()[0] as client:
                client.sendall(f"INFO {sys.argv[1]}\\r\\n".encode())
                client.shutdown(socket.SHUT_WR)
                while client.recv(4096):
                    pass
        """, words,
      ])
    return (process, String(try process.waitForLine(#/ready (\d+)/#).1))
  }

  @Test(
    "whom a server says to be of its cluster gets the login, in TLS with its certificate alone",
    arguments: [
      ("nats://127.0.0.1", 0, 12), ("nats+tls://127.0.0.1", 0, 12), ("nats+tls://127.0.0.1", 1, 10),
      // Its certificate is for where it is, and not for who was named.
      ("nats+tls://localhost", 0, 10),
    ])
  func cluster(named: String, which: Int, status: Int32) throws {
    let certificates = try Certificates.shared.get()
    let chain = [certificates.good, certificates.otherHost][which]
    let isSecure = named.hasPrefix("nats+tls:")
    let secure =
      "tls { cert_file: \"\(chain)\", key_file: \"\(certificates.key)\", \(Self.patience) }"
    let member = try NATSServer(
      "authorization { token: right, \(Self.patience) }\n" + (isSecure ? secure : ""))
    let herald = try Self.herald(of: member, isSecure: isSecure)
    defer { herald.process.send(signal: SIGTERM) }
    let reader = try RunningProcess(
      Product.rtpRecv, ["\(named):\(herald.port)/door"],
      environment: ["NATS_CA": certificates.authority, "NATS_TOKEN": "right"])
    #expect(try reader.waitForExit() == status, "\(reader.standardError)")
    // Only who is logged in learns that.
    #expect(reader.standardError.contains("nobody has published") == (status == 12))
  }

  @Test("a wrong password is said, and is not repeated") func password() throws {
    let server = try NATSServer("authorization { user: me, password: right, \(Self.patience) }")
    let wrong = ["NATS_USER": "me", "NATS_PASSWORD": "canary"]
    let (reference, publisher) = try NATSTests.publishLive(
      .h264, 60, to: server.url("door"), environment: wrong)
    #expect(publisher.standardError.contains("refuses the login"), "\(publisher.standardError)")
    #expect(!publisher.standardError.contains("canary"))
    #expect(try FFmpeg.frameHashes(of: reference).count == 60)
    let reader = try RunningProcess(Product.rtpRecv, [server.url("door")], environment: wrong)
    #expect(try reader.waitForExit() == 3)
    #expect(!reader.standardError.contains("canary"))
    let file = try Scratch.path("password")
    let manager = FileManager.default
    #expect(
      manager.createFile(
        atPath: file, contents: Data("right\n".utf8), attributes: [.posixPermissions: 0o640]))
    let right = ["NATS_USER": "me", "NATS_PASSWORD_FILE": file]
    let exposed = try RunningProcess(Product.rtpRecv, [server.url("door")], environment: right)
    #expect(try exposed.waitForExit() == 2)
    #expect(exposed.standardError.contains("chmod 600 \(file)"), "\(exposed.standardError)")
    try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    let (_, second) = try NATSTests.publish(.h264, 60, to: server.url("door"), environment: right)
    #expect(!second.standardError.contains("login"), "\(second.standardError)")
    let third = try RunningProcess(
      Product.rtpRecv, [server.url("door", "?since=5m")], environment: right)
    #expect(try third.waitForExit() == 0, "\(third.standardError)")
  }

  @Test(
    "nobody finds a secret in the environment, or in a core file",
    arguments: ["NATS_PASSWORD", "NATS_TOKEN"])
  func environment(name: String) throws {
    let server = try NATSServer()
    let reader = try RunningProcess(
      Product.rtpRecv, [server.url("door"), "--reconnect"],
      environment: ["NATS_USER": "me", name: "canary"])
    _ = try reader.waitForLine(#/nobody has published/#)
    let path = "/proc/\(reader.processIdentifier)"
    #expect(
      String(decoding: try NATSTests.bytes(path + "/environ"), as: UTF8.self).contains("NATS_USER"))
    #expect(
      !String(decoding: try NATSTests.bytes(path + "/environ"), as: UTF8.self).contains("canary"))
    let limits = String(decoding: try NATSTests.bytes(path + "/limits"), as: UTF8.self)
    #expect(limits.contains(#/Max core file size\s+0\s+0/#))
    reader.send(signal: SIGINT)
    _ = try reader.waitForExit()
    #expect(!reader.standardError.contains("canary"))
  }

  @Test("files of keys that others can read are refused", arguments: ["NATS_CREDS", "NATS_KEY"])
  func exposedKeys(name: String) throws {
    let file = try Scratch.path("key")
    #expect(
      FileManager.default.createFile(
        atPath: file, contents: Data("canary".utf8), attributes: [.posixPermissions: 0o644]))
    let reader = try RunningProcess(
      Product.rtpRecv, ["nats://127.0.0.1:1/door"],
      environment: [name: file, "NATS_CERT": file])
    #expect(try reader.waitForExit() == 2)
    #expect(reader.standardError.contains("chmod 600 \(file)"), "\(reader.standardError)")
  }
}
