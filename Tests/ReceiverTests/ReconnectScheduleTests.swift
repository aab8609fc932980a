import Bitstream
import Defragment
import Outputs
import RTPWire
import Reception
import Synchronization
import TestSupport
import Testing
import Transports

@testable import Receiver

struct ReconnectScheduleTests {
  private typealias Schedule = ReconnectSchedule<KnownNumbers>

  /// A schedule without variation: half of all numbers lie below the one it draws.
  private func schedule(
    _ reconnection: Reconnection = Reconnection(), drawing value: UInt64 = 1 << 63
  ) -> ReconnectSchedule<KnownNumbers> {
    ReconnectSchedule(reconnection, randomness: KnownNumbers.always(value))
  }

  private func waits(
    _ schedule: inout ReconnectSchedule<KnownNumbers>, _ count: Int, flow: Duration = .zero,
    fault: ConnectionFault = .transient
  ) -> [Double] {
    (0..<count).map { _ in
      let now = Instant(nanoseconds: 1_000_000_000_000)
      guard
        case .retry(let time) = schedule.connectionEnded(at: now, after: flow, fault: fault)
      else { return -1 }
      return (Double(now.nanoseconds(to: time)) / 1e6).rounded() / 1e3
    }
  }

  @Test func waitsDoubleFromHalfASecondToHalfAMinute() {
    var schedule = schedule()
    #expect(waits(&schedule, 9) == [0.5, 1, 2, 4, 8, 16, 30, 30, 30])
    // For days: nothing overflows.
    #expect(waits(&schedule, 1000).allSatisfy { $0 == 30 })
  }

  @Test(arguments: [(UInt64(1), 0.8), (UInt64.max, 1.2)])
  func waitsAreVariedByAFifth(drawn: UInt64, factor: Double) {
    var schedule = schedule(drawing: drawn)
    #expect(
      waits(&schedule, 8)
        == [0.5, 1, 2, 4, 8, 16, 30, 30].map { ($0 * factor * 1e3).rounded() / 1e3 })
  }

  @Test(arguments: [(Duration.seconds(9.9), 8.0), (.seconds(10), 0.5), (.seconds(86_400), 0.5)])
  func mediaThatFlowedForAWhileBeginsAnew(flow: Duration, wait: Double) {
    var schedule = schedule()
    _ = waits(&schedule, 4)
    #expect(waits(&schedule, 1, flow: flow) == [wait])
  }

  @Test(arguments: [UInt64(1), 1 << 63, .max])
  func refusedCredentialsAreNotTriedAgainSoon(drawn: UInt64) {
    var schedule = schedule(drawing: drawn)
    #expect(waits(&schedule, 10, fault: .login).allSatisfy { $0 >= 30 && $0 <= 36 })
    var next = self.schedule()
    #expect(waits(&next, 1, fault: .login) == [30])
    // A longer wait stays as it is.
    var reconnection = Reconnection()
    reconnection.delayAfterRefusal = .seconds(1)
    next = self.schedule(reconnection)
    #expect(waits(&next, 3, fault: .login) == [1, 1, 2])
  }

  @Test func whatStaysIsNotTriedAgain() {
    var schedule = schedule()
    #expect(waits(&schedule, 1, fault: .permanent) == [-1])
  }

  /// A person who leaves a recording running overnight wants it to resume after any of these.
  static let passing: [any Error & Sendable] = [
    TransportError.connectionRefused(address: "192.0.2.1:554"),
    TransportError.nameNotResolved(host: "camera", reason: "no such host"),
    TransportError.notConnected(address: "192.0.2.1:554", reason: "no route"),
    RTSPError.connectionClosed, RTSPError.connectTimedOut(seconds: 10),
    RTSPError.refused(method: "DESCRIBE", status: 404, reason: "Not Found"),
    RTSPError.refused(method: "SETUP", status: 453, reason: ""), RTSPError.mediaStopped(seconds: 5),
    RTSPError.noMedia(seconds: 5, isOverUDP: true), RTSPError.framingLost(skipped: 65_536),
    TLSError.closedInHandshake, TLSError.certificateNotYetValid(host: "camera", days: 9000),
  ]

  static let lasting: [any Error & Sendable] = [
    TransportError.source("rtsp:/x", .missingHost),
    RTSPError.credentialsMissing(realm: "x"), RTSPError.redirectRefused(to: "http://elsewhere/"),
    RTSPError.unsupportedProfile("RTP/SAVP"), RTSPError.noSuchStream(number: 7),
    TLSError.untrusted(host: "camera", fingerprint: ""), TLSError.otherCertificate(fingerprint: ""),
    TLSError.wrongHost("camera"), TLSError.fileUnusable(path: "x.pem"),
  ]

  @Test func eachFaultIsOfItsKind() {
    for error in Self.passing {
      #expect(EndReason.cannotOpen(error).fault() == .transient, "\(error)")
      #expect(EndReason.transportFailed(error).fault() == .transient, "\(error)")
    }
    for error in Self.lasting {
      #expect(EndReason.cannotOpen(error).fault() == .permanent, "\(error)")
    }
    #expect(EndReason.cannotOpen(RTSPError.credentialsRefused(realm: "x")).fault() == .login)
    #expect(
      [EndReason.goodbye, .ended, .mediaLost(after: .seconds(5)), .noMedia(after: .seconds(5))]
        .allSatisfy { $0.fault() == .transient })
    #expect(
      [EndReason.stopped, .framesReached, .durationReached, .outputsEnded]
        .allSatisfy { $0.fault() == .permanent })
    // A server may describe the right codec the next time; what the user says stays.
    let other = EndReason.otherCodec(H264.codec)
    #expect(other.fault() == .transient)
    #expect(other.fault(given: MediaDescription(encodingName: "H265")) == .permanent)
  }
}

struct OutageLogTests {
  private static func at(_ seconds: Double) -> Instant {
    Instant(nanoseconds: Int64(seconds * 1e9))
  }

  @Test func anOutageLastsFromTheLastPacketToTheFirst() {
    var log = OutageLog(runStart: Self.at(100))
    log.connectionEnded(because: .ended, fault: .transient, lastMedia: Self.at(110))
    for _ in 0..<3 {
      log.noteAttempt()
      // Attempts that fail are of the same outage, with the cause of the first.
      log.connectionEnded(
        because: .noMedia(after: .seconds(5)), fault: .transient, lastMedia: Self.at(110))
    }
    let during = log.statistics(at: Self.at(130))
    #expect(during.withoutMedia == .seconds(20))
    #expect(during.recoveries == 0)
    #expect(during.outages.map(\.hasEnded) == [false])
    log.mediaCame(at: Self.at(131))
    // Media on a connection that nothing was missed before.
    log.mediaCame(at: Self.at(132))
    let after = log.statistics(at: Self.at(500))
    #expect(after.withoutMedia == .seconds(21))
    #expect((after.attempts, after.recoveries) == (3, 1))
    #expect(after.outages.count == 1)
    #expect(after.outages[0].start == .seconds(10))
    #expect(after.outages[0].length == .seconds(21))
    #expect(after.outages[0].attempts == 3)
    #expect(after.outages[0].hasEnded)
    guard case .ended = after.outages[0].cause else {
      Issue.record("\(after.outages[0].cause)")
      return
    }
  }

  @Test func whatIsMissingBetweenTwoSendersIsAGapThoughNothingWasConnectedAgain() {
    var log = OutageLog(runStart: Self.at(100))
    log.senderCame(at: Self.at(112.5), after: Self.at(110))
    let statistics = log.statistics(at: Self.at(130))
    #expect(statistics.withoutMedia == .seconds(2.5))
    #expect((statistics.attempts, statistics.recoveries) == (0, 0))
    #expect(statistics.outages.map(\.start) == [.seconds(10)])
    #expect(statistics.outages.map(\.length) == [.seconds(2.5)])
    #expect(statistics.outages.map(\.hasEnded) == [true])
    guard case .mediaLost(after: .seconds(2.5))? = statistics.outages.first?.cause else {
      Issue.record("\(statistics.outages)")
      return
    }
  }

  @Test func whenAnOutageBeganIsToldInUTCAndStaysSo() {
    let lead = Mutex(Int64(1_000_000_000_000))
    var log = OutageLog(runStart: Self.at(100), clock: WallClock { lead.withLock { $0 } })
    log.connectionEnded(because: .ended, fault: .transient, lastMedia: Self.at(110))
    log.mediaCame(at: Self.at(120))
    // Somebody sets the clock.
    lead.withLock { $0 = 0 }
    log.senderCame(at: Self.at(140), after: Self.at(130))
    #expect(
      log.statistics(at: Self.at(150)).outages.map(\.startTime)
        == [1_110_000_000_000, 130_000_000_000].map { WallClockTime(nanoseconds: $0) })
  }

  @Test func beforeAnyMediaAnOutageBeginsWithTheRun() {
    var log = OutageLog(runStart: Self.at(100))
    log.connectionEnded(because: .ended, fault: .transient, lastMedia: nil)
    #expect(log.statistics(at: Self.at(107)).withoutMedia == .seconds(7))
  }

  @Test func ofManyOutagesTheLatestAreKeptAndAllAreCounted() {
    var log = OutageLog(runStart: Self.at(0))
    for index in 0..<200 {
      log.connectionEnded(because: .ended, fault: .transient, lastMedia: Self.at(Double(index)))
      log.noteAttempt()
      log.mediaCame(at: Self.at(Double(index) + 0.5))
    }
    let statistics = log.statistics(at: Self.at(1000))
    #expect(statistics.outages.count == OutageLog.maximumOutages)
    #expect(statistics.outages.last?.start == .seconds(199))
    #expect(statistics.recoveries == 200)
    #expect(statistics.withoutMedia == .seconds(100))
  }
}
