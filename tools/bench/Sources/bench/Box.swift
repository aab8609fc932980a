/// What decoding in a process of its own costs: a stream with `--sandbox require`, and with `off`.
///
/// Frames go to a pipe. The processor time has the start of both processes in it.
enum Box {
  private static let size = (1920, 1080)
  private static let sandboxes = ["off", "require"]

  static func report(rounds: Int, in folder: String) throws {
    head(
      "Decoding in a box, 1080p30 H.264 over UDP to raw frames in a pipe, medians of "
        + "\(rounds) rounds",
      [
        "`--sandbox`", "ms of processor time a frame", "ratio to off",
        "last packet needed → frame (ms)", "more than off (ms)", "frames of \(Latency.frames)",
      ], names: ["`--sandbox`"])
    let stream = try Latency.stream(
      named: "box", size, bitRate: "6M", structure: ["-bf", "0"], in: folder)
    let golden = try Latency.golden(of: stream, size)
    let results = try inRounds(rounds, sandboxes) { sandbox in
      try Latency.measure(peer(sandbox), of: stream, size, golden: golden)
    }
    let costs = results.map { median($0.map { $0.processorTime * 1000 / Double(Latency.frames) }) }
    let delays = results.map { median($0.map(\.steady)) }
    for (index, sandbox) in sandboxes.enumerated() {
      row([
        sandbox, number(costs[index]), number(costs[index] / costs[0], 3), number(delays[index]),
        number(delays[index] - delays[0]), "\(results[index].map(\.received).min() ?? 0)",
      ])
    }
    figure(
      "Processor time that the decoder's box adds, 1080p30 H.264", unit: "%",
      [(.ours, 100 * (costs[1] / costs[0] - 1))])
    figure(
      "Latency that the decoder's box adds, 1080p30 H.264", unit: "ms",
      [(.ours, delays[1] - delays[0])])
  }

  private static func peer(_ sandbox: String) -> Peer {
    let ours = Peer.ours(format: "yuv")
    return Peer(name: sandbox) { port, sdp, output in
      ours.command(port, sdp, output) + ["--sandbox", sandbox]
    }
  }
}
