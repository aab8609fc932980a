import Foundation
import TestSupport
import Testing

/// A sender whose clock leaps with every picture.
struct LeapingClockTests {
  @Test("a recording of it makes few lines")
  func lines() throws {
    let plan = try Scratch.path("plan")
    // From the first picture on they would be those of a camera with a picture every 15 s.
    let leaps = (30..<240).map { "\($0 * 33)ms jump timestamp 1350000" }
    try leaps.joined(separator: "\n").write(toFile: plan, atomically: true, encoding: .utf8)
    let sender = try RunningProcess(
      Product.rtpSend,
      ["pattern", "--size", "256x144", "--bitrate", "300k", "listen://127.0.0.1:0", "--once"]
        + ["--frames", "240", "--gop", "1", "--plan", plan])
    let address = String(try sender.waitForLine(#/listening on (127\.0\.0\.1:\d+)/#).1)
    let folder = try TemporaryFolder()
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", folder("cam.mkv"), "--timeout", "20"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    let words = receiver.standardError
    let ends = words.matches(of: #/ ends after .*: the sender's clock leapt/#).count
    // On a busy machine some were never seen.
    #expect(ends <= 64, "\(words)")
    #expect(folder.names.count > 64)
  }
}
