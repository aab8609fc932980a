import Foundation

/// Many streams at once from one `rtp-send`, which has one core for itself.
///
/// On loopback the kernel also hands each datagram to its receiver in the time of its sender.
enum Load {
  struct Result {
    /// Of a core, user and system.
    let share: Double
    let packetsPerSecond: Double
    let megabits: Double
    /// Streams that had all of their pictures in time.
    let kept: Int
    /// Datagrams that the receiver was too slow for.
    let lost: Int
    /// Milliseconds by which a picture was late at most.
    let lateness: Double
  }

  private static let picturesPerSecond = 30
  private static let bitsPerSecond = 1_000_000
  private static let filmSeconds = 4
  /// Streams begin one after the other while the first one sends the film.
  private static let warmUp = filmSeconds + 2
  private static let seconds = 20

  static func report(rounds: Int, in folder: String) throws {
    head(
      "Streams of 1 Mbit/s from one process on one core, \(seconds) s, medians of \(rounds) rounds",
      [
        "streams", "% of the core", "packets/s", "Mbit/s", "streams at their rate",
        "latest picture (ms)", "lost by the receiver",
      ], names: [])
    let film = "\(folder)/load.mp4"
    try run(
      ["ffmpeg", "-v", "error", "-y", "-f", "lavfi"]
        + ["-i", "testsrc2=size=1280x720:rate=\(picturesPerSecond)", "-t", "\(filmSeconds)"]
        + ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-bf", "0"]
        + ["-b:v", "\(bitsPerSecond)", "-maxrate", "\(bitsPerSecond)"]
        + ["-bufsize", "\(bitsPerSecond / 2)", "-g", "\(picturesPerSecond)", film])
    let counts = [100, 1000]
    let results = try inRounds(rounds, counts) { try measure($0, film) }
    for (count, results) in zip(counts, results) {
      row([
        "\(count)", number(100 * median(results.map(\.share)), 1),
        number(median(results.map(\.packetsPerSecond)), 0),
        number(median(results.map(\.megabits)), 0), "\(results.map(\.kept).min() ?? 0)",
        number(median(results.map(\.lateness)), 1), "\(results.map(\.lost).reduce(0, +))",
      ])
      figure(
        "rtp-send with \(count) streams of 1 Mbit/s", unit: "% of a processor",
        [(.ours, 100 * median(results.map(\.share)))])
    }
  }

  private static func measure(_ streams: Int, _ film: String) throws -> Result {
    let cores = try cores()
    // One picture may fall on either side of each end.
    let pictures = picturesPerSecond * seconds - 1
    let sink = try Running(
      ["taskset", "-c", cores.others, ".build/release/datagram-sink", "\(streams)", "\(warmUp)"]
        + ["\(seconds)", "\(pictures)"])
    let port = sink.readLine()
    let sender = try Running(
      ["taskset", "-c", cores.sender, Peer.rtpSend, film, "udp://127.0.0.1:\(port)", "--quiet"]
        + ["--streams", "\(streams)", "--loop", "forever", "--stats", "-"])
    guard sink.readLine() == "begin" else {
      throw BenchError(description: "nothing comes of \(streams) streams")
    }
    let before = sender.processorTime
    let counts = sink.readLine().split(separator: " ").compactMap { Int($0) }
    let share = (sender.processorTime - before) / Double(seconds)
    sender.stop()
    guard counts.count == 4 else { throw BenchError(description: "the sink failed") }
    return Result(
      share: share, packetsPerSecond: Double(counts[0]) / Double(seconds),
      megabits: Double(counts[1]) * 8 / 1e6 / Double(seconds), kept: counts[2], lost: counts[3],
      lateness: try lateness(in: sender.waitUntilExit()))
  }

  /// The first core that this process may have, and the last, which is the same if there is one.
  private static func cores() throws -> (sender: String, others: String) {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }
    let numbers = line?.split { !$0.isNumber }.map(String.init) ?? []
    guard let first = numbers.first, let last = numbers.last else {
      throw BenchError(description: "/proc/self/status names no cores")
    }
    return (first, last)
  }

  private static func lateness(in statistics: String) throws -> Double {
    let object = try JSONSerialization.jsonObject(with: Data(statistics.utf8)) as? [String: Any]
    guard let lateness = object?["late_ms"] as? Double else {
      throw BenchError(description: "rtp-send does not say how late it was")
    }
    return lateness
  }
}
