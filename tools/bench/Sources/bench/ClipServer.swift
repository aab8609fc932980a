import Foundation

/// A clip of H.264 without B pictures, which GStreamer's RTSP server sends to each client from its
/// first frame.
struct ClipServer {
  let url: String
  let frameBytes: Int
  private let server: Running

  /// Makes a clip of `seconds` and serves it.
  init(
    _ size: (Int, Int), framesPerSecond: Int = 30, seconds: Int, bitRate: String, in folder: String
  ) throws {
    frameBytes = size.0 * size.1 * 3 / 2
    let clip = "\(folder)/\(size.1)-\(bitRate).mp4"
    try run(
      ["ffmpeg", "-v", "error", "-y", "-f", "lavfi"]
        + ["-i", "testsrc2=size=\(size.0)x\(size.1):rate=\(framesPerSecond)"]
        + ["-t", "\(seconds)", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast"]
        + ["-bf", "0", "-b:v", bitRate, "-maxrate", bitRate, "-bufsize", bitRate]
        + ["-g", "\(2 * framesPerSecond)", clip])
    server = try Running([
      "/usr/bin/python3", "../../Tests/EndToEndTests/Servers/gstreamer-rtsp-server.py", clip,
      "h264",
    ])
    let port = server.readLine().split(separator: " ").last.map(String.init) ?? ""
    url = "rtsp://127.0.0.1:\(port)/stream"
  }
}
