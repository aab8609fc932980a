import Foundation

/// The cost of SRTP above plain UDP, compared with what libsrtp2 costs a bare loop of receiving.
///
/// In a loop over packets in memory it would find its code and keys in the caches, as no receiver
/// does.
enum Protected {
  private static let suites: [(name: String, length: Int)] = [
    ("AES_CM_128_HMAC_SHA1_80", 30), ("AEAD_AES_128_GCM", 28), ("AEAD_AES_256_GCM", 44),
  ]
  private static let rate = 50_000
  private static let seconds = 7.0

  static func report(rounds: Int, in folder: String) throws {
    head(
      "Processor time of SRTP, UDP → .h264, nothing written, 1,400-byte packets at \(rate) a second, "
        + "medians of \(rounds) rounds",
      [
        "receiver", "suite", "µs a packet", "above plain UDP", "libsrtp2 in a bare loop", "ratio",
        "missing",
      ], names: ["receiver", "suite"])
    let stream = try Throughput.stream(in: folder)
    let packets = try stream.write(in: folder)
    var keys: [String: String] = [:]
    for suite in suites {
      let path = "\(folder)/\(suite.name).key"
      let key = Data((0..<suite.length).map { UInt8($0) }).base64EncodedString()
      _ = FileManager.default.createFile(
        atPath: path, contents: Data("\(suite.name) \(key)\n".utf8),
        attributes: [.posixPermissions: 0o600])
      keys[suite.name] = path
    }
    let programs =
      [(Contender.ours, Peer.rtpRecv)] + (Peer.rtpRecvBefore.map { [(.before, $0)] } ?? [])
    let ways: [(program: String, suite: String?)] = programs.flatMap { _, program in
      ([nil] + suites.map(\.name)).map { (program: program, suite: $0) }
    }
    // The bare loop runs with each measurement, because the machine's speed changes within minutes.
    let results = try inRounds(rounds, ways) { way in
      let key = way.suite.flatMap { keys[$0] }
      return (
        result: try measure(way.program, way.suite, key: key, packets: packets, in: folder),
        loop: try measureLoop(way.suite, packets: packets)
      )
    }
    var values = suites.map { _ in [(Contender, Double?)]() }
    for (index, (contender, _)) in programs.enumerated() {
      let results = results[(index * (suites.count + 1))...].prefix(suites.count + 1)
      let first = results[results.startIndex]
      let plain = first.map(\.result.perPacket)
      row([
        contender.rawValue, "none", number(median(plain)), "", "", "", missing(first.map(\.result)),
      ])
      for (place, (suite, results)) in zip(suites, results.dropFirst()).enumerated() {
        let above = zip(results, plain).map { $0.result.perPacket - $1 }
        let loops = zip(results, first).map { $0.loop - $1.loop }
        row([
          contender.rawValue, suite.name, number(median(results.map(\.result.perPacket))),
          number(median(above)), number(median(loops)),
          number(median(zip(above, loops).map { $0 / $1 })), missing(results.map(\.result)),
        ])
        values[place].append((contender, median(above)))
        if contender == .ours { values[place].append((.bare, median(loops))) }
      }
    }
    for (suite, values) in zip(suites, values) {
      figure("SRTP above plain UDP, \(suite.name)", unit: "µs", values)
    }
  }

  private static func missing(_ results: [Throughput.Result]) -> String {
    number(100 * median(results.map(\.missing)), 3) + " %"
  }

  /// One run of an `rtp-recv`, with the processor time of its middle part.
  private static func measure(
    _ program: String, _ suite: String?, key: String?, packets: String, in folder: String
  ) throws -> Throughput.Result {
    let port = try UDPSocket.freePort()
    let statistics = "\(folder)/srtp.jsonl"
    let receiver = try Running(
      // The cost of writing a file varies more between runs than SRTP costs.
      [program, "rtp://127.0.0.1:\(port)", "-o", "/dev/null", "--format", "h264", "--quiet"]
        + ["--stats", statistics] + (key.map { ["--srtp-key-file", $0] } ?? []))
    guard waitUntilBound(port) else { throw BenchError(description: "rtp-recv does not listen") }
    let sender = try sender(of: suite, packets: packets, to: port)
    return Throughput.middlePart(of: receiver, fedBy: sender, for: seconds) {
      guard
        let last = try? String(contentsOfFile: statistics, encoding: .utf8)
          .split(separator: "\n").last,
        let line = try? JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any],
        let transport = line["transport"] as? [String: Any]
      else { return .nan }
      return (transport["delivered"] as? NSNumber)?.doubleValue ?? .nan
    }
  }

  /// Microseconds of processor time per packet that the bare loop takes.
  private static func measureLoop(_ suite: String?, packets: String) throws -> Double {
    let port = try UDPSocket.freePort()
    let receiver = try Running([".build/release/srtp-loop", suite ?? "none", "\(port)"])
    _ = receiver.readLine()
    let sender = try sender(of: suite, packets: packets, to: port)
    return Throughput.middlePart(of: receiver, fedBy: sender, for: seconds) { .nan }.perPacket
  }

  /// All suites use the same sender, because its prepared packets occupy the caches too.
  private static func sender(
    of suite: String?, packets: String, to port: UInt16
  ) throws -> Running {
    let sender = try Running([
      ".build/release/srtp-loop", packets, suite ?? "none", "\(port)", "\(rate)", "\(seconds)",
    ])
    _ = sender.readLine()
    return sender
  }
}
