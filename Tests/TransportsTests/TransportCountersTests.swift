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

  @Test func socketsOfAConnectionAreCountedWithAllTheirCounters() {
    var (connection, sockets) = (TransportCounters(), TransportCounters())
    for counter in TransportCounter.ofSockets {
      (connection[counter], sockets[counter]) = (2, 3)
    }
    (sockets.empty, sockets.delivered, sockets.localAddress) = (5, 7, "192.0.2.1:5004")
    sockets.note("odd")
    connection.add(sockets, isFirst: false)
    for counter in TransportCounter.ofSockets {
      #expect(connection[counter] == (counter.joining == .largest ? 3 : 5), "\(counter.name)")
    }
    #expect(connection.empty == 5 && connection.delivered == 0 && connection.localAddress == nil)
    connection.add(sockets, isFirst: true)
    #expect(connection.localAddress == "192.0.2.1:5004")
    #expect(connection.diagnostics == ["odd"])
  }

  @Test func theFirstDiagnosticsStayInTheirPlaces() {
    let limit = TransportCounters.maximumDiagnostics
    var counters = TransportCounters()
    for number in 0..<2 * limit {
      for _ in 0..<2 { counters.note("oddity \(number)") }
    }
    let first = (0..<limit).map { TransportDiagnostic("oddity \($0)") }
    #expect(counters.diagnostics == first)
    var later = TransportCounters()
    for diagnostic in ["news", "oddity 0"] as [TransportDiagnostic] { later.note(diagnostic) }
    #expect(later.added(to: counters).diagnostics == first)
    #expect(counters.added(to: later).diagnostics.prefix(3) == ["news", "oddity 0", "oddity 1"])
  }

  /// Programs read these names in the statistics.
  @Test func theNamesStay() {
    #expect(
      TransportCatalogue.standard.counters.map(\.name).sorted() == [
        "foreign_origin", "heartbeats_sent", "hellos_sent", "kernel_dropped",
        "kernel_dropped_rtcp", "not_rtp", "onvif_requests", "rebindings", "receive_buffer",
        "refused", "rtcp_without_media", "skipped_bytes", "unassigned", "unproven_source",
        "unwanted",
      ])
    #expect(
      SRTPCounters.table.map(\.0.name) == [
        "authenticated", "authentication_failed", "replayed", "malformed", "readable_control",
        "no_key", "held_too_long", "held", "key_requests", "key_failures", "rollover_trials",
        "rollovers_found", "sources_forgotten",
      ])
    #expect(SRTPCounters.table.allSatisfy { $0.0.group == "srtp" })
  }
}
