import Foundation
import TestSupport

/// A program of others that plays RTSP.
enum Player: String, CaseIterable, Sendable {
  case ffmpeg
  /// That of PyPI, which is years ahead of Debian's.
  case ffmpegNewer
  case gstreamer, openCV

  enum Transport: String, CaseIterable, Sendable { case tcp, udp, multicast, http }

  /// How it is to play.
  struct Way: Sendable {
    var transport = Transport.tcp
    var codec = Clip.Codec.h264
    /// A name, a colon and a password.
    var login = ""
  }

  /// Plays so many pictures of a stream or, without a number, all, perhaps on another machine;
  /// returns the MD5 of each picture.
  ///
  /// GStreamer takes no number.
  func hashes(
    of url: String, _ way: Way = Way(), taking count: Int? = nil,
    on machine: NeighbouringMachine? = nil
  ) throws -> [String] {
    let output = try Scratch.path("yuv")
    let process = try RunningProcess(
      "env", (machine?.prefix ?? []) + ["env"] + (try command(url, way, count, to: output)))
    try process.waitForExit(within: 120)
    if self == .openCV {
      return String(decoding: process.standardOutput, as: UTF8.self).split(separator: "\n")
        .map(String.init)
    }
    defer { try? FileManager.default.removeItem(atPath: output) }
    return try FFmpeg.frameHashes(
      of: output, options: ["-f", "rawvideo", "-pixel_format", "yuv420p", "-video_size", "320x240"])
  }

  /// What it is to show of a clip: OpenCV converts the pictures.
  func hashes(of clip: Clip) throws -> [String] {
    self == .openCV ? try hashes(of: clip.path) : clip.hashes
  }

  private func command(
    _ url: String, _ way: Way, _ count: Int?, to output: String
  ) throws -> [String] {
    // A login in the URL, except for GStreamer, which is told it apart.
    let login = way.login.isEmpty || self == .gstreamer ? "" : way.login + "@"
    let url = url.replacing("://", with: "://\(login)", maxReplacements: 1)
    switch self {
    case .ffmpeg, .ffmpegNewer:
      let program = self == .ffmpeg ? "ffmpeg" : try Self.newerFFmpeg.get()
      // The newer one checks certificates; in HTTP only the environment tells it by what.
      let trust =
        url.hasPrefix("rtsps:") ? ["SSL_CERT_FILE=\(try Certificates.shared.get().authority)"] : []
      return trust + [program, "-nostdin", "-v", "error"]
        + ["-rtsp_transport", Self.option(way.transport, url), "-i", url]
        + (count.map { ["-frames:v", "\($0)"] } ?? [])
        + ["-an", "-fps_mode", "passthrough", "-f", "rawvideo", output]
    case .gstreamer:
      let words = way.login.split(separator: ":")
      // RTSP in HTTP is a scheme of its own.
      let location =
        way.transport == .http ? url.replacing("://", with: "h://", maxReplacements: 1) : url
      // Nobody knows the authority of the tests' certificates.
      let trust: [String] = url.hasPrefix("rtsps") ? ["tls-validation-flags=0"] : []
      let login: [String] =
        words.count == 2 ? ["user-id=\(words[0])", "user-pw=\(words[1])"] : []
      let rest = "! rtp\(way.codec)depay ! avdec_\(way.codec) ! video/x-raw,format=I420 !"
      return [
        "gst-launch-1.0", "-q", "rtspsrc", "location=\(location)",
        "protocols=\(Self.protocols(way.transport))",
      ] + trust + login + rest.split(separator: " ").map(String.init)
        + ["filesink", "location=\(output)"]
    case .openCV:
      let turns = count.map { "range(\($0))" } ?? "itertools.count()"
      let script = """
        import cv2, hashlib, itertools, sys
        capture = cv2.VideoCapture(sys.argv[1], cv2.CAP_FFMPEG)
        for _ in \(turns):
            is_there, picture = capture.read()
            if not is_there: break
            print(hashlib.md5(picture).hexdigest())
        """
      let transport = Self.option(way.transport, url)
      return ["OPENCV_FFMPEG_CAPTURE_OPTIONS=rtsp_transport;\(transport)", Self.python]
        + ["-c", script, url]
    }
  }

  /// What FFmpeg calls it.
  private static func option(_ transport: Transport, _ url: String) -> String {
    switch transport {
    case .tcp, .udp: transport.rawValue
    case .multicast: "udp_multicast"
    case .http: url.hasPrefix("rtsps:") ? "https" : "http"
    }
  }

  /// What GStreamer calls it.
  private static func protocols(_ transport: Transport) -> String {
    switch transport {
    case .tcp, .udp: transport.rawValue
    case .multicast: "udp-mcast"
    case .http: "tcp+http"
    }
  }

  /// The program that `tools/setup test` has from PyPI.
  private static let newerFFmpeg = Result {
    let path = try RunningProcess.output(
      of: python, ["-c", "import imageio_ffmpeg; print(imageio_ffmpeg.get_ffmpeg_exe())"])
    return String(decoding: path, as: UTF8.self).trimmingCharacters(in: .newlines)
  }

  /// The Python that `tools/setup test` gives OpenCV and a newer FFmpeg.
  private static let python = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent(".build/python/bin/python").path
}
