import Foundation
import Glibc

/// The time from starting the program to the first raw frame in its pipe, and to a whole JPEG, with
/// GStreamer's RTSP server.
enum Start {
  struct Client: Sendable {
    let name: String
    /// Whether it makes one picture, after which its pipe ends.
    var isPicture = false
    let command: @Sendable (_ url: String) -> [String]
  }

  static let clients = [
    Client(name: "rtp-recv") { [Peer.rtpRecv, $0, "-o", "-", "--format", "yuv", "--quiet"] },
    Client(name: "rtp-recv, TCP") {
      [Peer.rtpRecv, $0, "--rtsp-transport", "tcp", "-o", "-", "--format", "yuv", "--quiet"]
    },
    Client(name: "gstreamer latency=0") { gstreamer($0) },
    Client(name: "gstreamer latency=0, TCP") { gstreamer($0, "protocols=tcp") },
    Client(name: "ffmpeg") { ffmpeg($0) },
    Client(name: "ffmpeg, TCP") { ffmpeg($0, "-rtsp_transport", "tcp") },
    Client(name: "rtp-recv", isPicture: true) {
      [Peer.rtpRecv, $0, "-o", "-", "--format", "jpg", "--quiet"]
    },
    Client(name: "rtp-recv, TCP", isPicture: true) {
      [Peer.rtpRecv, $0, "--rtsp-transport", "tcp", "-o", "-", "--format", "jpg", "--quiet"]
    },
  ]

  private static func gstreamer(_ url: String, _ options: String...) -> [String] {
    ["gst-launch-1.0", "-q", "rtspsrc", "location=\(url)", "latency=0"] + options
      + ["!", "rtph264depay", "!", "avdec_h264", "!", "fdsink", "fd=1", "sync=false"]
  }

  private static func ffmpeg(_ url: String, _ options: String...) -> [String] {
    ["ffmpeg", "-v", "quiet"] + options
      + ["-i", url, "-fps_mode", "passthrough", "-f", "rawvideo", "-"]
  }

  static func report(rounds: Int, in folder: String) throws {
    head(
      "Start to first frame, RTSP, 720p30 H.264, medians of \(rounds) rounds",
      ["receiver", "first frame (ms)", "ratio to gstreamer", "ratio to ffmpeg"])
    let clip = "\(folder)/start.mp4"
    try run(
      ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30"]
        + ["-t", "20", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-bf", "0"]
        + ["-b:v", "4M", "-g", "60", clip])
    let server = try Running([
      "/usr/bin/python3", "../../Tests/EndToEndTests/Servers/gstreamer-rtsp-server.py", clip,
      "h264",
    ])
    let port = server.readLine().split(separator: " ").last.map(String.init) ?? ""
    let results = try inRounds(rounds, clients) { client in
      let command = client.command("rtsp://127.0.0.1:\(port)/stream")
      return try client.isPicture ? wholeOutput(of: command) : firstFrame(of: command)
    }
    let medians = results.map { median($0) }
    for (index, client) in clients.enumerated() where !client.isPicture {
      // UDP is compared with UDP, and TCP with TCP.
      row([
        client.name, number(medians[index], 0), number(medians[index] / medians[2 + index % 2]),
        number(medians[index] / medians[4 + index % 2]),
      ])
    }
    head(
      "Start to a whole JPEG, in the same rounds",
      ["receiver", "picture (ms)", "ratio to its first frame"])
    for (index, client) in clients.enumerated() where client.isPicture {
      row([client.name, number(medians[index], 0), number(medians[index] / medians[index % 2])])
    }
  }

  /// Milliseconds until the pipe has ended.
  private static func wholeOutput(of command: [String]) throws -> Double {
    let start = Latency.now()
    let receiver = try Running(command)
    _ = try receiver.output.fileHandleForReading.readToEnd()
    return (Latency.now() - start) * 1000
  }

  /// Milliseconds until one whole frame has come through the pipe.
  private static func firstFrame(of command: [String]) throws -> Double {
    let start = Latency.now()
    let receiver = try Running(command)
    let descriptor = receiver.output.fileHandleForReading.fileDescriptor
    var missing = 1280 * 720 * 3 / 2
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while missing > 0 {
      let count = read(descriptor, &buffer, min(buffer.count, missing))
      guard count > 0 else { throw BenchError(description: "no frame from \(command)") }
      missing -= count
    }
    let end = Latency.now()
    receiver.kill()
    return (end - start) * 1000
  }
}
