import Foundation
import Glibc

/// A server of NATS with JetStream on loopback, which can be killed and started again.
public final class NATSServer: @unchecked Sendable {
  private let folder: TemporaryFolder
  private let settings: String
  private let lock = NSLock()
  private var process: RunningProcess?
  /// The same after each start.
  public private(set) var port: UInt16 = 0

  /// Starts one with `settings` beside those of this test, in the server's own language.
  public init(_ settings: String = "", jetStream: Bool = true) throws {
    folder = try TemporaryFolder()
    self.settings = settings
    try start(jetStream: jetStream)
  }

  deinit { process?.send(signal: SIGKILL) }

  /// Where a camera is in it.
  public func url(_ name: String, _ query: String = "") -> String {
    let scheme = settings.contains("tls {") ? "nats+tls" : "nats"
    return "\(scheme)://127.0.0.1:\(port)/\(name)\(query)"
  }

  /// Starts it, again with what it has kept, on the same port.
  public func start(jetStream: Bool = true) throws {
    let configuration = folder("nats.conf")
    try """
    host: 127.0.0.1
    port: \(port == 0 ? -1 : Int(port))
    ports_file_dir: "\(folder.path)"
    \(settings)
    \(jetStream ? "jetstream { store_dir: \"\(folder("store"))\" }" : "")
    """.write(toFile: configuration, atomically: true, encoding: .utf8)
    // Debian has it where only root looks for programs.
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let process = try RunningProcess(
      "nats-server", ["-c", configuration], environment: ["PATH": path + ":/usr/sbin"])
    _ = try process.waitForLine(/Server is ready/)
    lock.withLock { self.process = process }
    guard port == 0 else { return }
    try waitUntil("the file of ports") {
      let name = folder.names.first { $0.hasSuffix(".ports") }
      guard let name, let text = try? String(contentsOf: folder.url(name), encoding: .utf8),
        let match = text.firstMatch(of: /(?:nats|tls):\/\/127\.0\.0\.1:(\d+)/),
        let number = UInt16(match.1)
      else { return false }
      port = number
      return true
    }
  }

  public func send(signal: Int32) { lock.withLock { process }?.send(signal: signal) }

  /// Kills it, as a crash does, and waits until it is gone.
  public func kill() throws {
    let process = lock.withLock { self.process }
    process?.send(signal: SIGKILL)
    try process?.waitForExit()
  }

  /// What it has kept of a camera.
  public func messages(of camera: String) throws -> Int {
    let peer = try NATSPeer(port: port)
    let answer = try peer.request("$JS.API.STREAM.INFO.rtp_\(camera)", "")
    let text = String(decoding: answer, as: UTF8.self)
    return text.firstMatch(of: /"messages":(\d+)/).flatMap { Int($0.1) } ?? 0
  }
}

/// A client of NATS that speaks the protocol by itself, and says whatever a test wants.
public final class NATSPeer: @unchecked Sendable {
  public struct Refused: Error, CustomStringConvertible {
    public let description: String
  }

  private let socket: Int32
  private var unread: [UInt8] = []
  private var requests = 0

  public init(port: UInt16) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var patience = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(
      socket, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw Refused(description: "connect: \(errno)") }
    _ = try line()
    try write(
      "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true}\r\n")
  }

  deinit { close(socket) }

  /// Publishes without asking whether it was kept; `status` is what servers say to clients.
  public func publish(
    _ subject: String, _ payload: [UInt8], headers: [String: String] = [:], reply: String? = nil,
    status: String = ""
  ) throws {
    let reply = reply.map { "\($0) " } ?? ""
    guard !headers.isEmpty || !status.isEmpty else {
      return try write(
        Array("PUB \(subject) \(reply)\(payload.count)\r\n".utf8) + payload + [13, 10])
    }
    let head =
      "NATS/1.0\(status.isEmpty ? "" : " " + status)\r\n"
      + headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }
      .joined() + "\r\n"
    let sizes = "\(head.utf8.count) \(head.utf8.count + payload.count)"
    try write(
      Array("HPUB \(subject) \(reply)\(sizes)\r\n".utf8) + Array(head.utf8) + payload + [13, 10])
  }

  /// Sends a request, and returns the answer.
  public func request(
    _ subject: String, _ payload: String, headers: [String: String] = [:]
  ) throws -> [UInt8] {
    try request(subject, Array(payload.utf8), headers: headers)
  }

  @discardableResult
  public func request(
    _ subject: String, _ payload: [UInt8], headers: [String: String] = [:]
  ) throws -> [UInt8] {
    requests += 1
    let inbox = "_INBOX.\(requests).\(UInt32.random(in: 0 ... .max))"
    try write("SUB \(inbox) \(requests)\r\nUNSUB \(requests) 1\r\n")
    try publish(subject, payload, headers: headers, reply: inbox)
    while true {
      let line = try line()
      let words = line.split(separator: " ")
      switch words.first {
      case "PING": try write("PONG\r\n")
      case "MSG", "HMSG":
        let count = Int(words.last ?? "") ?? 0
        let bytes = try bytes(count + 2).dropLast(2)
        guard words.count > 2, words[2] == "\(requests)" else { continue }
        let head = words[0] == "HMSG" ? Int(words[words.count - 2]) ?? 0 : 0
        return Array(bytes.dropFirst(head))
      case "-ERR": throw Refused(description: String(line))
      default: break
      }
    }
  }

  /// Waits until somebody else publishes to `subject`.
  public func hear(_ subject: String) throws {
    try write("SUB \(subject) heard\r\n")
    _ = try next()
  }

  /// What is published to `subject` is taken with ``next()`` from here on.
  public func listen(to subject: String) throws {
    // Its name for the server has to be another for each.
    try write("SUB \(subject) \(subject)\r\nPING\r\n")
    // From here on the server has it.
    while try line() != "PONG" {}
  }

  /// Waits for the next message to where this listens; `reply` is empty where nobody waits for an
  /// answer.
  public func next() throws -> (subject: String, payload: String, reply: String) {
    while true {
      let words = try line().split(separator: " ")
      switch words.first {
      case "PING": try write("PONG\r\n")
      case "MSG", "HMSG":
        let bytes = try bytes((Int(words.last ?? "") ?? 0) + 2).dropLast(2)
        let sizes = words[0] == "HMSG" ? 2 : 1
        let head = sizes == 2 ? Int(words[words.count - 2]) ?? 0 : 0
        return (
          String(words[1]), String(decoding: bytes.dropFirst(head), as: UTF8.self),
          words.count > 3 + sizes ? String(words[3]) : ""
        )
      default: break
      }
    }
  }

  /// Answers all requests to `subject` with `payload`, until the connection ends, in the place of a
  /// server that does not.
  public func answer(_ subject: String, with payload: String) throws {
    try listen(to: subject)
    Thread.detachNewThread { [self] in
      while let request = try? next() {
        try? publish(request.reply, Array(payload.utf8))
      }
    }
  }

  private func line() throws -> String {
    while true {
      if let end = unread.firstIndex(of: 10) {
        defer { unread.removeFirst(end + 1) }
        return String(decoding: unread[..<end].filter { $0 != 13 }, as: UTF8.self)
      }
      try read()
    }
  }

  private func bytes(_ count: Int) throws -> [UInt8] {
    while unread.count < count { try read() }
    defer { unread.removeFirst(count) }
    return Array(unread[..<count])
  }

  private func read() throws {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(socket, &buffer, buffer.count, 0)
    guard count > 0 else { throw Refused(description: "the server is gone: \(errno)") }
    unread += buffer[..<count]
  }

  private func write(_ text: String) throws { try write(Array(text.utf8)) }

  private func write(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Refused(description: "the server takes nothing: \(errno)") }
      rest = rest.dropFirst(count)
    }
  }
}
