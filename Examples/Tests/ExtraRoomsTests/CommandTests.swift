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
    try run(
      "ffmpeg",
      "-v error -y -f lavfi -i testsrc2=size=320x240:rate=25 -frames:v 25 -c:v libvpx -b:v 300k -g 10 \(clip)"
    )
    let packets = Self.folder.appendingPathComponent("packets.hex").path
    let receiver = try PacketCollector()
    try run("ffmpeg", "-v error -re -i \(clip) -c copy -f rtp rtp://127.0.0.1:\(receiver.port)")
    try receiver.hexLines().write(toFile: packets, atomically: true, encoding: .utf8)

    let sums = Self.folder.appendingPathComponent("sums.fnv").path
    let video = Self.folder.appendingPathComponent("video.y4m").path
    try run(Self.command, "hex://\(packets) --codec vp8 -o \(sums) -o \(video)")
    #expect(try hashes(of: video) == hashes(of: clip))
    let lines = try String(contentsOfFile: sums, encoding: .utf8).split(separator: "\n")
    #expect(lines.count == 25)
    #expect(lines.allSatisfy { $0.hasPrefix("320x240 ") })
    #expect(Set(lines).count == 25)
  }

  @Test func theHelpNamesWhatWasAdded() throws {
    let help = try run(Self.command, "--help")
    #expect(help.contains("hex"))
    #expect(help.contains("vp8"))
    #expect(help.contains("fnv"))
  }

  /// Beside the test bundle.
  private static var command: String {
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    while folder.path != "/" {
      let candidate = folder.appendingPathComponent("rtp-recv-extra").path
      if FileManager.default.isExecutableFile(atPath: candidate) { return candidate }
      folder.deleteLastPathComponent()
    }
    return "rtp-recv-extra"
  }

  private func hashes(of path: String) throws -> [Substring] {
    try run("ffmpeg", "-v error -i \(path) -fps_mode passthrough -f framemd5 -").split(
      separator: "\n"
    )
    .filter { !$0.hasPrefix("#") }.compactMap { $0.split(separator: ",").last }
  }

  /// Runs a program to its end, a minute at most, and returns what it wrote.
  @discardableResult
  private func run(_ program: String, _ arguments: String) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["timeout", "60", program] + arguments.split(separator: " ").map(String.init)
    let output = Pipe()
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(program) \(arguments)")
    return String(decoding: data, as: UTF8.self)
  }
}
