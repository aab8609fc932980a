import CoreMetrics
import Testing

@testable import Telemetry

/// Metrics as text, in both forms.
struct MetricsTextTests {
  private func text(
    as format: MetricsFormat, _ body: (MetricsRegistry) -> Void
  ) -> String {
    let registry = MetricsRegistry()
    body(registry)
    return registry.text(as: format)
  }

  private func fill(_ registry: MetricsRegistry) {
    registry.describe(MetricFamily(.counter, "output_bytes", "Bytes of \"all\"\nand \\ more."))
    registry.describe(MetricFamily(.info, "stream", "What comes."))
    let bytes = registry.makeCounter(
      label: "rtp_recv_output_bytes_total", dimensions: [("camera", "a\"\n\\b"), ("output", "ts")])
    bytes.increment(by: 9_007_199_254_740_993)
    registry.makeFloatingPointCounter(label: "process_cpu_seconds_total", dimensions: [])
      .increment(by: 1.25)
    registry.makeMeter(label: "rtp_recv_stream_info", dimensions: [("codec", "h264")]).set(1.0)
    registry.makeTimer(label: "other.request", dimensions: []).recordNanoseconds(500_000_000)
    registry.makeRecorder(label: "2nd", dimensions: [], aggregate: false).record(Double.infinity)
  }

  @Test("OpenMetrics names families and units, and has an end")
  func openMetrics() {
    #expect(
      text(as: .openMetrics, fill) == #"""
        # TYPE _nd gauge
        _nd +Inf
        # TYPE other_request_seconds summary
        # UNIT other_request_seconds seconds
        other_request_seconds_sum 0.5
        other_request_seconds_count 1
        # TYPE process_cpu_seconds counter
        # UNIT process_cpu_seconds seconds
        process_cpu_seconds_total 1.25
        # TYPE rtp_recv_output_bytes counter
        # UNIT rtp_recv_output_bytes bytes
        # HELP rtp_recv_output_bytes Bytes of \"all\"\nand \\ more.
        rtp_recv_output_bytes_total{camera="a\"\n\\b",output="ts"} 9007199254740993
        # TYPE rtp_recv_stream info
        # HELP rtp_recv_stream What comes.
        rtp_recv_stream_info{codec="h264"} 1
        # EOF

        """#)
  }

  @Test("Prometheus' own text names what is collected")
  func prometheus() {
    let text = text(as: .prometheus, fill)
    #expect(text.contains("# TYPE rtp_recv_output_bytes_total counter\n"))
    #expect(text.contains("# TYPE rtp_recv_stream_info gauge\n"))
    #expect(!text.contains("EOF") && !text.contains("UNIT"))
  }

  /// Whoever reads it goes by bytes: neither ends a value, or a line, early.
  @Test(
    "what ends a value or a line is escaped, whatever stands beside it",
    arguments: [
      ("\"\u{301}} 1", "\\\"\u{301}} 1"), ("a\r\nb 1", "a\r\\nb 1"),
      ("\\\u{301}", "\\\\\u{301}"),
    ])
  func escapes(_ value: String, _ expected: String) {
    #expect(Array(MetricsText.escaped(value).utf8) == Array(expected.utf8))
  }

  @Test("the figures of one name stand together, and go when nobody has them any more")
  func lives() {
    let registry = MetricsRegistry()
    func make(_ camera: String) -> any CounterHandler {
      registry.makeCounter(label: "x_total", dimensions: [("camera", camera)])
    }
    let handlers = ["a", "b", "c"].map(make)
    let again = make("a")
    again.increment(by: 2)
    registry.makeCounter(label: "y", dimensions: []).increment(by: 1)
    registry.destroyCounter(handlers[0])
    registry.destroyCounter(handlers[1])
    let text = registry.text(as: .prometheus)
    #expect(
      text.hasPrefix("# TYPE x_total counter\nx_total{camera=\"a\"} 2\nx_total{camera=\"c\"} 0\n"))
    registry.destroyCounter(again)
    registry.destroyCounter(handlers[2])
    #expect(registry.text(as: .prometheus) == "# TYPE y_total counter\ny_total 1\n")
    // A name is of one kind; what comes under another is left out.
    registry.makeMeter(label: "y", dimensions: []).set(5.0)
    #expect(registry.text(as: .prometheus) == "# TYPE y_total counter\ny_total 1\n")
  }

  struct Wish: Sendable, CustomTestStringConvertible {
    let header: String?
    let format: MetricsFormat
    var testDescription: String { header ?? "nothing" }
  }

  @Test(
    "whoever asks gets the form that is welcome",
    arguments: [
      Wish(header: nil, format: .prometheus),
      Wish(header: "", format: .prometheus),
      Wish(header: "*/*", format: .prometheus),
      Wish(header: "text/html", format: .prometheus),
      Wish(header: "application/openmetrics-text", format: .openMetrics),
      Wish(header: "Application/OpenMetrics-Text ; Version=1.0.0", format: .openMetrics),
      Wish(header: "application/openmetrics-text;version=2.0.0", format: .prometheus),
      Wish(header: "application/openmetrics-text;q=0", format: .prometheus),
      Wish(
        header: "text/plain;version=0.0.4, application/openmetrics-text;q=0.5",
        format: .prometheus),
      // Prometheus 2.42.
      Wish(
        header: "application/openmetrics-text;version=1.0.0,"
          + "application/openmetrics-text;version=0.0.1;q=0.75,"
          + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", format: .openMetrics),
      Wish(header: ";;q=,=,", format: .prometheus),
    ])
  func negotiation(_ wish: Wish) { #expect(MetricsFormat(accept: wish.header) == wish.format) }

  @Test("the process says what it uses")
  func process() throws {
    let registry = MetricsRegistry()
    let metrics = ProcessMetrics(version: "1.2.3", factory: registry)
    let text = registry.text(as: .openMetrics)
    for name in [
      "cpu_seconds_total", "resident_memory_bytes", "virtual_memory_bytes", "start_time_seconds",
      "open_fds", "max_fds", "threads",
    ] {
      let line = text.split(separator: "\n").first { $0.hasPrefix("process_\(name) ") }
      let value = try #require(line.flatMap { Double($0.split(separator: " ")[1]) }, "\(name)")
      #expect(value > 0, "\(name)")
      #expect(!name.hasPrefix("start") || value > 1.7e9)
    }
    #expect(text.contains(#"rtp_recv_build_info{version="1.2.3"} 1"#))
    withExtendedLifetime(metrics) {}
  }
}
