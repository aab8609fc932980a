import Foundation
import RTPWire
import TestSupport
import Testing

@testable import Decode

@Suite("What a decoder's process does while it does not answer")
struct BoxWorkTests {
  /// `SCHED_IDLE`, which Swift does not import.
  private static let idlePolicy: Int32 = 5
  private static let loop = ["sh", "-c", "while :; do :; done"]

  /// How much of `wait` counts for `process`, which has it now.
  private func share(of wait: Duration, in process: Int32) throws -> Duration {
    var work = BoxWork()
    #expect(work.share(of: .milliseconds(1), in: process) == .milliseconds(1))
    // As long as the wait is said to be, or longer on a busy machine.
    Thread.sleep(forTimeInterval: wait / .seconds(1))
    return work.share(of: wait, in: process)
  }

  @Test("one that sleeps, stands still or is gone has all of its time")
  func idle() throws {
    let sleeper = try RunningProcess("sleep", ["60"])
    let number = sleeper.processIdentifier
    try waitUntil("it sleeps") { !BoxWork.isHeldUp(number) }
    #expect(try share(of: .milliseconds(200), in: number) == .milliseconds(200))
    let stopped = try RunningProcess("env", Self.loop)
    stopped.send(signal: SIGSTOP)
    try waitUntil("it stands still") { !BoxWork.isHeldUp(stopped.processIdentifier) }
    #expect(
      try share(of: .milliseconds(200), in: stopped.processIdentifier) == .milliseconds(200))
    sleeper.send(signal: SIGKILL)
    try sleeper.waitForExit()
    #expect(try share(of: .milliseconds(200), in: number) == .milliseconds(200))
  }

  @Test("one that gets no processor has no time")
  func starved() throws {
    let processors = try RunningProcess("sh", ["-c", "taskset -cp $$"])
    try processors.waitForExit()
    let list = String(decoding: processors.standardOutput, as: UTF8.self)
    let processor = String(try #require(list.firstMatch(of: #/: (\d+)/#)).1)
    let busy = try RunningProcess("taskset", ["-c", processor] + Self.loop)
    // Both run on one processor, and the other one hardly ever.
    let starved = try RunningProcess(
      "taskset", ["-c", processor, "chrt", "--idle", "0"] + Self.loop)
    try waitUntil("it has begun") {
      sched_getscheduler(starved.processIdentifier) == Self.idlePolicy
        && BoxWork.isHeldUp(starved.processIdentifier)
    }
    let wait = Duration.milliseconds(500)
    #expect(try share(of: wait, in: starved.processIdentifier) < wait / 2)
    for process in [busy, starved] { process.send(signal: SIGKILL) }
  }
}
