import Foundation

/// The highest rate at which no packet is lost, from UDP to an elementary stream in a file.
enum LossFreeRate {
  private static let rates =
    Arguments.isQuick
    ? [50_000, 100_000] : [50_000, 100_000, 150_000, 200_000, 300_000]
  private static let seconds = Arguments.isQuick ? 2.0 : 3.0

  static func report(rounds: Int, in folder: String) throws {
    head(
      "Highest rate without a loss, UDP → .h264, 1,400-byte packets, \(number(seconds, 0)) s each, "
        + "best of \(rounds) rounds; rates are \(rates.map(String.init).joined(separator: ", "))",
      ["receiver", "packets/s", "sent at the next rate", "missing there"])
    let stream = try Throughput.stream(in: folder)
    let packets = try stream.write(in: folder)
    let peers =
      [Peer.ours(format: "h264")] + Peer.ffmpegCopy + [.gstreamerCopy, .bareLoop]
      + Peer.before(format: "h264")
    let results = try inRounds(rounds, peers) { try climb($0, stream, packets) }
    var best: [Double] = []
    for (peer, results) in zip(peers, results) {
      let highest = results.max { $0.rate < $1.rate } ?? (0, nil)
      best.append(highest.rate)
      row([
        peer.name, number(highest.rate, 0), highest.failure.map { number($0.rate, 0) } ?? "",
        highest.failure.map { number(100 * $0.missing, 2) + " %" } ?? "",
      ])
    }
    figure(
      "Highest rate without a loss, UDP to .h264", unit: "packets/s", isLowerBetter: false,
      Figure.Value.of(peers.map(\.contender), best))
  }

  /// The highest rate that was sent and came whole, and the first that did not.
  private static func climb(
    _ peer: Peer, _ stream: Stream, _ packets: String
  ) throws -> (rate: Double, failure: (rate: Double, missing: Double)?) {
    var highest = 0.0
    for rate in rates {
      let (sent, missing) = try measure(peer, stream, packets, rate)
      // What FFmpeg and GStreamer hold back at their end is some packets of the last picture.
      guard missing * sent * seconds < Double(stream.packets.count) else {
        return (highest, (sent, missing))
      }
      highest = max(highest, sent)
      // The sender itself is at its end.
      if sent < 0.95 * Double(rate) { break }
    }
    return (highest, nil)
  }

  /// Packets a second that were sent, and the fraction of them that is not in the file.
  private static func measure(
    _ peer: Peer, _ stream: Stream, _ packets: String, _ rate: Int
  ) throws -> (sent: Double, missing: Double) {
    let run = try PacedRun(peer, stream, packets: packets, rate: rate, seconds: seconds)
    defer { run.discard() }
    let sent = Double(run.sender.waitUntilExit()) ?? .nan
    usleep(700_000)
    run.receiver.stop()
    let arrived = run.arrived()
    return (sent / seconds, max(0, 1 - arrived / sent))
  }
}
