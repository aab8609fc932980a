import Foundation
import TestSupport
import Testing

/// Pictures and raw frames for programs, from a sender to a file.
@Suite(.serialized)
struct PictureTests {
  private func receive(
    _ options: [String], from sending: [String] = []
  ) throws -> (status: Int32, process: RunningProcess) {
    let (sender, address) = try CommandTests.server(sending)
    let receiver = try RunningProcess(Product.rtpRecv, ["udp://\(address)"] + options)
    let status = try receiver.waitForExit()
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    return (status, receiver)
  }

  private func size(of path: String) throws -> String {
    let listing = try RunningProcess.output(
      of: "ffprobe",
      ["-v", "error", "-show_entries", "stream=codec_name,width,height", "-of", "csv=p=0", path])
    return String(decoding: listing, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  @Test(
    "one picture ends the run",
    arguments: [
      ("jpg", "mjpeg", [String]()), ("png", "png", ["--frames", "1", "--on-loss", "skip"]),
    ])
  func onePicture(_ ending: String, _ codec: String, _ options: [String]) throws {
    let path = try Scratch.path(ending)
    let (status, process) = try receive(["-o", path] + options)
    #expect(status == 0, "\(process.standardError)")
    #expect(try size(of: path) == "\(codec),256,144")
  }

  @Test("a picture to standard output, scaled")
  func standardOutput() throws {
    let (status, process) = try receive(["-o", "-", "--format", "png", "--size", "100x50"])
    #expect(status == 0, "\(process.standardError)")
    let rgb = try FFmpeg.output(
      ["-f", "png_pipe", "-i", "pipe:0", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
      input: [UInt8](process.standardOutput))
    #expect(rgb.count == 100 * 50 * 3)
  }

  @Test(
    "what is no file is not said to end whole",
    arguments: ["-o /dev/full --format jpg", "-o - > /dev/full", "-o - --format h264 > /dev/full"])
  func noFile(options: String) throws {
    let (sender, address) = try CommandTests.server([])
    let receiver = try RunningProcess(
      "bash", ["-c", #"exec "$0" "$1" "# + options, Product.rtpRecv, "udp://\(address)"])
    #expect(try receiver.waitForExit() == 6, "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
    let words = receiver.standardError
    #expect(words.contains("cannot be written: No space left on device"), "\(words)")
    #expect(!words.contains("whole frame"), "\(words)")
  }

  @Test("a recording gives the same pictures at any speed", arguments: [["--every", "500ms"]])
  func recording(_ options: [String]) throws {
    let capture = try Scratch.path("pcapng")
    let (status, process) = try receive(
      ["--capture", capture, "--frames", "50"], from: ["--frames", "60"])
    #expect(status == 0, "\(process.standardError)")
    let folder = try Scratch.path("pictures")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let player = try RunningProcess(
      Product.rtpRecv, [capture, "-o", folder + "/shot.png", "-o", folder + "/all.y4m"] + options)
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    // 50 frames, 30 a second.
    #expect(names == ["all.y4m"] + (1...4).map { "shot-00000\($0).png" })
    // Another run begins with 1 again.
    let another = try RunningProcess(
      Product.rtpRecv,
      [capture, "-o", folder + "/shot-%06d.png", "--every", "1s"]
        + ["--size", "128x72"])
    #expect(try another.waitForExit() == 0, "\(another.standardError)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == names.count)
    let sizes = try (1...4).map { try size(of: folder + "/shot-00000\($0).png") }
    #expect(sizes == ["png,128,72", "png,128,72", "png,256,144", "png,256,144"])
  }

  @Test("no picture is made of what is not intact, and the status says so")
  func nothingIntact() throws {
    let path = try Scratch.path("jpg")
    let sending = ["--loss", "0.3", "--seed", "3", "--frames", "40"]
    let (status, process) = try receive(["-o", path, "--timeout", "3"], from: sending)
    if status == 0 {
      #expect(try size(of: path) == "mjpeg,256,144")
    } else {
      #expect(status == 4 && !FileManager.default.fileExists(atPath: path))
      #expect(process.standardError.contains("--on-loss skip waits for one"))
    }
  }

  @Test(
    "raw frames have the samples and the size that a program wants",
    arguments: [("bgr24", 3.0), ("nv12", 1.5), ("gray8", 1), ("p010le", 3)])
  func frames(_ format: String, _ bytes: Double) throws {
    let path = try Scratch.path("yuv")
    let (status, process) = try receive(
      ["-o", path, "--pixel-format", format, "--size", "128x72", "--frames", "10"])
    #expect(status == 0, "\(process.standardError)")
    let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
    #expect(size == Int(128 * 72 * bytes) * 10)
  }
}
