import Foundation
import TestSupport

/// The services of a camera that speaks ONVIF, in front of an RTSP server.
struct ONVIFCamera {
  let process: RunningProcess
  let address: String
  let port: Int

  /// One with the `options` of its script, whose stream is said to be at `stream`.
  init(_ stream: String, _ options: [String] = [], on machine: NeighbouringMachine? = nil) throws {
    address = machine?.address ?? "127.0.0.1"
    let command =
      ["/usr/bin/python3", Self.script("onvif-camera.py"), stream, "--address", address]
      + ["--user", GStreamerServer.user, "--password", GStreamerServer.password] + options
    process = try RunningProcess("env", (machine?.prefix ?? []) + command)
    port = Int(try process.waitForLine(#/ready (\d+)/#).1) ?? 0
  }

  /// The one of ipycam, whose stream is on `port`.
  init(ipycamWithStreamOn port: UInt16) throws {
    address = "127.0.0.1"
    process = try RunningProcess(
      Self.python,
      [Self.script("ipycam-camera.py"), "\(port)", "--user", GStreamerServer.user]
        + ["--password", GStreamerServer.password])
    self.port = Int(try process.waitForLine(#/ready (\d+)/#).1) ?? 0
  }

  /// The URL to receive it by, with `user` before the host.
  func url(scheme: String = "onvif", user: String = "", profile: String = "") -> String {
    "\(scheme)://\(user)\(address):\(port)\(profile)"
  }

  private static func script(_ name: String) -> String {
    Bundle.module.resourceURL?.appendingPathComponent("Servers/\(name)").path ?? ""
  }

  /// The Python that `tools/setup test` gives ipycam.
  private static let python = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent(".build/python/bin/python").path
}
