import Foundation

/// Twenty cameras, each copied into files of ten seconds by a process of its own.
enum Segments {
  struct Recorder: Sendable {
    let name: String
    let contender: Contender
    /// What it says at its end if all packets came.
    var praise: String?
    let command: @Sendable (_ url: String, _ transport: String, _ path: String) -> [String]
  }

  static let recorders: [Recorder] = {
    func ffmpeg(_ program: String, _ name: String, _ contender: Contender) -> Recorder {
      Recorder(name: "\(name) -c copy -f segment", contender: contender) { url, transport, path in
        [program, "-nostdin", "-v", "quiet", "-rtsp_transport", transport, "-i", url, "-c", "copy"]
          + ["-f", "segment", "-segment_time", "10", "-reset_timestamps", "1", "\(path)-%03d.mp4"]
      }
    }
    return [
      // With --expect it would measure when packets come, and wake up for each.
      Recorder(name: "rtp-recv", contender: .ours, praise: "nothing lost") { url, transport, path in
        [Peer.rtpRecv, url, "--rtsp-transport", transport, "-o", "\(path).mp4", "--segment", "10s"]
      },
      ffmpeg("ffmpeg", "ffmpeg", .ffmpeg),
    ] + (FFmpegProgram.newer.map { [ffmpeg($0, "newer ffmpeg", .newerFFmpeg)] } ?? [])
  }()

  private static let cameras = 20
  /// Packets gather once ten seconds came.
  private static let warmUp = 14.0
  private static let time = Arguments.isAll ? 10.0 : 20.0

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
      let ffmpeg = median(results[1].map(\.share))
      for (recorder, results) in zip(recorders, results) {
        let share = median(results.map(\.share))
        row([
          recorder.name, transport.uppercased(), number(share, 1), number(share / ffmpeg),
          recorder.praise.map { _ in "\(results.compactMap(\.losses).reduce(0, +))" } ?? "",
        ])
      }
      figure(
        "\(cameras) cameras into segments, RTSP over \(transport.uppercased())",
        unit: "% of a processor",
        Figure.Value.of(recorders.map(\.contender), results.map { median($0.map(\.share)) }))
    }
  }

  private static func measure(
    _ recorder: Recorder, _ transport: String, _ url: String, in folder: String
  ) throws -> (share: Double, losses: Int?) {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let paths = (0..<cameras).map { "\(folder)/\($0)" }
    let receivers = try paths.map { path in
      _ = FileManager.default.createFile(atPath: "\(path).log", contents: nil)
      let log = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(path).log"))
      return try Running(recorder.command(url, transport, path), diagnostics: log)
    }
    usleep(UInt32(warmUp * 1e6))
    let start = receivers.map(\.processorTime)
    usleep(UInt32(time * 1e6))
    let spent = zip(receivers, start).map { $0.processorTime - $1 }
    for receiver in receivers { receiver.stop() }
    let losses = try recorder.praise.map { praise in
      try paths.count { try !String(contentsOfFile: "\($0).log", encoding: .utf8).contains(praise) }
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: folder)
    let count = files.count { $0.hasSuffix(".mp4") }
    guard count >= cameras * 2 else {
      throw BenchError(description: "only \(count) files by \(recorder.name)")
    }
    return (100 * spent.reduce(0, +) / time, losses)
  }
}
