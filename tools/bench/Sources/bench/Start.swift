import Foundation
import Glibc

/// The time from starting the program to the first raw frame in its pipe, and to a written JPEG,
/// with GStreamer's RTSP server.
enum Start {
  struct Client: Sendable {
    let name: String
    var contender: Contender?
    let command: @Sendable (_ url: String) -> [String]
  }

  static let clients: [Client] = {
    var clients = [
      Client(name: "rtp-recv", contender: .ours) { ours($0) },
      Client(name: "rtp-recv, TCP", contender: .ours) { ours($0, inTCP) },
      Client(name: "gstreamer latency=0", contender: .gstreamer) { gstreamer($0) },
      Client(name: "gstreamer latency=0, TCP", contender: .gstreamer) {
        gstreamer($0, "protocols=tcp")
      },
      Client(name: "ffmpeg", contender: .ffmpeg) { ffmpeg($0) },
      Client(name: "ffmpeg, TCP", contender: .ffmpeg) { ffmpeg($0, ["-rtsp_transport", "tcp"]) },
    ]
    if let newer = FFmpegProgram.newer {
      clients += [
        Client(name: "newer ffmpeg", contender: .newerFFmpeg) { ffmpeg($0, program: newer) },
        Client(name: "newer ffmpeg, TCP", contender: .newerFFmpeg) {
          ffmpeg($0, ["-rtsp_transport", "tcp"], program: newer)
        },
      ]
    }
    if let before = Peer.rtpRecvBefore {
      clients += [
        Client(name: "rtp-recv before", contender: .before) { ours($0, program: before) },
        Client(name: "rtp-recv before, TCP", contender: .before) {
          ours($0, inTCP, program: before)
        },
      ]
    }
    return clients
  }()

  static let inTCP = ["--rtsp-transport", "tcp"]

  /// What the start of a program takes varies more than other figures.
  private static let starts = 5

  static func ours(
    _ url: String, _ options: [String] = [], program: String = Peer.rtpRecv
  ) -> [String] {
    [program, url] + options + ["-o", "-", "--format", "yuv", "--quiet"]
  }

  static func gstreamer(
    _ url: String, _ options: String..., decoder: String = "avdec_h264"
  ) -> [String] {
    ["gst-launch-1.0", "-q", "rtspsrc", "location=\(url)", "latency=0"] + options
      + ["!", "rtph264depay", "!"] + decoder.split(separator: " ").map(String.init)
      + ["!", "fdsink", "fd=1", "sync=false"]
  }

  static func ffmpeg(
    _ url: String, _ options: [String] = [], program: String = "ffmpeg"
  ) -> [String] {
    [program, "-nostdin", "-v", "quiet"] + options
      + ["-i", url, "-fps_mode", "passthrough", "-f", "rawvideo", "-"]
  }

  static func report(rounds: Int, in folder: String) throws {
    head(
      "Start to first frame, RTSP, 720p30 H.264, medians of \(rounds) rounds",
      ["receiver", "first frame (ms)", "ratio to gstreamer", "ratio to ffmpeg"])
    let server = try ClipServer((1280, 720), seconds: 20, bitRate: "4M", in: folder)
    let results = try inRounds(rounds, clients) { try firstFrame($0, server) }
    let medians = results.map { median($0) }
    for (index, client) in clients.enumerated() {
      // UDP is compared with UDP, and TCP with TCP.
      row([
        client.name, number(medians[index], 0), number(medians[index] / medians[2 + index % 2]),
        number(medians[index] / medians[4 + index % 2]),
      ])
    }
    for (place, transport) in ["UDP", "TCP"].enumerated() {
      let chosen = clients.indices.filter { $0 % 2 == place }
      figure(
        "Start → first frame, RTSP over \(transport)", unit: "ms",
        Figure.Value.of(chosen.map { clients[$0].contender }, chosen.map { medians[$0] }))
    }
    try reportPictures(rounds: rounds, in: folder)
  }

  private static func reportPictures(rounds: Int, in folder: String) throws {
    head(
      "Start to a written JPEG, RTSP in TCP, 1080p30 H.264, medians of \(starts) starts in each of "
        + "\(rounds) rounds",
      ["of rtp-recv", "ms", "ratio to the first frame"], names: ["of rtp-recv"])
    let server = try ClipServer((1920, 1080), seconds: 20, bitRate: "6M", in: folder)
    let path = "\(folder)/shot.jpg"
    let ways: [() throws -> [Double]] = [
      { [try firstFrame(clients[1], server)] }, { try picture(path, server) },
    ]
    let results = try inRounds(rounds * starts, ways) { try $0() }
    let first = median(results[0].map { $0[0] })
    row(["first frame in a pipe", number(first, 0), number(1)])
    for (index, name) in ["JPEG, `--frames 1 --on-loss skip`", "and its end"].enumerated() {
      let time = median(results[1].map { $0[index] })
      row([name, number(time, 0), number(time / first)])
      if index == 0 { figure("Start → a written JPEG, RTSP over TCP", unit: "ms", [(.ours, time)]) }
    }
  }

  /// Milliseconds until the program has written a picture, and until it has ended.
  private static func picture(_ path: String, _ server: ClipServer) throws -> [Double] {
    let start = Latency.now()
    let receiver = try Running([
      Peer.rtpRecv, server.url, "--rtsp-transport", "tcp", "-o", path, "--frames", "1",
      "--on-loss", "skip", "--quiet",
    ])
    // It appears whole.
    while access(path, F_OK) != 0 {
      guard Latency.now() - start < 20 else { throw BenchError(description: "no \(path)") }
      usleep(200)
    }
    let written = Latency.now()
    _ = try receiver.output.fileHandleForReading.readToEnd()
    let end = Latency.now()
    _ = receiver.waitUntilExit()
    try FileManager.default.removeItem(atPath: path)
    return [written, end].map { ($0 - start) * 1000 }
  }

  /// Milliseconds until one whole frame has come through the pipe.
  private static func firstFrame(_ client: Client, _ server: ClipServer) throws -> Double {
    let start = Latency.now()
    let receiver = try Running(client.command(server.url))
    try receiver.read(server.frameBytes)
    return (Latency.now() - start) * 1000
  }
}
