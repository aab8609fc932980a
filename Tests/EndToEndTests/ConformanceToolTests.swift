import Foundation
import TestSupport
import Testing

/// `tools/conformance` says of each way whether every picture is right.
struct ConformanceToolTests {
  private static let tool = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("tools/conformance").path

  /// What it prints of both clips from `rtp-send` by HTTP, and its exit status.
  private static func report(programs: String) throws -> (text: String, status: Int32) {
    let folder = try TemporaryFolder()
    for codec in Clip.Codec.allCases {
      try FileManager.default.copyItem(
        atPath: try Clip.of(codec).path, toPath: folder("\(codec.rawValue).bit"))
    }
    // What is no video is named, and nothing else.
    try Data("no video".utf8).write(to: folder.url("readme"))
    let tool = try RunningProcess(
      tool, [folder(""), "--only", "rtp-send http", "--programs", programs])
    let status = try tool.waitForExit(within: 120)
    return (String(decoding: tool.standardOutput, as: UTF8.self), status)
  }

  @Test func whatIsRightIsExact() throws {
    let programs = URL(fileURLWithPath: Product.rtpRecv).deletingLastPathComponent().path
    let (text, status) = try Self.report(programs: programs)
    #expect(status == 0, "\(text)")
    #expect(text.contains("2 streams, 2 runs\n"), "\(text)")
    #expect(text.contains("h264.bit: h264, 300 pictures\n"), "\(text)")
    #expect(text.contains("h265.bit: h265, 300 pictures\n"), "\(text)")
    #expect(text.contains("left out: readme\n"), "\(text)")
    #expect(text.contains("2 of 2 runs are exact"), "\(text)")
  }

  @Test func aWrongPictureIsNamed() throws {
    let folder = try TemporaryFolder()
    // The tenth picture of a receiver that is wrong has another hash.
    let receiver = """
      #!/bin/sh
      '\(Product.rtpRecv)' "$@"
      status=$?
      sed -i '10s/"md5":"./"md5":"x/' "$3"
      exit $status
      """
    try receiver.write(toFile: folder("rtp-recv"), atomically: false, encoding: .utf8)
    chmod(folder("rtp-recv"), 0o755)
    try FileManager.default.createSymbolicLink(
      atPath: folder("rtp-send"), withDestinationPath: Product.rtpSend)
    let (text, status) = try Self.report(programs: folder(""))
    #expect(status == 1, "\(text)")
    #expect(text.contains("0 of 2 runs are exact"), "\(text)")
    #expect(
      text.contains(
        "differs: h264.bit from rtp-send by http: 300 of 300 pictures, the first other one is 10"),
      "\(text)")
  }
}
