import Foundation
import TestSupport

/// `rtp-send proxy` on loopback, in front of a peer that has no impairments itself.
struct ImpairingProxy {
  let process: RunningProcess
  let port: UInt16

  /// Starts a proxy with a plan, of which every client sees the same with the same seed.
  init(
    to target: UInt16, scheme: String = "udp", plan: String = "", seed: UInt64 = 1,
    options: [String] = []
  ) throws {
    let path = try Scratch.path("plan")
    try plan.write(toFile: path, atomically: true, encoding: .utf8)
    process = try RunningProcess(
      Product.rtpSend,
      ["proxy", "\(scheme)://127.0.0.1:0", "\(scheme)://127.0.0.1:\(target)"]
        + ["--plan", path, "--seed", "\(seed)"] + options)
    port = UInt16(try process.waitForLine(#/listening on 127\.0\.0\.1:(\d+)/#).1) ?? 0
  }

  /// Ends it; returns its exit status.
  func stop() throws -> Int32 {
    process.send(signal: SIGTERM)
    return try process.waitForExit()
  }
}
