import Foundation

/// Processor time per packet, from UDP to an elementary stream in a file.
enum Throughput {
  struct Result {
    /// Microseconds of processor time per packet, user and system, without start-up.
    let perPacket: Double
    /// The fraction of the sent packets that did not arrive.
    let missing: Double
  }

  static func stream(in folder: String) throws -> Stream {
    // Noise at a high rate: about 30 full packets per frame, as in a camera's key frames.
    try Stream(
      name: "throughput", source: "nullsrc=size=640x480:rate=30,geq=random(1)*255:128:128",
      encoding: ["-preset", "ultrafast", "-bf", "0", "-b:v", "10M", "-maxrate", "10M"]
        + ["-bufsize", "1M", "-g", "30"],
      frames: 90, in: folder)
  }

  /// Sends `rate` packets a second for `seconds` and measures the processor time of the middle
  /// part.
  static func measure(
    _ peer: Peer, of stream: Stream, packets: String, rate: Int, seconds: Double
  ) throws -> Result {
    let run = try PacedRun(peer, stream, packets: packets, rate: rate, seconds: seconds)
    defer { run.discard() }
    return middlePart(
      of: run.receiver, fedBy: run.sender, for: seconds, after: settling, arrived: run.arrived)
  }

  /// After so many seconds rtp-recv reads seldom where nobody waits for what it writes.
  private static let settling = 11.0

  /// The processor time of a receiver in the middle of `seconds`, and the fraction of packets
  /// missing at the end; `arrived` returns how many packets have arrived.
  static func middlePart(
    of receiver: Running, fedBy sender: Running, for seconds: Double, after lead: Double = 2,
    arrived: () -> Double
  ) -> Result {
    usleep(UInt32(lead * 1e6))
    let (timeBefore, cpuBefore) = (Latency.now(), receiver.processorTime)
    usleep(UInt32((seconds - lead - 1) * 1e6))
    let (timeAfter, cpuAfter) = (Latency.now(), receiver.processorTime)
    let sent = Double(sender.waitUntilExit()) ?? .nan
    usleep(500_000)
    receiver.stop()
    return Result(
      perPacket: (cpuAfter - cpuBefore) * 1e6 / (sent / seconds * (timeAfter - timeBefore)),
      missing: max(0, 1 - arrived() / sent))
  }
}

extension Throughput {
  static func report(rounds: Int, in folder: String) throws {
    head(
      "Processor time, UDP → .h264, 1,400-byte packets, medians of \(rounds) rounds",
      ["packets/s", "receiver", "µs a packet", "ratio to bare loop", "missing"])
    let stream = try stream(in: folder)
    let packets = try stream.write(in: folder)
    let peers =
      [Peer.bareLoop, .ours(format: "h264")] + Peer.ffmpegCopy + [.gstreamerCopy]
      + Peer.before(format: "h264")
    let rates =
      Arguments.isQuick
      ? [50_000] : Arguments.isAll ? [20_000, 100_000] : [20_000, 50_000, 100_000]
    for rate in rates {
      let results = try inRounds(rounds, peers) { peer in
        try measure(peer, of: stream, packets: packets, rate: rate, seconds: 17)
      }
      let reference = median(results[0].map(\.perPacket))
      for (peer, results) in zip(peers, results) {
        let perPacket = median(results.map(\.perPacket))
        row([
          "\(rate)", peer.name, number(perPacket), number(perPacket / reference),
          number(100 * median(results.map(\.missing)), 3) + " %",
        ])
      }
      // What loses packets has less to do.
      let medians = results.map { results in
        median(results.map(\.missing)) < 0.01 ? median(results.map(\.perPacket)) : .nan
      }
      figure(
        "Processor time a packet, UDP to .h264, \(rate) packets/s", unit: "µs",
        Figure.Value.of(peers.map(\.contender), medians))
    }
  }
}
