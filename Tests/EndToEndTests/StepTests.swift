import Foundation
import TestSupport
import Testing

/// The pattern's flash and its click in recordings, whatever the network and the clocks do.
@Suite("Sound in step with pictures", .serialized)
struct StepTests {
  /// A sender and a receiver, which records into both containers.
  struct Recording {
    let files: [String]
    private let sender: RunningProcess
    private let receiver: RunningProcess

    /// Sends for `seconds`, and receives from their beginning or `late`, from the third on.
    ///
    /// The sound is delayed by 0 to 200 ms, 100 on average, and its clock runs 200 ppm too fast.
    init(seconds: Int, late: Bool) throws {
      let ports = try DescribedPorts(
        sound: "a=rtpmap:97 mpeg4-generic/48000/2",
        "a=fmtp:97 mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1190")
      files = try ["mp4", "mkv"].map { try Scratch.path($0) }
      // On a busy machine the sender delays sound by much more than it should, and a click whose
      // packet counts as lost would be late.
      let arguments =
        [ports.description, "--reorder-window", "3000", "--timeout", "5"]
        + files.flatMap { ["-o", $0] }
      func receive() throws -> RunningProcess {
        let receiver = try RunningProcess(Product.rtpRecv, arguments)
        _ = try receiver.waitForLine(#/listening on/#)
        return receiver
      }
      func send() throws -> RunningProcess {
        try RunningProcess(
          Product.rtpSend,
          ["pattern", "--size", "256x144", "--bitrate", "300k", "--quiet"] + [
            "udp://127.0.0.1:\(ports.video)", "--audio", "aac", "--audio-port", "\(ports.sound)",
            "--audio-jitter", "33", "--audio-clock-ppm", "200", "--frames", "\(30 * seconds)",
          ])
      }
      if late {
        sender = try send()
        try PassingStream.wait(on: ports.video, for: 2)
        receiver = try receive()
      } else {
        receiver = try receive()
        sender = try send()
      }
    }

    /// What the receiver has said.
    var words: String { receiver.standardError }

    func finish() throws {
      #expect(try sender.waitForExit(within: 150) == 0, "\(sender.standardError)")
      #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    }
  }

  /// When the square at the lower right becomes white.
  private static func flashes(in path: String) throws -> [Double] {
    let listing = try RunningProcess.output(
      of: "ffprobe",
      ["-v", "error", "-select_streams", "v", "-show_entries", "frame=pts_time"]
        + ["-of", "default=nw=1:nk=1", path])
    let times = String(decoding: listing, as: UTF8.self).split(separator: "\n").compactMap {
      Double($0)
    }
    // Four samples in its middle.
    let luma = try FFmpeg.output([
      "-i", path, "-map", "0:v", "-vf", "crop=2:2:236:116,format=gray", "-fps_mode", "passthrough",
      "-f", "rawvideo", "-",
    ])
    try #require(luma.count == 4 * times.count)
    let areLit = stride(from: 0, to: luma.count, by: 4).map { luma[$0] > 125 }
    return zip(zip(areLit, areLit.dropFirst()), times.dropFirst()).filter { !$0.0.0 && $0.0.1 }
      .map(\.1)
  }

  /// When the loud sound begins, by the times of the file.
  private static func clicks(in path: String) throws -> [Double] {
    let samples = try FFmpeg.output([
      "-copyts", "-i", path, "-map", "0:a", "-af",
      "aresample=8000:async=1:first_pts=0:min_hard_comp=0.001", "-f", "u8", "-ac", "1", "-",
    ])
    var clicks: [Double] = []
    for (place, value) in samples.enumerated() where abs(Int(value) - 128) > 31 {
      let time = Double(place) / 8000
      if clicks.last.map({ time > $0 + 0.2 }) ?? true { clicks.append(time) }
    }
    return clicks
  }

  /// How much later than its flash each click is, in milliseconds, of those after `start`.
  private static func differences(in path: String, after start: Double) throws -> [Double] {
    let flashes = try flashes(in: path)
    return try clicks(in: path).filter { $0 > start }.compactMap { click in
      flashes.map { (click - $0) * 1000 }.min { abs($0) < abs($1) }
    }
  }

  @Test("a click comes with its flash, also in what was joined in the middle")
  func inStep() throws {
    let whole = try Recording(seconds: 60, late: false)
    let joined = try Recording(seconds: 40, late: true)
    try joined.finish()
    try whole.finish()
    // The first reports come with the first packets; on a busy machine, behind some of the sound.
    for path in whole.files {
      let found = try Self.differences(in: path, after: 3.5)
      #expect(found.count >= 54, "\(found) \(whole.words)")
      #expect(Self.areInStep(found, after: 3), "\(found) \(whole.words)")
    }
    // Before the next reports, after 5 s of sending, only arrivals are known.
    for path in joined.files {
      let found = try Self.differences(in: path, after: 7)
      #expect(found.count >= 28, "\(found) \(joined.words)")
      #expect(Self.areInStep(found, after: 8), "\(found) \(joined.words)")
    }
  }

  /// Whether clicks, a second apart, come within 20 ms of their flashes after so many `seconds`.
  ///
  /// What arrivals were wrong by until reports came, much on a busy machine, is corrected at 50 ms
  /// a second.
  private static func areInStep(_ differences: [Double], after seconds: Int) -> Bool {
    differences.enumerated().allSatisfy { place, difference in
      abs(difference) < 20 + 50 * Double(max(0, seconds - place))
    }
  }
}
