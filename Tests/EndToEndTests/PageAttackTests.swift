import Foundation
import TestSupport
import Testing

/// The live page under attack, while a recording is made.
struct PageAttackTests {
  @Test("nothing is told, nothing grows, and the recording is whole") func attack() throws {
    let server = try RTSPSendTests.Server([("pattern", "a")], RTSPSendTests.small)
    let recording = try Scratch.path("mkv")
    let receiver = try RunningProcess(
      Product.rtpRecv, [server.url("a"), "-o", recording, "--serve", "127.0.0.1:0"])
    defer { receiver.send(signal: SIGKILL) }
    let port = try receiver.waitForLine(#/the page is at http:\/\/127\.0\.0\.1:(\d+)/#).1
    try waitUntil("there is a recording") { Scratch.size(of: recording) > 10_000 }
    let script = try #require(
      Bundle.module.path(forResource: "hostile-browser", ofType: "py", inDirectory: "Servers"))
    let attacker = try RunningProcess("python3", [script, String(port)])
    #expect(try attacker.waitForExit(within: 120) == 0, "\(attacker.standardError)")
    let lines = String(decoding: attacker.standardOutput, as: UTF8.self).split(separator: "\n")
    #expect(lines.count > 20)
    for line in lines { #expect(line.hasPrefix("ok "), "\(line)") }

    receiver.send(signal: SIGINT)
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(receiver.standardError.contains("nothing lost"), "\(receiver.standardError)")
  }
}
