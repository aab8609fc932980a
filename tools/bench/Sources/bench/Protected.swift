import Foundation

/// The cost of SRTP above plain UDP, compared with libsrtp2 in a loop over the same packets.
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
      ["suite", "µs a packet", "above plain UDP", "libsrtp2 in a loop", "ratio", "missing"],
      names: ["suite"])
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
    // The loop runs with each measurement, because the machine's speed changes within minutes.
    let results = try inRounds(rounds, [nil] + suites.map(\.name)) { suite in
      let key = suite.flatMap { keys[$0] }
      let result = try measure(suite, key: key, packets: packets, in: folder)
      guard let suite else { return (result: result, loop: 0.0) }
      let text = try Running([".build/release/srtp-loop", packets, suite]).waitUntilExit()
      return (result: result, loop: (Double(text) ?? .nan) / 1000)
    }
    let plain = results[0].map(\.result.perPacket)
    row(["none", number(median(plain)), "", "", "", missing(results[0].map(\.result))])
    for (suite, results) in zip(suites, results.dropFirst()) {
      let above = zip(results, plain).map { $0.result.perPacket - $1 }
      let loops = results.map(\.loop)
      row([
        suite.name, number(median(results.map(\.result.perPacket))), number(median(above)),
        number(median(loops)), number(median(zip(above, loops).map { $0 / $1 })),
        missing(results.map(\.result)),
      ])
      figure(
        "SRTP above plain UDP, \(suite.name)", unit: "µs",
        [(.ours, median(above)), (.bare, median(loops))])
    }
  }

  private static func missing(_ results: [Throughput.Result]) -> String {
    number(100 * median(results.map(\.missing)), 3) + " %"
  }

  /// One run of `rtp-recv`, with the processor time of its middle part.
  private static func measure(
    _ suite: String?, key: String?, packets: String, in folder: String
  ) throws -> Throughput.Result {
    let port = try UDPSocket.freePort()
    let statistics = "\(folder)/srtp.jsonl"
    let receiver = try Running(
      // The cost of writing a file varies more between runs than SRTP costs.
      Peer.ours(format: "h264").command(port, "", "/dev/null") + ["--stats", statistics]
        + (key.map { ["--srtp-key-file", $0] } ?? []))
    guard waitUntilBound(port) else { throw BenchError(description: "rtp-recv does not listen") }
    // All suites use the same sender, because its prepared packets occupy the caches too.
    let sender = try Running([
      ".build/release/srtp-loop", packets, suite ?? "none", "\(port)", "\(rate)", "\(seconds)",
    ])
    _ = sender.readLine()
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
}
