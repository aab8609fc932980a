import Foundation

/// Twenty cameras, each copied into files of ten seconds by a process of its own.
enum Segments {
  struct Recorder: Sendable {
    let name: String
    /// Whether its exit status says that packets are missing.
    var saysLoss = false
    let command: @Sendable (_ url: String, _ transport: String, _ path: String) -> [String]
  }

  static let recorders = [
    Recorder(name: "rtp-recv", saysLoss: true) { url, transport, path in
      [Peer.rtpRecv, url, "--rtsp-transport", transport, "-o", "\(path).mp4", "--segment", "10s"]
        + ["--expect", "lost=0", "--quiet"]
    },
    Recorder(name: "ffmpeg -c copy -f segment") { url, transport, path in
      ["ffmpeg", "-nostdin", "-v", "quiet", "-rtsp_transport", transport, "-i", url, "-c", "copy"]
        + ["-f", "segment", "-segment_time", "10", "-reset_timestamps", "1", "\(path)-%03d.mp4"]
    },
  ]

  private static let cameras = 20
  /// Packets gather once ten seconds came.
  private static let warmUp = 14.0
  private static let time = 20.0

  static func report(rounds: Int, in folder: String) throws {
    head(
      "\(cameras) RTSP cameras of 2 Mbit/s into segments, a process each, medians of "
        + "\(rounds) rounds",
      ["receiver", "transport", "% of a processor", "ratio to ffmpeg", "recordings with losses"],
      names: ["receiver", "transport"])
    let server = try ClipServer(
      (1280, 720), framesPerSecond: 25, seconds: 45, bitRate: "2M", in: folder)
    for transport in ["tcp", "udp"] {
      let results = try inRounds(rounds, recorders) {
        try measure($0, transport, server.url, in: "\(folder)/segments")
      }
      let ffmpeg = median(results[recorders.count - 1].map(\.share))
      for (recorder, results) in zip(recorders, results) {
        let share = median(results.map(\.share))
        row([
          recorder.name, transport.uppercased(), number(share, 1), number(share / ffmpeg),
          recorder.saysLoss ? "\(results.map(\.losses).reduce(0, +))" : "",
        ])
      }
    }
  }

  private static func measure(
    _ recorder: Recorder, _ transport: String, _ url: String, in folder: String
  ) throws -> (share: Double, losses: Int) {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let receivers = try (0..<cameras).map {
      try Running(recorder.command(url, transport, "\(folder)/\($0)"))
    }
    usleep(UInt32(warmUp * 1e6))
    let start = receivers.map(\.processorTime)
    usleep(UInt32(time * 1e6))
    let spent = zip(receivers, start).map { $0.processorTime - $1 }
    let losses = receivers.count { $0.stop() != 0 }
    let files = try FileManager.default.contentsOfDirectory(atPath: folder)
    guard files.count >= cameras * 3 else {
      throw BenchError(description: "only \(files.count) files by \(recorder.name)")
    }
    return (100 * spent.reduce(0, +) / time, losses)
  }
}
