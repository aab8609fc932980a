import Foundation

// Measures rtp-recv beside FFmpeg and GStreamer on the same packets in one run, and prints ratios.
// usage: bench [latency] [throughput] [--rounds N]

let arguments = CommandLine.arguments.dropFirst()
let rounds =
  arguments.firstIndex(of: "--rounds").flatMap { index in
    index + 1 < arguments.endIndex ? Int(arguments[index + 1]) : nil
  } ?? 3
let wanted = arguments.filter { ["latency", "throughput"].contains($0) }
let folder = FileManager.default.temporaryDirectory
  .appendingPathComponent("rtp-recv-bench-\(ProcessInfo.processInfo.processIdentifier)").path
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)

func number(_ value: Double, _ digits: Int = 2) -> String { String(format: "%.\(digits)f", value) }

func row(_ cells: [String]) {
  print("| " + cells.joined(separator: " | ") + " |")
  fflush(nil)
}

do {
  if wanted.isEmpty || wanted.contains("latency") {
    print("\n## Latency, 720p30 H.264 without B-frames, medians of \(rounds) rounds\n")
    row([
      "receiver", "last packet → frame (ms)", "ratio", "first frame (ms)", "frames of 300", "MiB",
    ])
    row(["---", "---:", "---:", "---:", "---:", "---:"])
    let stream = try Latency.stream(in: folder)
    let golden = try Latency.golden(of: stream)
    let peers = [
      Peer.ours(format: "yuv"), .gstreamerFrames(latency: 0), .gstreamerFrames(latency: nil),
      .ffmpegFrames,
    ]
    // Round by round rather than peer by peer, so that a slow minute of the machine is everybody's.
    var results: [[Latency.Result]] = peers.map { _ in [] }
    for _ in 0..<rounds {
      for (index, peer) in peers.enumerated() {
        results[index].append(try Latency.measure(peer, of: stream, golden: golden))
      }
    }
    let reference = median(results[1].map(\.steady))
    for (peer, results) in zip(peers, results) {
      let steady = median(results.map(\.steady))
      row([
        peer.name, number(steady), number(steady / reference), number(median(results.map(\.first))),
        "\(results.map(\.received).min() ?? 0)", number(median(results.map(\.peakMemory)), 0),
      ])
    }
  }

  if wanted.isEmpty || wanted.contains("throughput") {
    print("\n## Processor time, UDP → .h264, 1,400-byte packets, medians of \(rounds) rounds\n")
    row(["packets/s", "receiver", "µs a packet", "ratio to bare loop", "missing"])
    row(["---:", "---", "---:", "---:", "---:"])
    let stream = try Throughput.stream(in: folder)
    let packets = "\(folder)/packets.rtp4"
    try stream.write(to: packets)
    let peers = [Peer.bareLoop, .ours(format: "h264"), .ffmpegCopy, .gstreamerCopy]
    for rate in [20_000, 50_000, 100_000] {
      var results: [[Throughput.Result]] = peers.map { _ in [] }
      for _ in 0..<rounds {
        for (index, peer) in peers.enumerated() {
          results[index].append(
            try Throughput.measure(
              peer, of: stream, packets: packets, rate: rate, seconds: 7, in: folder))
        }
      }
      let reference = median(results[0].map(\.perPacket))
      for (peer, results) in zip(peers, results) {
        let perPacket = median(results.map(\.perPacket))
        row([
          "\(rate)", peer.name, number(perPacket), number(perPacket / reference),
          number(100 * median(results.map(\.missing)), 3) + " %",
        ])
      }
    }
  }
  try FileManager.default.removeItem(atPath: folder)
} catch {
  FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
  exit(1)
}
