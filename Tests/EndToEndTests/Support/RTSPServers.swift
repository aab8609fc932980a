import Foundation
import Glibc
import TestSupport

/// GStreamer's RTSP server, serving a clip or a tone to each client from its beginning.
struct GStreamerServer {
  static let user = "viewer"
  static let password = "canary-4711"

  let process: RunningProcess
  let address: String
  let port: UInt16

  /// Starts a server with the `options` of its script.
  init(_ clip: Clip, _ options: [String] = [], on machine: NeighbouringMachine? = nil) throws {
    try self.init([clip.container, clip.codec.rawValue], options, on: machine)
  }

  /// Starts a server of a tone of 440 Hz that these `elements` code and pack.
  init(tone elements: String) throws { try self.init(["-", elements], [], on: nil) }

  private init(
    _ media: [String], _ options: [String], on machine: NeighbouringMachine?
  ) throws {
    address = machine?.address ?? "127.0.0.1"
    let script = Bundle.module.resourceURL?
      .appendingPathComponent("Servers/gstreamer-rtsp-server.py").path
    let command =
      ["/usr/bin/python3", script ?? ""] + media
      + ["--address", address, "--user", Self.user, "--password", Self.password] + options
    process = try RunningProcess("env", (machine?.prefix ?? []) + command)
    port = UInt16(try process.waitForLine(#/ready (\d+)/#).1) ?? 0
  }

  /// The URL of the stream, with `user` before the host.
  func url(scheme: String = "rtsp", user: String = "") -> String {
    "\(scheme)://\(user)\(address):\(port)/stream"
  }
}

/// VLC, which plays a clip once, slowly, whether or not anybody watches, and ends.
struct VLCServer {
  let process: RunningProcess
  let url: String

  /// Starts to play; returns when the server takes connections.
  init(_ clip: Clip, group: String? = nil) throws {
    // VLC needs a port, so it gets one that was free a moment ago.
    let port = try FreePort.tcp()
    var output = "rtp{sdp=rtsp://127.0.0.1:\(port)/stream"
    if let group { output += ",dst=\(group),port=\(port < 60_000 ? 60_000 : 50_000)" }
    url = "rtsp://127.0.0.1:\(port)/stream"
    var command = ["cvlc", "--quiet", clip.slowContainer, "--sout", "#\(output)}", "vlc://quit"]
    if geteuid() == 0 {
      // VLC does not run as root. It would keep settings in its home, which it does not need.
      command = ["runuser", "-u", "nobody", "--", "env", "HOME=/nonexistent"] + command
    }
    process = try RunningProcess("env", command)
    try FreePort.waitForListener(on: port, "VLC")
  }
}

/// A certificate authority and certificates that it issued, made by OpenSSL.
struct Certificates {
  let authority: String
  let key: String
  /// For 127.0.0.1, issued by the authority.
  let good: String
  /// For another address, and for 127.0.0.1 but until yesterday.
  let otherHost: String
  let expired: String

  static let shared = Result { try Certificates() }

  private init() throws {
    let folder = try Scratch.folder.appendingPathComponent("certificates")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    func openssl(_ arguments: [String]) throws {
      _ = try RunningProcess.output(of: "openssl", arguments)
    }
    let (authority, key, authorityKey) = (path("authority.pem"), path("key.pem"), path("ca.key"))
    try openssl(
      ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", authorityKey]
        + ["-out", authority, "-days", "2", "-subj", "/CN=Tests"]
        + ["-addext", "basicConstraints=critical,CA:TRUE"])
    try openssl(["genrsa", "-out", key, "2048"])
    func issue(_ name: String, for address: String, days: Int) throws -> String {
      let (request, extensions, certificate) = (
        path("\(name).csr"), path(name), path("\(name).pem")
      )
      try "subjectAltName=IP:\(address)".write(
        toFile: extensions, atomically: true, encoding: .utf8)
      try openssl(["req", "-new", "-key", key, "-out", request, "-subj", "/CN=\(name)"])
      try openssl(
        ["x509", "-req", "-in", request, "-CA", authority, "-CAkey", authorityKey]
          + ["-set_serial", "\(days + 10)", "-days", "\(days)", "-extfile", extensions]
          + ["-out", certificate])
      return certificate
    }
    (self.authority, self.key) = (authority, key)
    good = try issue("good", for: "127.0.0.1", days: 1)
    otherHost = try issue("other-host", for: "192.0.2.1", days: 2)
    expired = try issue("expired", for: "127.0.0.1", days: -1)
  }

  /// The SHA-256 of a certificate in DER, as `openssl x509 -fingerprint` prints it.
  static func fingerprint(of path: String) throws -> String {
    let fingerprint = try RunningProcess.output(
      of: "openssl", ["x509", "-in", path, "-noout", "-fingerprint", "-sha256"])
    let text = String(decoding: fingerprint, as: UTF8.self)
    return String(
      text.trimmingCharacters(in: .whitespacesAndNewlines).drop { $0 != "=" }.dropFirst())
  }
}
