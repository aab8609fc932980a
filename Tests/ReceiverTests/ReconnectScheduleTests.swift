import Testing
import Transports

@testable import Receiver

@Suite struct ReconnectScheduleTests {
  @Test("waits double from half a second to half a minute")
  func doubling() {
    var schedule = ReconnectSchedule()
    let waits = (0..<9).map { _ in schedule.wait(after: .transient, randomness: 0.5) }
    #expect(
      waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30].map { Duration.milliseconds(Int($0 * 1000)) })
  }

  @Test(
    "each wait is up to a fifth shorter or longer",
    arguments: [(0.0, 400), (0.25, 450), (0.75, 550), (0.999_999, 599)])
  func jitter(_ randomness: Double, _ milliseconds: Int64) throws {
    var schedule = ReconnectSchedule()
    let answer = schedule.wait(after: .transient, randomness: randomness)
    let wait = try #require(answer)
    #expect(wait >= .milliseconds(milliseconds) && wait < .milliseconds(milliseconds + 1))
  }

  @Test("a login that was refused is not tried again within half a minute", arguments: [0, 0.5, 1])
  func login(_ randomness: Double) throws {
    var schedule = ReconnectSchedule()
    let answer = schedule.wait(after: .login, randomness: randomness)
    let wait = try #require(answer)
    #expect(wait >= .seconds(30))
  }

  @Test("what trying again can not mend is not tried again")
  func permanent() {
    var schedule = ReconnectSchedule()
    let wait = schedule.wait(after: .permanent, randomness: 0)
    #expect(wait == nil)
  }

  @Test("a connection that was good begins the waits anew", arguments: [(9, 2000), (10, 500)])
  func recovery(_ seconds: Int, _ milliseconds: Int64) {
    var schedule = ReconnectSchedule()
    for _ in 0..<2 { _ = schedule.wait(after: .transient, randomness: 0.5) }
    schedule.noteMedia(for: .seconds(seconds))
    let wait = schedule.wait(after: .transient, randomness: 0.5)
    #expect(wait == .milliseconds(milliseconds))
  }

  @Test(
    "errors are told apart by whether trying again helps",
    arguments: [
      (RTSPError.connectionClosed as any Error, ConnectionFault.transient),
      (RTSPError.credentialsRefused(realm: "a"), .login),
      (RTSPError.credentialsMissing(realm: "a"), .permanent),
      (RTSPError.redirectRefused(to: "a"), .permanent),
      (RTSPError.mediaStopped(seconds: 5), .transient),
      (TLSError.wrongHost("a"), .permanent),
      (TLSError.handshakeTimedOut(seconds: 10), .transient),
      (TransportError.nameNotResolved(host: "a", reason: "b"), .transient),
      (TransportError.source("a", .missingHost), .permanent),
    ])
  func faults(_ error: any Error, _ fault: ConnectionFault) {
    #expect(ConnectionFault(of: error) == fault)
  }
}
