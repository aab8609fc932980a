import Foundation
import TestSupport
import Testing

/// `tools/conformance` says of each way whether every picture is right.
struct ConformanceToolTests {
  private static let tool = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("tools/conformance").path

  /// What it prints of both clips by the way of that name, and its exit status.
  private static func report(
    _ way: String = "rtp-send http", programs: String = rightPrograms, _ options: [String] = []
  ) throws -> (text: String, status: Int32) {
    let folder = try TemporaryFolder()
    for codec in Clip.Codec.allCases {
      try FileManager.default.copyItem(
        atPath: try Clip.of(codec).path, toPath: folder("\(codec.rawValue).bit"))
    }
    // What is no video is named, and nothing else.
    try Data("no video".utf8).write(to: folder.url("readme"))
    let tool = try RunningProcess(
      // A space ends the name, so that it is not that of HTTPS too.
      tool, [folder(""), "--only", way + " ", "--programs", programs] + options)
    let status = try tool.waitForExit(within: 120)
    return (String(decoding: tool.standardOutput, as: UTF8.self), status)
  }

  private static let rightPrograms = URL(fileURLWithPath: Product.rtpRecv)
    .deletingLastPathComponent().path

  @Test func whatIsRightIsExact() throws {
    let (text, status) = try Self.report()
    #expect(status == 0, "\(text)")
    #expect(text.contains("2 streams, 2 runs\n"), "\(text)")
    #expect(text.contains("h264.bit: h264, 300 pictures\n"), "\(text)")
    #expect(text.contains("h265.bit: h265, 300 pictures\n"), "\(text)")
    #expect(text.contains("left out: readme\n"), "\(text)")
    #expect(text.contains("2 of 2 runs are exact"), "\(text)")
  }

  @Test(
    "each transport is one by which pictures come",
    arguments: [
      "rtp-send rtsps", "rtp-send rtsps-srtp", "rtp-send https", "rtp-send stdin", "rtp-send tcp",
      "rtp-send nats", "ffmpeg multicast", "gstreamer multicast", "gstreamer tcp",
    ])
  func transports(way: String) throws {
    let (text, status) = try Self.report(way)
    #expect(status == 0, "\(text)")
    #expect(text.contains("2 of 2 runs are exact"), "\(text)")
  }

  @Test func theReportSaysWhereItComesFrom() throws {
    let folder = try TemporaryFolder()
    let (text, _) = try Self.report("no way at all", ["--report", folder("report")])
    #expect(try String(contentsOf: folder.url("report"), encoding: .utf8) == text)
    #expect(text.contains(#/^date +\d{4}-\d\d-\d\d \d\d:\d\d UTC\n/#), "\(text)")
    #expect(text.contains(#/\ncommit +\S+\n/#), "\(text)")
    #expect(text.contains(#/\nversions +rtp-recv \S+, rtp-send \S+, .*FFmpeg \d/#), "\(text)")
    #expect(text.contains(#/\ncommand +tools\/conformance .*--report \S+\n/#), "\(text)")
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
