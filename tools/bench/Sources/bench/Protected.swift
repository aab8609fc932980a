import Foundation

/// What SRTP costs above plain UDP, beside what libsrtp2 takes in a loop over the same packets.
enum Protected {
  private static let suites: [(name: String, length: Int)] = [
    ("AES_CM_128_HMAC_SHA1_80", 30), ("AEAD_AES_128_GCM", 28), ("AEAD_AES_256_GCM", 44),
  ]
  private static let rate = 50_000
  private static let seconds = 7.0

  static func report(rounds: Int, in folder: String) throws {
    head(
      "Processor time of SRTP, UDP → .h264, 1,400-byte packets at \(rate) a second, medians of "
        + "\(rounds) rounds",
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
    let results = try inRounds(rounds, [nil] + suites.map(\.name)) { suite in
      let key = suite.flatMap { keys[$0] }
      return try measure(suite, key: key, packets: packets, of: stream, in: folder)
    }
    let loops = try inRounds(rounds, suites.map(\.name)) { suite in
      let text = try Running([".build/release/srtp-loop", packets, suite]).waitUntilExit()
      return (Double(text) ?? .nan) / 1000
    }
    let plain = median(results[0].map(\.perPacket))
    row(["none", number(plain), "", "", "", missing(results[0])])
    for (index, suite) in suites.enumerated() {
      let perPacket = median(results[index + 1].map(\.perPacket))
      let loop = median(loops[index])
      row([
        suite.name, number(perPacket), number(perPacket - plain), number(loop),
        number((perPacket - plain) / loop), missing(results[index + 1]),
      ])
    }
  }

  private static func missing(_ results: [Throughput.Result]) -> String {
    number(100 * median(results.map(\.missing)), 3) + " %"
  }

  /// One run of `rtp-recv`, with the processor time of its middle part.
  private static func measure(
    _ suite: String?, key: String?, packets: String, of stream: Stream, in folder: String
  ) throws -> Throughput.Result {
    let port = try UDPSocket.freePort()
    let output = "\(folder)/srtp-output.h264"
    defer { try? FileManager.default.removeItem(atPath: output) }
    let receiver = try Running(
      Peer.ours(format: "h264").command(port, "", output)
        + (key.map { ["--srtp-key-file", $0] } ?? []))
    guard waitUntilBound(port) else { throw BenchError(description: "rtp-recv does not listen") }
    let sender = try Running(
      suite.map {
        [".build/release/srtp-loop", packets, $0, "\(port)", "\(rate)", "\(seconds)"]
      } ?? [".build/release/paced-sender", packets, "\(port)", "\(rate)", "\(seconds)"])
    if suite != nil { _ = sender.readLine() }
    return Throughput.middlePart(
      of: receiver, fedBy: sender, for: seconds, stream, output)
  }
}
