import Foundation

/// Frames a second of a capture in 4K, decoded by one thread and by two.
enum Decoding {
  private struct Way: Sendable {
    let isOurs: Bool
    let threads: Int

    func command(_ capture: String, _ film: String) -> String {
      isOurs
        ? "'\(Peer.rtpRecv)' '\(capture)' -o - --format yuv --quiet --decoder-threads \(threads)"
        : "ffmpeg -nostdin -v error -threads \(threads) -i '\(film)' -fps_mode passthrough "
          + "-f rawvideo -"
    }
  }

  private static let frames = Arguments.isAll ? 120 : 240
  private static let ways = [1, 2].flatMap { threads in
    [true, false].map { Way(isOurs: $0, threads: threads) }
  }
  private static let codecs = [
    ("H.265", ["-c:v", "libx265", "-x265-params", "log-level=none:keyint=60:bframes=2:wpp=0"]),
    ("H.264", ["-c:v", "libx264", "-g", "60", "-bf", "2"]),
  ]

  static func report(rounds: Int, in folder: String) throws {
    head(
      "Decoding 2160p60, frames a second into /dev/null, medians of \(rounds) rounds",
      ["stream, threads", "rtp-recv `--decoder-threads`", "FFmpeg `-threads`", "ratio"],
      names: ["stream, threads"])
    for (name, encoder) in codecs {
      let (film, capture) = ("\(folder)/decoding.mp4", "\(folder)/decoding.pcapng")
      try run(
        ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=3840x2160:rate=60"]
          + ["-frames:v", "\(frames)", "-pix_fmt", "yuv420p"] + encoder
          + ["-preset", "ultrafast", "-b:v", "25M", film])
      try record(film, in: capture)
      let results = try inRounds(rounds, ways) { way in
        let start = Latency.now()
        try run(["sh", "-c", way.command(capture, film) + " > /dev/null"])
        return Double(frames) / (Latency.now() - start)
      }
      for index in stride(from: 0, to: ways.count, by: 2) {
        let (ours, theirs) = (median(results[index]), median(results[index + 1]))
        row([
          "\(name), \(ways[index].threads)", number(ours, 0), number(theirs, 0),
          number(ours / theirs),
        ])
        figure(
          "Decoding 2160p60 \(name) with \(ways[index].threads) threads", unit: "frames/s",
          isLowerBetter: false, [(.ours, ours), (.ffmpeg, theirs)])
      }
    }
  }

  /// Has `film` sent and captured.
  private static func record(_ film: String, in capture: String) throws {
    try? FileManager.default.removeItem(atPath: capture)
    let sender = try Running([Peer.rtpSend, film, "listen://127.0.0.1:0", "--once", "--quiet"])
    let address = sender.readLine().replacingOccurrences(of: "listening on ", with: "")
    try run([Peer.rtpRecv, "udp://\(address)", "--capture", capture, "--quiet"])
    _ = sender.waitUntilExit()
  }
}
