import Foundation
import TestSupport
import Testing

/// The output of a stream with packets lost for good, for `--on-loss` and `--constant-rate`.
@Suite(.serialized)
struct LossTests {
  /// What a network that loses one packet in fifty left of the clip, recorded once.
  private static let recording = Result { () throws -> String in
    let clip = try Clip.of(.h264)
    let capture = try Scratch.path("pcapng")
    let (receiver, port) = try CommandTests.listener(["--capture", capture, "--timeout", "20"])
    let sender = try RunningProcess(
      Product.rtpSend,
      [clip.container, "udp://127.0.0.1:\(port)", "--loss", "0.02", "--seed", "3"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    #expect(try sender.waitForExit() == 0)
    return capture
  }

  /// Plays the recording; returns the hashes of the frames, the statistics and the messages.
  private func play(
    _ options: [String]
  ) throws -> (hashes: [String], statistics: [Statistics], summary: String) {
    let output = try Scratch.path("y4m")
    let player = try RunningProcess(
      Product.rtpRecv, [try Self.recording.get(), "-o", output, "--stats", "-"] + options)
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    return (
      try FFmpeg.frameHashes(of: output), try Statistics.lines(of: player), player.standardError
    )
  }

  @Test("what is missing is made up, and each frame says what it is")
  func conceal() throws {
    let clip = try Clip.of(.h264)
    let (hashes, lines, summary) = try play([])
    let statistics = try #require(lines.last)
    let intact = statistics["delivery", "intact"]
    let concealed = statistics["delivery", "concealed"]
    #expect(intact > 0 && concealed > 0)
    #expect(intact + concealed + statistics["delivery", "damaged"] == hashes.count)
    #expect(Set(hashes).intersection(clip.hashes).count >= intact)
    let lost = lines.map { $0["interval", "lost"] }.reduce(0, +)
    #expect(lost == statistics["rtp", "lost"])
    #expect(statistics["rtp", "lost"] > 0)
    #expect(summary.contains("lost in the network"))
    #expect(summary.contains("\(concealed) concealed"))
  }

  @Test("what a capture lacks is not said to be lost in the network alone")
  func cutInTheCapture() throws {
    var capture = try Data(contentsOf: URL(filePath: Self.recording.get()))
    /// In big-endian order.
    func word(at place: Int) -> Int {
      capture[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
    }
    // As with a snap length: of every tenth packet (pcapng §4.3) the first 60 bytes were captured.
    var (place, packets, cut) = (0, 0, 0)
    while place + 28 <= capture.count {
      if word(at: place) == 6 {
        packets += 1
        if packets % 10 == 0, word(at: place + 20) > 60 {
          capture.replaceSubrange(place + 20..<place + 24, with: [0, 0, 0, 60])
          cut += 1
        }
      }
      place += word(at: place + 4)
    }
    #expect(cut > 0)
    let path = try Scratch.path("pcapng")
    try capture.write(to: URL(filePath: path))
    let player = try RunningProcess(Product.rtpRecv, [path, "-o", try Scratch.path("y4m")])
    #expect(try player.waitForExit() == 0, "\(player.standardError)")
    let said = player.standardError
    #expect(said.contains(" lost in the network or not in the capture"), "\(said)")
    #expect(said.contains("\(cut) packets left out: recorded only in part"), "\(said)")
  }

  @Test("slices of two bytes are counted as pictures that cannot be decoded")
  func undecodable() throws {
    let broken = try Scratch.path("h264")
    try Self.cuttingPictures(20..<23, of: Data(contentsOf: URL(filePath: Clip.of(.h264).path)))
      .write(to: URL(filePath: broken))
    let sender = try RunningProcess(
      Product.rtpSend, [broken, "listen://127.0.0.1:0", "--once"])
    let address = try sender.waitForLine(#/listening on (127\.0\.0\.1:\d+)/#).1
    let receiver = try RunningProcess(
      Product.rtpRecv,
      ["udp://\(address)", "-o", try Scratch.path("y4m"), "--stats", "-"])
    #expect(try receiver.waitForExit() == 0, "\(receiver.standardError)")
    try sender.waitForExit()
    let statistics = try Statistics(lastLineOf: receiver)
    #expect(statistics["delivery", "decode_failures", "decoder"] == 3)
    #expect(receiver.standardError.contains("3 not decodable"), "\(receiver.standardError)")
  }

  @Test("lines about pictures of which none can be decoded are no pictures")
  func nothingDecodable() throws {
    let broken = try Scratch.path("h264")
    let clip = try Data(contentsOf: URL(filePath: Clip.of(.h264).path))
    try Self.cuttingPictures(0..<Int.max, ofTypes: [1, 5], of: clip)
      .write(to: URL(filePath: broken))
    let sender = try RunningProcess(Product.rtpSend, [broken, "listen://127.0.0.1:0", "--once"])
    let address = try sender.waitForLine(#/listening on (127\.0\.0\.1:\d+)/#).1
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", try Scratch.path("jsonl")])
    #expect(try receiver.waitForExit() == 4, "\(receiver.standardError)")
    #expect(receiver.standardError.contains("could be decoded"), "\(receiver.standardError)")
    try sender.waitForExit()
  }

  /// The elementary stream `stream`, in which of the slices of these `types`, by default those
  /// without IDR, those in `places` have two bytes.
  private static func cuttingPictures(
    _ places: Range<Int>, ofTypes types: Set<UInt8> = [1], of stream: Data
  ) -> Data {
    let startCode = Data([0, 0, 1])
    var (rest, result, slices) = (stream[...], Data(), 0)
    while let start = rest.range(of: startCode) {
      let next = rest[start.upperBound...].range(of: startCode)
      var unit = rest[start.upperBound..<(next?.lowerBound ?? rest.endIndex)]
      if let head = unit.first, types.contains(head & 0x1F) {
        if places.contains(slices) { unit = unit.prefix(2) }
        slices += 1
      }
      result += startCode + unit
      rest = rest[(next?.lowerBound ?? rest.endIndex)...]
    }
    return result
  }

  @Test("pictures that are not intact are left out")
  func skip() throws {
    let clip = try Clip.of(.h264)
    let (hashes, lines, _) = try play(["--on-loss", "skip"])
    let statistics = try #require(lines.last)
    #expect(hashes.count == statistics["delivery", "intact"])
    #expect(hashes.count < clip.frames)
    #expect(Set(hashes).isSubset(of: clip.hashes))
    // The picture before stands as long as where it is repeated.
    #expect(statistics["delivery", "freezes"] > 0)
  }

  @Test("the last intact picture replaces those that are not intact")
  func freeze() throws {
    let clip = try Clip.of(.h264)
    let (hashes, lines, _) = try play(["--on-loss", "freeze"])
    let statistics = try #require(lines.last)
    #expect(Set(hashes).isSubset(of: clip.hashes))
    #expect(statistics["delivery", "repeated"] > 0)
    #expect(statistics["delivery", "freezes"] > 0)
  }

  @Test(
    "every frame interval has one frame",
    arguments: [[], ["--on-loss", "skip"], ["--on-loss", "freeze"], ["--on-loss", "corrupt"]])
  func constantRate(options: [String]) throws {
    let clip = try Clip.of(.h264)
    let (hashes, lines, _) = try play(["--constant-rate"] + options)
    let statistics = try #require(lines.last)
    // How long the last shown picture lasts cannot be known.
    #expect((clip.frames - 60...clip.frames).contains(hashes.count))
    if options.isEmpty { #expect(hashes.count == clip.frames) }
    #expect(statistics["delivery", "surplus"] == 0)
    let exact = zip(hashes, clip.hashes).count { $0 == $1 }
    // Without the pictures before, the first one of a group may be at the place of another.
    if options.isEmpty { #expect(exact >= statistics["delivery", "intact"]) }
  }
}
