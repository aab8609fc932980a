import CoreMetrics
import Defragment
import Outputs
import RTPProcessor
import RTPSend
import RTPWire
import Receiver
import Reception
import TestSupport
import Testing
import Transports

@testable import Telemetry

/// The figures of a receiver as metrics.
struct CameraMetricsTests {
  /// A run of so many frames, one packet of which is lost.
  private func run(frames: Int, for metrics: CameraMetrics) async throws -> Receiver.Status {
    let stream = try PatternStream(
      .h264, frames: frames, as: .init(ssrc: 1, initialSequence: 7, initialTimestamp: 1))
    let packets = stream.packets.enumerated().filter { $0.offset != 5 }.map(\.element)
    let script = ScriptedTransport.Script(
      media: [stream.media],
      datagrams: packets.map { Datagram(bytes: $0, arrival: Instant(nanoseconds: 1)) },
      clock: .recorded)
    let receiver = try Receiver(
      transport: ScriptedTransport(script), configuration: Receiver.Configuration())
    return await metrics.follow(receiver, every: .seconds(60)).status
  }

  private func value(_ sample: String, in text: String) -> Double? {
    text.split(separator: "\n").first { $0.hasPrefix("\(sample) ") }
      .flatMap { Double($0.split(separator: " ").last ?? "") }
  }

  @Test("counters go on from one run to the next, and are gone with the camera")
  func runs() async throws {
    let registry = MetricsRegistry()
    var metrics: CameraMetrics? = CameraMetrics(
      camera: "front", clock: .arrivals, factory: registry)
    let first = try await run(frames: 20, for: try #require(metrics))
    let second = try await run(frames: 10, for: try #require(metrics))
    let text = registry.text(as: .openMetrics)
    let received = [first, second].reduce(0) { $0 + ($1.stream?.reception.received ?? 0) }
    #expect(received > 0)
    let name = #"rtp_recv_received_packets_total{camera="front",media="video"}"#
    #expect(value(name, in: text) == Double(received))
    #expect(value(#"rtp_recv_packets_lost_total{camera="front",media="video"}"#, in: text) == 2)
    #expect(value(#"rtp_recv_runs_total{camera="front"}"#, in: text) == 2)
    #expect(value(#"rtp_recv_runs_failed_total{camera="front"}"#, in: text) == 0)
    #expect(value(#"rtp_recv_state{camera="front",state="resting"}"#, in: text) == 1)
    #expect(
      value(#"rtp_recv_frames_total{camera="front",result="intact"}"#, in: text)
        == Double(
          (first.delivery.conditions[.intact] ?? 0) + (second.delivery.conditions[.intact] ?? 0)))
    #expect(text.contains(#"rtp_recv_stream_info{camera="front",codec="h264","#))
    metrics = nil
    #expect(registry.text(as: .openMetrics) == "# EOF\n")
  }

  @Test("a run that cannot begin has failed")
  func failure() async throws {
    let registry = MetricsRegistry()
    let metrics = CameraMetrics(camera: "a", clock: .arrivals, factory: registry)
    let receiver = try Receiver(
      transport: ScriptedTransport(ScriptedTransport.Script(fault: TransportError.closed)),
      configuration: Receiver.Configuration())
    _ = await metrics.follow(receiver, every: .seconds(60))
    let text = registry.text(as: .prometheus)
    #expect(value(#"rtp_recv_runs_failed_total{camera="a"}"#, in: text) == 1)
  }

  @Test("another backend of swift-metrics gets the same")
  func backends() async throws {
    let (ours, other) = (MetricsRegistry(), MetricsRegistry())
    let metrics = CameraMetrics(
      camera: "a", clock: .arrivals,
      factory: MultiplexMetricsHandler(factories: [ours, other]))
    _ = try await run(frames: 5, for: metrics)
    let text = other.text(as: .prometheus)
    #expect(text == ours.text(as: .prometheus))
    #expect(text.contains(#"rtp_recv_packets_lost_total{camera="a",media="video"} 1"#))
    withExtendedLifetime(metrics) {}
  }

  @Test("a camera from which nothing has come for ten seconds does not play")
  func silence() async throws {
    let metrics = CameraMetrics(
      camera: "a", clock: .arrivals, factory: MetricsRegistry())
    let status = try await run(frames: 5, for: metrics)
    let last = try #require(status.stream?.lastMedia)
    let states = [9, 11].map {
      CameraState(of: status, at: last.advanced(by: .seconds($0)))
    }
    // The connection of a run that is over is not open.
    #expect(
      states == (status.connection.isOpen ? [.playing, .waiting] : [.connecting, .connecting]))
  }

  @Test("figures that come late are not counted in the next run")
  func late() async throws {
    let registry = MetricsRegistry()
    let metrics = CameraMetrics(camera: "a", clock: .arrivals, factory: registry)
    let status = try await run(frames: 5, for: metrics)
    let (before, after) = (metrics.beginRun(), metrics.beginRun())
    let name = #"rtp_recv_received_packets_total{camera="a",media="video"}"#
    let received = value(name, in: registry.text(as: .prometheus))
    metrics.note(status, of: before)
    metrics.endRun(before, as: status, isFailure: true)
    let text = registry.text(as: .prometheus)
    #expect(value(name, in: text) == received && received ?? 0 > 0)
    #expect(value(#"rtp_recv_runs_failed_total{camera="a"}"#, in: text) == 0)
    metrics.endRun(after, as: status, isFailure: true)
    let end = registry.text(as: .prometheus)
    #expect(value(name, in: end) == received.map { $0 * 2 })
    #expect(value(#"rtp_recv_runs_failed_total{camera="a"}"#, in: end) == 1)
  }

  @Test("every counter of every table is a metric, except sums of those that are")
  func tables() {
    func check<Statistics: Counted>(_: Statistics.Type, except sums: Set<String> = []) {
      let names = Statistics.counters.filter { $0.metric == nil }.map(\.name)
      #expect(Set(names) == sums, "\(Statistics.self)")
      let metrics = Statistics.counters.compactMap(\.metric)
      #expect(Set(metrics.map { "\($0.name) \($0.labels)" }).count == metrics.count)
      for (name, ones) in Dictionary(grouping: metrics, by: \.name) {
        #expect(Set(ones.map(\.help)).count == 1, "\(name)")
        #expect(ones.allSatisfy { $0.help.hasSuffix(".") }, "\(name)")
      }
    }
    check(ReceptionStatistics.self)
    check(RepairStatistics.self)
    check(ForwardErrorCorrectionStatistics.self)
    check(DefragmentStatistics.self)
    check(SoundStatistics.self)
    // By result.
    check(DeliveryStatistics.self, except: ["frames"])
    check(PictureStatistics.self)
    check(OutputCounters.self)
    check(FileStatistics.self)
    check(ReconnectionStatistics.self)
    let transports = TransportCatalogue.standard.counters.map(\.metric)
    #expect(Set(transports.map { "\($0.name) \($0.labels)" }).count == transports.count)
  }

  @Test("names are those of Prometheus: the unit, and _total where something is counted")
  func names() async throws {
    let registry = MetricsRegistry()
    let metrics = CameraMetrics(camera: "a", clock: .arrivals, factory: registry)
    _ = try await run(frames: 5, for: metrics)
    for line in registry.text(as: .prometheus).split(separator: "\n") {
      guard line.hasPrefix("# TYPE") else { continue }
      let words = line.split(separator: " ")
      #expect(words[2].hasPrefix("rtp_recv_"), "\(line)")
      #expect((words[3] == "counter") == words[2].hasSuffix("_total"), "\(line)")
    }
    // Some backends want the same labels for all figures of a name.
    var labels: [Substring: Set<[Substring]>] = [:]
    for line in registry.text(as: .prometheus).split(separator: "\n") where line.first != "#" {
      labels[line.prefix { $0 != "{" }, default: []].insert(
        line.matches(of: #/(\w+)="/#).map { $0.output.1 })
    }
    for (name, sets) in labels { #expect(sets.count == 1, "\(name) \(sets)") }
    withExtendedLifetime(metrics) {}
  }
}
