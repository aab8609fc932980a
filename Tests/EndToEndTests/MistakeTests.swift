import Foundation
import Testing

/// What people get wrong is said, costs nothing, and has an exit status of its own.
@Suite(.serialized)
struct MistakeTests {
  /// A recording of a pattern, as `rtp-send` serves it.
  private static let recording = Result { try record([]) }

  private static func record(_ options: [String]) throws -> String {
    let server = try SendingServer(
      "pattern", ["--fast", "--frames", "30", "--size", "256x144", "--bitrate", "300k"] + options)
    let path = try Scratch.path("rtp4")
    let curl = try RunningProcess("curl", ["-sS", "-o", path, server.url])
    guard try curl.waitForExit() == 0 else { throw POSIXError(.EIO) }
    return path
  }

  private func run(
    _ arguments: [String], input: String? = nil
  ) throws -> (status: Int32, words: String) {
    let file = input.flatMap { FileHandle(forReadingAtPath: $0) }
    let process = try RunningProcess(Product.rtpRecv, arguments, input: file)
    let status = try process.waitForExit()
    return (status, process.standardError)
  }

  private func key(_ bytes: UInt8) throws -> String {
    let path = try Scratch.path("key")
    let text = "AES_CM_128_HMAC_SHA1_80 " + Data(repeating: bytes, count: 30).base64EncodedString()
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    chmod(path, 0o600)
    return path
  }

  @Test func aRecordingUnderAnotherKeyIsNoSuccess() throws {
    let recording = try Self.record(["--srtp-key-file", key(1)])
    let output = try Scratch.path("h264")
    let (wrong, words) = try run([recording, "--srtp-key-file", key(2), "-o", output])
    #expect(wrong == 10, "\(words)")
    #expect(words.contains("could not be authenticated"))
    let (missing, hint) = try run([recording, "-o", output])
    #expect(missing == 9, "\(hint)")
    #expect(hint.contains("--srtp-key-file"))
    let (right, _) = try run([recording, "--srtp-key-file", key(1), "-o", output])
    #expect(right == 0)
  }

  /// What comes may be received perfectly, and be of no use to whoever wants pictures.
  @Test(arguments: [
    (["--codec", "h265"], "leave --codec out"),
    (["--frames", "3", "--on-loss", "skip", "--payload-type", "96"], nil),
  ])
  func aRunThatWroteNothingIsNoSuccess(options: [String], words: String?) throws {
    let output = try Scratch.path("y4m")
    let (status, said) = try run([Self.recording.get(), "-o", output] + options)
    #expect(status == (words == nil ? 0 : 4), "\(said)")
    #expect(said.contains(words ?? "3 frames"), "\(said)")
    #expect(FileManager.default.fileExists(atPath: output) == (words == nil))
  }

  @Test func nothingIsWrittenTwiceOrOverWhatIsRead() throws {
    let recording = try Self.recording.get()
    let output = try Scratch.path("h264")
    let key = try key(1)
    let rows = [
      ["-o", output, "-o", output], ["-o", output, "--stats", output],
      ["-o", output, "--capture", output], ["-o", recording, "--format", "h264"],
      ["--stats", key, "--srtp-key-file", key], ["--capture", "-"],
    ]
    let before = try Data(contentsOf: URL(fileURLWithPath: recording))
    let keyBefore = try Data(contentsOf: URL(fileURLWithPath: key))
    for row in rows {
      let (status, words) = try run([recording] + row)
      #expect(status == 64, "\(row): \(words)")
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: recording)) == before)
    #expect(try Data(contentsOf: URL(fileURLWithPath: key)) == keyBefore)
    #expect(!FileManager.default.fileExists(atPath: output))
  }

  @Test func whatComesThroughAPipeIsNamed() throws {
    let capture = try Scratch.path("pcapng")
    let output = try Scratch.path("h264")
    #expect(try run([Self.recording.get(), "-o", output, "--capture", capture]).status == 0)
    let mode = try FileManager.default.attributesOfItem(atPath: capture)[.posixPermissions]
    #expect(mode as? Int == 0o600, "what a camera sees concerns nobody else")
    let page = try Scratch.path("html")
    try "<!DOCTYPE html><html></html>".write(toFile: page, atomically: true, encoding: .utf8)
    for (content, words) in [(capture, "what comes is a capture"), (page, "a web page")] {
      let process = try RunningProcess(
        "sh", ["-c", "cat \(content) | \(Product.rtpRecv) - -o \(output)"])
      #expect(try process.waitForExit() == 9)
      #expect(process.standardError.contains(words), "\(process.standardError)")
    }
    // As a file, standard input may be anything that is played.
    #expect(try run(["-", "-o", output], input: capture).status == 0)
  }

  @Test(arguments: [
    ["tcp://user:canary@127.0.0.1:1"], ["udp://user:canary@127.0.0.1:1"],
    ["http://127.0.0.1:1/", "--http-proxy", "http://user:canary@127.0.0.1:99999"],
    ["http://127.0.0.1:1/", "--http-proxy", "http://user:can/ary@127.0.0.1:1"],
  ])
  func noPasswordIsShown(arguments: [String]) throws {
    let (status, words) = try run(arguments + ["-o", "/dev/null", "--format", "h264"])
    #expect(status != 0)
    #expect(!words.contains("canary") && !words.contains("can/ary"), "\(words)")
  }

  @Test func anAddressIsEnoughWhereTheTransportIsNamed() throws {
    let server = try SendingServer(
      "pattern", ["--fast", "--frames", "10", "--size", "256x144"])
    let output = try Scratch.path("h264")
    let (status, words) = try run(
      ["--transport", "http", "127.0.0.1:\(server.port)/live", "-o", output])
    #expect(status == 0, "\(words)")
  }
}
