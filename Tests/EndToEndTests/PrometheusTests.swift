import Foundation
import TestSupport
import Testing

/// Metrics, alerts and the dashboard, with Prometheus itself.
@Suite(.serialized)
struct PrometheusTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("observability").path

  @Test("the alerts go off where they should, and nowhere else")
  func alerts() throws {
    for arguments in [
      ["check", "rules", "\(Self.folder)/rtp-recv.rules.yaml"],
      ["test", "rules", "\(Self.folder)/rtp-recv.rules.test.yaml"],
    ] {
      let promtool = try RunningProcess("promtool", arguments)
      #expect(try promtool.waitForExit() == 0, "\(promtool.standardError)")
    }
    // Each alert has a test.
    func text(_ name: String) throws -> String {
      try String(contentsOfFile: "\(Self.folder)/\(name)", encoding: .utf8)
    }
    let tests = try text("rtp-recv.rules.test.yaml")
    for alert in try text("rtp-recv.rules.yaml").matches(of: #/alert: (\w+)/#) {
      #expect(tests.contains("alertname: \(alert.1)\n"), "\(alert.1)")
    }
  }

  @Test("a fleet is collected, and every query of the dashboard has an answer")
  func dashboard() throws {
    let folder = try TemporaryFolder()
    let server = try RTSPSendTests.Server(
      ["a", "b"].map { ("pattern", $0) }, ["--audio", "pcma"] + RTSPSendTests.small)
    let cameras = """
      serve: 127.0.0.1:0
      cameras:
        front: {source: '\(server.url("a"))', output: '\(folder("front-%s.mkv"))', segment: 1s}
        door: {source: '\(server.url("b"))', output: \(folder("door.yuv"))}
        gone: {source: 'rtsp://127.0.0.1:1/secret'}
      """
    try cameras.write(toFile: folder("fleet.yaml"), atomically: true, encoding: .utf8)
    let fleet = try RunningProcess(Product.rtpRecv, ["fleet", folder("fleet.yaml")])
    defer { fleet.send(signal: SIGKILL) }
    let address = String(try fleet.waitForLine(#/the page is at http:\/\/([0-9.:]+)/#).1)

    let prometheus = try Collector(of: address, in: folder)
    try waitUntil("a file is complete") {
      try prometheus.value("sum(rtp_recv_segments_total{camera='front'})") ?? 0 > 0
    }
    for query in try Self.queries() {
      // What need not happen has no figures.
      let isOptional = query.contains("> 0") || query.contains("socket_drops")
      try waitUntil("there is an answer to \(query)") {
        try prometheus.value(query) != nil || isOptional
      }
    }
    for (query, value) in [
      ("sum(rtp_recv_up)", 2.0), ("rtp_recv_state{camera='gone',state='reconnecting'}", 1),
      ("sum(rtp_recv_packets_lost_total)", 0),
      ("rtp_recv_stream_info{camera='front',width='320'}", 1),
    ] {
      try waitUntil("\(query) is \(value)") { try prometheus.value(query) == value }
    }
    // One that is pending, because the machine was busy for a moment, has not gone off.
    let alerts = try prometheus.answer("ALERTS{alertname!='CameraDown',alertstate='firing'}")
    #expect(alerts.isEmpty, "\(alerts)")

    // Both forms, as others ask for them.
    let plain = try RunningProcess.output(of: "curl", ["-sS", "http://\(address)/metrics"])
    let page = folder("metrics")
    try plain.write(to: URL(fileURLWithPath: page))
    let promtool = try RunningProcess("bash", ["-c", "promtool check metrics < '\(page)'"])
    #expect(try promtool.waitForExit() == 0, "\(promtool.standardError)")
    #expect(promtool.standardError.isEmpty, "\(promtool.standardError)")
    let text = String(decoding: plain, as: UTF8.self)
    #expect(!text.contains("secret") && !text.contains("127.0.0.1"))
    for line in text.split(separator: "\n") where line.hasPrefix("rtp_recv_") {
      let labels = Set(line.matches(of: #/[{,](\w+)="/#).map { String($0.1) })
      #expect(
        labels.contains("camera") || line.hasPrefix("rtp_recv_build") || line.contains("config"))
    }
    let open = try RunningProcess.output(
      of: "curl",
      ["-sSi", "-H", "Accept: application/openmetrics-text", "http://\(address)/metrics"])
    let answer = String(decoding: open, as: UTF8.self)
    #expect(answer.contains("application/openmetrics-text; version=1.0.0"))
    #expect(answer.hasSuffix("# EOF\n"))

    // What comes again counts on, and what leaves the file is gone.
    let received = "rtp_recv_received_packets_total{camera='front',media='video'}"
    let before = try #require(try prometheus.value(received))
    try cameras.replacing("segment: 1s", with: "segment: 2s")
      .replacing(#/\n  gone.*/#, with: "")
      .write(toFile: folder("fleet.yaml"), atomically: true, encoding: .utf8)
    fleet.send(signal: SIGHUP)
    _ = try fleet.waitForLine(#/again: 1 unchanged, 1 changed, 0 new, 1 gone/#)
    try waitUntil("the camera is gone, and another run counts on") {
      try prometheus.value("rtp_recv_up{camera='gone'}") == nil
        && prometheus.value("rtp_recv_runs_total{camera='front'}") == 2
        && prometheus.value(received) ?? 0 > before
    }
    #expect(try prometheus.value("resets(\(received)[1m])") == 0)

    fleet.send(signal: SIGINT)
    #expect(try fleet.waitForExit() == 0, "\(fleet.standardError)")
    #expect(try server.stop() == 0)
  }

  /// All queries of the dashboard, for all cameras and over a short time.
  private static func queries() throws -> [String] {
    let text = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/grafana-dashboard.json"))
    let dashboard = try #require(try JSONSerialization.jsonObject(with: text) as? [String: Any])
    let panels = try #require(dashboard["panels"] as? [[String: Any]])
    let targets = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }
    let queries = targets.compactMap { $0["expr"] as? String }
    #expect(queries.count > 30)
    return queries.map {
      $0.replacing("$camera", with: "front|door").replacing("$job", with: ".*")
        .replacing("$__rate_interval", with: "5s")
    }
  }

  /// Prometheus, which collects from one address again and again.
  private struct Collector {
    private let process: RunningProcess
    private let port: UInt16

    init(of address: String, in folder: TemporaryFolder) throws {
      port = try FreePort.tcp()
      let configuration = folder("prometheus.yaml")
      try """
      global: {scrape_interval: 300ms, evaluation_interval: 300ms}
      rule_files: ['\(PrometheusTests.folder)/rtp-recv.rules.yaml']
      scrape_configs:
        - job_name: rtp-recv
          static_configs: [{targets: ['\(address)']}]
      """.write(toFile: configuration, atomically: true, encoding: .utf8)
      process = try RunningProcess(
        "prometheus",
        [
          "--config.file=\(configuration)", "--storage.tsdb.path=\(folder("data"))",
          "--web.listen-address=127.0.0.1:\(port)", "--log.level=warn",
        ])
      try FreePort.waitForListener(on: port, "Prometheus")
      let address = "http://127.0.0.1:\(port)/-/ready"
      // It begins to answer a little after it begins to listen.
      try waitUntil("Prometheus is ready") {
        try RunningProcess("curl", ["-sf", "-o", "/dev/null", address]).waitForExit() == 0
      }
    }

    /// The first number that answers `query`; `nil` if nothing does.
    func value(_ query: String) throws -> Double? {
      ((try answer(query).first?["value"] as? [Any])?.last as? String).flatMap { Double($0) }
    }

    /// All that answers `query`, each with its labels and its number.
    func answer(_ query: String) throws -> [[String: Any]] {
      let output = try RunningProcess.output(
        of: "curl",
        [
          "-sSG", "http://127.0.0.1:\(port)/api/v1/query", "--data-urlencode", "query=\(query)",
        ])
      let answer = try #require(
        try JSONSerialization.jsonObject(with: output) as? [String: Any])
      try #require(answer["status"] as? String == "success", "\(query): \(answer)")
      let data = answer["data"] as? [String: Any]
      return data?["result"] as? [[String: Any]] ?? []
    }
  }
}
