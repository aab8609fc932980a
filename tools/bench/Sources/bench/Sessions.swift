import Foundation

/// Five hundred RTSP sessions at once in one process, through the libraries.
enum Sessions {
  private static let sessions = 500
  private static let seconds = 20.0

  static func report(rounds: Int, in folder: String) throws {
    head(
      "\(sessions) RTSP sessions at 1 Mbit/s in one process, \(Int(seconds)) s, interleaved",
      ["packets", "missing", "MiB", "% of a processor"])
    let stream = try Throughput.stream(in: folder)
    let bits = Double(stream.packets.reduce(0) { $0 + $1.count }) * 8 / Double(stream.packets.count)
    let rate = 1_000_000 / bits
    // Each stream ends by itself, so every missing packet was lost.
    let count = Int(rate * seconds)
    let server = try Running([
      ".build/release/connection-server", try stream.write(in: folder),
      try stream.describe(port: 0), "\(count)", "\(rate)",
    ])
    let url = "rtsp://127.0.0.1:\(server.readLine())/"
    let program = try Running(
      ["../../Examples/.build/release/many-streams", "600"] + Array(repeating: url, count: sessions)
    )
    usleep(UInt32((seconds - 2) * 1e6))
    let (memory, time) = (program.peakMemory, program.processorTime)
    let words = program.waitUntilExit().split(separator: " ")
    let packets = words.firstIndex(of: "packets,").flatMap { Int(words[$0 - 1]) } ?? 0
    row([
      "\(packets)", "\(count * sessions - packets)", number(memory, 0),
      number(100 * time / (seconds - 2), 0),
    ])
    figure(
      "\(sessions) RTSP sessions of 1 Mbit/s in one process", unit: "% of a processor",
      [(.ours, 100 * time / (seconds - 2))])
    figure("Memory of \(sessions) RTSP sessions", unit: "MiB", [(.ours, memory)])
  }
}
