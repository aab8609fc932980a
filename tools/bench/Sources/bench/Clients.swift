import Foundation

/// The processor time of an RTSP server whose clients all watch the same live stream, beside that
/// of a program that does nothing but send as many bytes.
enum Clients {
  struct Server: Sendable {
    let name: String
    let target: String
    let command: @Sendable (_ carrier: String, _ clients: Int, _ film: String) -> [String]
  }

  struct Result {
    /// Nanoseconds, user and system.
    let perByte: Double
    let share: Double
    let megabits: Double
  }

  private static let rtpSend =
    ProcessInfo.processInfo.environment["RTP_SEND"] ?? "../../.build/release/rtp-send"
  private static let picturesPerSecond = 30
  private static let bitsPerSecond = 4_000_000
  private static let seconds = 10.0

  private static let servers = [
    Server(name: "sendmsg", target: "film") { carrier, clients, _ in
      [".build/release/bare-server", carrier, "\(clients)", "\(picturesPerSecond)"]
        + ["\(bitsPerSecond / 8 / picturesPerSecond)"]
    },
    // A film without an end is live: all clients see the same pictures.
    Server(name: "rtp-send", target: "film") { _, _, film in
      [rtpSend, film, "rtsp://127.0.0.1:0/film", "--loop", "forever", "--quiet"]
    },
  ]

  static func report(rounds: Int, in folder: String) throws {
    head(
      "Processor time, one live stream of 4 Mbit/s to RTSP clients, medians of \(rounds) rounds",
      ["carrier", "clients", "server", "Mbit/s", "% of a processor", "ratio to sendmsg"],
      names: ["carrier", "server"])
    let film = "\(folder)/film.mp4"
    try run(
      ["ffmpeg", "-v", "error", "-y", "-f", "lavfi"]
        + ["-i", "testsrc2=size=1280x720:rate=\(picturesPerSecond)", "-t", "10"]
        + ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-bf", "0"]
        + ["-b:v", "\(bitsPerSecond)", "-maxrate", "\(bitsPerSecond)"]
        + ["-bufsize", "\(bitsPerSecond)", "-g", "\(2 * picturesPerSecond)", film])
    for carrier in ["tcp", "udp"] {
      for clients in Arguments.isAll ? [200] : [1, 200] {
        let results = try inRounds(rounds, servers) { server in
          try measure(server, carrier, clients, film)
        }
        let reference = median(results[0].map(\.perByte))
        for (server, results) in zip(servers, results) {
          row([
            carrier, "\(clients)", server.name, number(median(results.map(\.megabits)), 0),
            number(100 * median(results.map(\.share)), 1),
            number(median(results.map(\.perByte)) / reference),
          ])
        }
        figure(
          "rtp-send to \(clients) RTSP clients over \(carrier.uppercased())",
          unit: "% of a processor",
          [
            (.ours, 100 * median(results[1].map(\.share))),
            (.bare, 100 * median(results[0].map(\.share))),
          ])
      }
    }
  }

  private static func measure(
    _ server: Server, _ carrier: String, _ clients: Int, _ film: String
  ) throws -> Result {
    let process = try Running(server.command(carrier, clients, film))
    guard let port = process.readLine().split(separator: ":").last else {
      throw BenchError(description: "\(server.name) does not listen")
    }
    let crowd = try Running([
      ".build/release/rtsp-crowd", carrier, "\(clients)", "\(port)", server.target, "\(seconds)",
    ])
    guard crowd.readLine() == "ready" else {
      throw BenchError(description: "\(server.name) does not serve \(clients) clients")
    }
    let before = process.processorTime
    let bytes = Double(crowd.readLine()) ?? .nan
    let time = process.processorTime - before
    return Result(
      perByte: time * 1e9 / bytes, share: time / seconds, megabits: bytes * 8 / 1e6 / seconds)
  }
}
