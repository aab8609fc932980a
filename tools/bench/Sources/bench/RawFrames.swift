import Foundation

/// What raw frames of 1080p30 cost in a pipe: processor time of the receiver, with its start.
enum RawFrames {
  static let clients: [Start.Client] = {
    let options = ["-threads", "1", "-rtsp_transport", "tcp"]
    var clients = [
      Start.Client(name: "rtp-recv", contender: .ours) {
        Start.ours($0, Start.inTCP)
      },
      Start.Client(name: "ffmpeg -threads 1", contender: .ffmpeg) { Start.ffmpeg($0, options) },
      Start.Client(name: "gstreamer latency=0", contender: .gstreamer) {
        Start.gstreamer($0, "protocols=tcp", decoder: "avdec_h264 max-threads=1")
      },
    ]
    if let newer = FFmpegProgram.newer {
      clients.append(
        Start.Client(name: "newer ffmpeg -threads 1", contender: .newerFFmpeg) {
          Start.ffmpeg($0, options, program: newer)
        })
    }
    if let before = Peer.rtpRecvBefore {
      clients.append(
        Start.Client(name: "rtp-recv before", contender: .before) {
          Start.ours($0, Start.inTCP, program: before)
        })
    }
    return clients
  }()

  private static let seconds = Arguments.isQuick ? 6 : 14

  static func report(rounds: Int, in folder: String) throws {
    head(
      "\(seconds) s of raw frames in a pipe, RTSP in TCP, 1080p30 H.264, medians of "
        + "\(rounds) rounds",
      ["receiver", "ms of processor time a frame", "ratio to ffmpeg"])
    let server = try ClipServer((1920, 1080), seconds: seconds + 2, bitRate: "6M", in: folder)
    let results = try inRounds(rounds, clients) { try measure($0, server) }
    let medians = results.map { median($0) }
    for (client, cost) in zip(clients, medians) {
      row([client.name, number(cost), number(cost / medians[1])])
    }
    figure(
      "Processor time a raw frame, 1080p30 H.264, RTSP over TCP", unit: "ms",
      Figure.Value.of(clients.map(\.contender), medians))
  }

  private static func measure(_ client: Start.Client, _ server: ClipServer) throws -> Double {
    let frames = 30 * seconds
    // Not up to the end of the stream, which GStreamer sometimes misses.
    let receiver = try Running(client.command(server.url))
    try receiver.read(frames * server.frameBytes)
    return receiver.processorTime * 1000 / Double(frames)
  }
}
