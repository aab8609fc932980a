import Testing

@testable import Transports

/// The counters of transports, and their sums over connections.
struct TransportCountersTests {
  private static let coos = TransportCounter("coos", unit: .events)
  private static let nest = TransportCounter("nest", in: "loft", unit: .bytes, joining: .largest)
  private static let eggs = TransportCounter("eggs", in: "loft", unit: .events, joining: .latest)

  @Test func everyCounterJoinsAsItWasDeclared() {
    var (first, second) = (TransportCounters(), TransportCounters())
    (first[Self.coos], first[Self.nest], first[Self.eggs]) = (3, 90, 5)
    (second[Self.coos], second[Self.nest], second[Self.eggs]) = (4, 60, 2)
    first.hellosSent = 7
    second.refused = 1
    (first.receiveBuffer, second.receiveBuffer) = (4096, 1024)
    let sum = second.added(to: first)
    #expect(sum[Self.coos] == 7 && sum[Self.nest] == 90 && sum[Self.eggs] == 2)
    #expect(sum.hellosSent == 7 && sum.refused == 1 && sum.receiveBuffer == 4096)
    #expect(TransportCounters()[Self.coos] == 0)
  }

  @Test func protectedPacketsAreThereWhereTheyAreCounted() {
    var (first, second) = (TransportCounters(), TransportCounters())
    #expect(first.srtp == nil && second.added(to: first).srtp == nil)
    var counters = SRTPCounters()
    (counters.authenticated, counters.held, counters.noKey) = (10, 3, 1)
    first.srtp = counters
    #expect(first.srtp == counters)
    (counters.authenticated, counters.held) = (5, 0)
    second.srtp = counters
    let sum = second.added(to: first).srtp
    #expect(sum?.authenticated == 15 && sum?.held == 0 && sum?.noKey == 2)
    #expect(TransportCounters().added(to: first).srtp?.authenticated == 10)
  }

  /// Programs read these names in the statistics.
  @Test func theNamesStay() {
    #expect(
      TransportCatalogue.standard.counters.map(\.name).sorted() == [
        "foreign_origin", "heartbeats_sent", "hellos_sent", "kernel_dropped", "not_rtp",
        "rebindings",
        "receive_buffer", "refused", "skipped_bytes", "unassigned", "unwanted",
      ])
    #expect(
      TransportCounter.ofSRTP.map(\.name) == [
        "authenticated", "authentication_failed", "replayed", "malformed", "readable_control",
        "no_key", "held_too_long", "held", "key_requests", "key_failures", "rollover_trials",
        "rollovers_found", "sources_forgotten",
      ])
    #expect(TransportCounter.ofSRTP.allSatisfy { $0.group == "srtp" })
  }
}
