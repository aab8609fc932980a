import NIOCore
import RTPWire
import Testing

@testable import Transports

/// Which keys are requested, and for how long packets wait, on a virtual clock.
struct SRTPReceptionTests {
  private let start = Instant(nanoseconds: 1_000_000_000)

  private func after(_ seconds: Int) -> Instant { start.advanced(by: .seconds(seconds)) }

  private func reception() throws -> SRTPReception {
    try SRTPReception(
      .everyTrack(SRTPConfiguration(keys: .asked(suite: .aesCM128SHA1Tag80) { _ in nil })))
  }

  /// Receives a packet of source 1, whose key is not known.
  private func receive(_ number: UInt16, at now: Instant, _ reception: inout SRTPReception) throws {
    let datagram = Datagram(
      bytes: rtp(number, ssrc: 1, payload: 100), arrival: now, origin: endpoint("192.0.2.1", 5000))
    guard case .keyUnknown(let request) = reception.receive(datagram) else {
      Issue.record("the key is not known")
      return
    }
    #expect(request.ssrc == 1)
    reception.hold(datagram, for: request, at: now)
  }

  @Test("packets wait five seconds, a request ten, and then it is made again")
  func silentSupplier() throws {
    var reception = try reception()
    let request = SRTPKeyRequest(ssrc: 1, identifier: [])
    try receive(1, at: start, &reception)
    try receive(2, at: after(1), &reception)
    #expect(reception.nextAction() == .request(request))
    #expect(reception.nextAction() == nil)
    #expect(reception.deadline == after(5))
    reception.wake(at: after(6))
    #expect(reception.counters.heldTooLong == 1)
    #expect(reception.counters.held == 1)
    #expect(reception.deadline == after(10))
    reception.wake(at: after(10))
    #expect(reception.nextAction() == .withdraw(request))
    #expect(reception.counters.keyFailures == 1)
    #expect(reception.counters.heldTooLong == 2)
    try receive(3, at: after(11), &reception)
    #expect(reception.nextAction() == .request(request))
    #expect(reception.counters.keyRequests == 2)
  }

  @Test("a refusal is remembered, and the end withdraws what is open")
  func refusal() throws {
    var reception = try reception()
    let request = SRTPKeyRequest(ssrc: 1, identifier: [])
    try receive(1, at: start, &reception)
    #expect(reception.nextAction() == .request(request))
    #expect(reception.take(nil, for: request).isEmpty)
    try receive(2, at: after(1), &reception)
    #expect(reception.nextAction() == nil)
    #expect(reception.counters.noKey == 2)
    reception.end()
    #expect(reception.nextAction() == nil)

    var other = try self.reception()
    try receive(1, at: start, &other)
    #expect(other.nextAction() == .request(request))
    other.end()
    #expect(other.nextAction() == .withdraw(request))
    #expect(other.deadline == nil)
    #expect(other.counters.held == 0)
  }
}
