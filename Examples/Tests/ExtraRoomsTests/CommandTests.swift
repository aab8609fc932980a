import Foundation
import Testing

/// The whole command with a transport, a payload format and an output from another package.
@Suite(.serialized) struct CommandTests {
  private static let folder = FileManager.default.temporaryDirectory
    .appendingPathComponent("extra-rooms-\(UUID().uuidString)")

  @Test func whatFFmpegSendsAsVP8ComesOutOfTheAddedRoomsExactly() throws {
    try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: Self.folder) }
    let clip = Self.folder.appendingPathComponent("clip.webm").path
    try Command.run(
      "ffmpeg",
      "-v error -y -f lavfi -i testsrc2=size=320x240:rate=25 -frames:v 25 -c:v libvpx -b:v 300k -g 10 \(clip)"
    )
    let packets = Self.folder.appendingPathComponent("packets.hex").path
    let receiver = try PacketCollector()
    try Command.run(
      "ffmpeg", "-v error -re -i \(clip) -c copy -f rtp rtp://127.0.0.1:\(receiver.port)")
    try receiver.hexLines().write(toFile: packets, atomically: true, encoding: .utf8)

    let sums = Self.folder.appendingPathComponent("sums.fnv").path
    let video = Self.folder.appendingPathComponent("video.y4m").path
    try Command.run(
      Command.path(of: "rtp-recv-extra"),
      "hex://\(packets) --codec vp8 -o \(sums) -o \(video) -o tally:\(sums).sizes")
    #expect(try String(contentsOfFile: "\(sums).sizes", encoding: .utf8) == "320x240 25\n")
    #expect(try hashes(of: video) == hashes(of: clip))
    let lines = try String(contentsOfFile: sums, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 25)
    #expect(lines.allSatisfy { $0.hasPrefix("320x240 ") })
    #expect(Set(lines).count == 25)
    // The whole command line goes with it, and so do the options of its own.
    let unnamed = Self.folder.appendingPathComponent("packets").path
    try FileManager.default.copyItem(atPath: packets, toPath: unnamed)
    let rest = Self.folder.appendingPathComponent("rest.y4m").path
    try Command.run(
      Command.path(of: "rtp-recv-extra"),
      "--transport hex \(unnamed) --codec vp8 --hex-skip 3 --frames 5 -o \(rest)")
    #expect(try hashes(of: rest).count == 5)
  }

  @Test func theHelpNamesWhatWasAdded() throws {
    let help = try Command.run(Command.path(of: "rtp-recv-extra"), "--help")
    #expect(help.contains("--hex-skip <n>"))
    #expect(
      help.contains("  hex:///PATH or FILE.hex  packets, each a line of hexadecimal digits\n"))
    #expect(help.contains("vp8"))
    #expect(help.contains("fnv"))
    #expect(help.contains("tally:PATH"))
  }

  @Test func theCommandSaysWhatAnAddedTransportTells() throws {
    try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: Self.folder) }
    let packets = Self.folder.appendingPathComponent("few.hex").path
    try "80\n80\n".write(toFile: packets, atomically: true, encoding: .utf8)
    let video = Self.folder.appendingPathComponent("nothing.y4m").path
    let (status, complaint) = try Command.complaint(
      of: Command.path(of: "rtp-recv-extra"), "\(packets) --hex-skip 5 -o \(video)")
    #expect(status == 4)
    #expect(complaint.contains("--hex-skip left out all 2 lines\n"), "\(complaint)")
  }

  @Test func theCommandSaysWhyAnAddedOutputEnds() throws {
    try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: Self.folder) }
    let packets = Self.folder.appendingPathComponent("deep.hex").path
    let receiver = try PacketCollector()
    try Command.run(
      "ffmpeg",
      "-v error -f lavfi -i testsrc2=size=320x240:rate=25 -frames:v 10 -pix_fmt yuv420p10le "
        + "-c:v libx264 -bf 0 -g 10 -f rtp rtp://127.0.0.1:\(receiver.port)")
    try receiver.hexLines().write(toFile: packets, atomically: true, encoding: .utf8)
    let sums = Self.folder.appendingPathComponent("deep.fnv").path
    let (status, complaint) = try Command.complaint(
      of: Command.path(of: "rtp-recv-extra"), "hex://\(packets) --codec h264 -o \(sums)")
    #expect(status == 6)
    #expect(
      complaint.contains("\(sums): checksums are of samples of 8 bits, but these have 10"),
      "\(complaint)")
  }

  /// Nothing separates its frames in a file.
  @Test func thereIsNoElementaryStreamOfVP8() throws {
    let (status, complaint) = try Command.complaint(
      of: Command.path(of: "rtp-recv-extra"), "hex:///nowhere.hex --codec vp8 -o video.vp8")
    #expect(status == 64)
    #expect(complaint.contains("cannot tell the format of 'video.vp8'"), "\(complaint)")
  }

  private func hashes(of path: String) throws -> [Substring] {
    try Command.run("ffmpeg", "-v error -i \(path) -fps_mode passthrough -f framemd5 -").split(
      separator: "\n"
    )
    .filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").last }
  }
}
