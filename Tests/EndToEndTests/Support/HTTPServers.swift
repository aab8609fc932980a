import Foundation
import TestSupport

/// `rtp-send`, serving a clip to every client that asks for it.
struct SendingServer {
  let process: RunningProcess
  let port: Int

  init(_ source: String, _ options: [String] = []) throws {
    process = try RunningProcess(
      Product.rtpSend, [source, "http://127.0.0.1:0"] + options)
    port = Int(try process.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#).1) ?? 0
  }

  var url: String { "http://127.0.0.1:\(port)/live" }

  /// Saves the stream with `curl`: a recording, of which this is the path.
  func save() throws -> String {
    let path = try Scratch.path("rtp4")
    return try withExtendedLifetime(process) {
      _ = try RunningProcess.output(of: "curl", ["-sS", "-o", path, url])
      return path
    }
  }
}

/// nginx in front of a server, in the usual configurations.
struct NginxProxy {
  let process: RunningProcess
  let port: UInt16

  /// Forwards to `server`; `protocols` are the listener's, beside HTTP/1.1, and `settings` go into
  /// the location.
  init(for server: String, protocols: String = "", settings: [String]) throws {
    let folder = try Scratch.path("nginx")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    port = try FreePort.tcp()
    let certificates = try Certificates.shared.get()
    let tls =
      protocols.isEmpty
      ? ""
      : "ssl_certificate \(certificates.good); ssl_certificate_key \(certificates.key);"
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: "\n")
    let configuration = """
      daemon off;
      \(geteuid() == 0 ? "user root;" : "")
      worker_processes 1;
      pid \(folder)/pid;
      error_log stderr notice;
      events {}
      http {
        access_log off;
        \(temporary)
        server {
          listen 127.0.0.1:\(port) \(protocols);
          \(tls)
          location / {
            proxy_pass \(server);
            proxy_http_version 1.1;
            \(settings.joined(separator: "\n"))
          }
          location /gone { return 404; }
          location /busy { add_header Retry-After 20 always; return 503; }
          location = /page { default_type text/html; return 200 "<!DOCTYPE html>"; }
          location /moved { return 302 /live; }
        }
      }
      """
    try configuration.write(toFile: "\(folder)/conf", atomically: true, encoding: .utf8)
    process = try RunningProcess(
      "nginx", ["-p", folder, "-c", "\(folder)/conf", "-e", "stderr"])
    try FreePort.waitForListener(on: port, "nginx")
  }

  func url(_ path: String = "live", scheme: String = "http", login: String = "") -> String {
    "\(scheme)://\(login)127.0.0.1:\(port)/\(path)"
  }
}
