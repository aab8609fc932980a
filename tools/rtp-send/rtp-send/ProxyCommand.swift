import ArgumentParser
import Foundation
import Impairment
import RTPSend
import Transports

extension Proxy.Endpoint {
  /// What an argument of the command line says.
  init(argument: String) throws {
    do throws(SendError) {
      try self.init(argument)
    } catch { throw ValidationError("\(error)") }
  }
}

/// `rtp-send proxy`: a bad network in front of anybody's stream.
struct ProxyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rtp-send proxy",
    abstract: "Puts a bad network between anybody's sender or server and its receivers.",
    usage: "rtp-send proxy [OPTIONS] LISTEN TARGET",
    discussion: """
      LISTEN is where the proxy is reached, TARGET where it forwards to:
        udp://[ADDR]:PORT udp://HOST:PORT
            Datagrams of any sender or client, and what comes back; the ports above
            are for RTCP. Port 0 takes two free ones.
        rtsp://[ADDR]:PORT rtsp://HOST:PORT
            An RTSP server. Its media comes through the proxy too, over UDP or in
            the connection; multicast goes past it.
      The address is printed on standard output: listening on 127.0.0.1:41234

      A plan (see rtp-send --help) begins with the first RTP packet of each client,
      and holds in both directions; the quirks in it are those of packets in clear
      and, in front of an RTSP server, of its descriptions and answers. It runs
      until SIGINT or SIGTERM, and then says what was done.

      EXAMPLES
        What a receiver of a camera has to stand on a bad evening:
          rtp-send proxy rtsp://:8554 rtsp://camera:554 --plan evening.plan --seed 7
        Between a sender and a receiver on this machine:
          rtp-send proxy udp://:5004 udp://127.0.0.1:5006 --loss 0.02 --reorder 0.05,5
      """)

  @Argument(
    help: ArgumentHelp("Where the proxy is reached.", valueName: "listen"),
    transform: { try Proxy.Endpoint(argument: $0) })
  var listening: Proxy.Endpoint

  @Argument(
    help: ArgumentHelp("Where it forwards to.", valueName: "target"),
    transform: { try Proxy.Endpoint(argument: $0) })
  var target: Proxy.Endpoint

  @OptionGroup(title: "Impairments") var impairments: ImpairmentOptions

  @Option(
    help: ArgumentHelp(
      "Write the totals as JSON at the end; - is standard output.", valueName: "file"),
    completion: .file())
  var stats: String?

  @Flag(help: "Say nothing but errors on standard error.")
  var quiet = false

  mutating func validate() throws {
    try impairments.check(
      isPattern: false,
      quirksOf: listening.scheme == .rtsp ? Quirk.ofProxies : [.packets])
    guard listening.scheme == target.scheme else {
      throw ValidationError("LISTEN and TARGET must both be udp:// or both rtsp://")
    }
    guard !target.host.isEmpty, target.port > 0 else {
      throw ValidationError("TARGET needs a host and a port")
    }
    if listening.scheme == .udp {
      guard target.port < 65_535, listening.port < 65_535 else {
        throw ValidationError("the port above is for RTCP, so 65534 is the last one")
      }
    }
    if listening.isMulticast {
      throw ValidationError("multicast goes past a proxy; LISTEN is an address of this machine")
    }
    if listening.leads(to: target) {
      throw ValidationError("TARGET is where the proxy itself listens")
    }
  }

  func run() async throws {
    let status = await forward()
    if status != .done { throw status.code }
  }

  private func forward() async -> ExitStatus {
    do {
      let seed = impairments.seed ?? UInt64.random(in: 0...UInt64(UInt32.max))
      var configuration = Proxy.Configuration(listening: listening, target: target)
      configuration.plan = try impairments.plan(over: try impairments.impairments)
      configuration.seed = ImpairmentOptions.networkSeed(of: seed)
      let log = try impairments.log.map { try VerdictLog(path: $0) }
      if let log { configuration.onVerdicts = { log.write($0) } }
      let (signals, signal) = AsyncStream<Void>.makeStream()
      let termination = TerminationSignals { signal.finish() }
      defer { termination.cancel() }
      DescriptorLimit.raise()
      let proxy = try await Proxy.start(configuration)
      try OutputError.write("listening on \(proxy.localAddress.hostAndPort)\n", to: "-")
      for await _ in signals {}
      let report = try await proxy.stop()
      try log?.finish()
      let summary = ProxySummary(report: report, seed: seed)
      if !quiet { Session.complain(summary.line) }
      if let stats { try OutputError.write(summary.json, to: stats) }
      return .done
    } catch {
      Session.complain("\(error)")
      return ExitStatus(error)
    }
  }
}

/// The totals of a proxy, for people and for programs.
struct ProxySummary {
  let report: ProxyReport
  let seed: UInt64

  private var faults: [(name: String, count: Int)] {
    let network = report.network
    return [
      ("lost", network.lost), ("damaged", network.damaged), ("reordered", network.reordered),
      ("duplicated", network.duplicated), ("garbage", network.garbage),
    ]
  }

  /// One line for people.
  var line: String {
    var line =
      "forwarded \(report.network.delivered) of \(report.network.offered) packets of "
      + "\(report.clients) client\(report.clients == 1 ? "" : "s")"
    let found = faults.filter { $0.count > 0 }.map { "\($0.count) \($0.name)" }
    if !found.isEmpty { line += "; \(found.joined(separator: ", ")) (seed \(seed))" }
    let network = report.network
    let pending = network.offered - network.lost + network.duplicated - network.delivered
    if pending > 0 { line += "; \(pending) were still on their way" }
    if report.unreachable > 0 {
      line += "; \(report.unreachable) could not reach the server"
    }
    if report.ownLosses > 0 {
      line += "; beside the plan, this machine lost \(report.ownLosses.counted("packet"))"
    }
    return line
  }

  /// One line of JSON.
  var json: String {
    let fields =
      [("packets", report.network.offered), ("delivered", report.network.delivered)]
      + faults.map { ($0.name, $0.count) }
      + [
        ("own_losses", Int(clamping: report.ownLosses)), ("clients", report.clients),
        ("unreachable", report.unreachable),
      ]
    return "{" + fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",")
      + ",\"seed\":\(seed)}\n"
  }
}
