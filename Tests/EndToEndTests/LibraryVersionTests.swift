import Foundation
import TestSupport
import Testing

/// A library that is older than what this program needs is named before anything is done with it.
struct LibraryVersionTests {
  /// Compiles `source` as a library called `name` in a folder of its own, and returns the folder.
  private static func library(_ name: String, _ source: String) throws -> String {
    let folder = try Scratch.path("libraries")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let file = "\(folder)/library.c"
    try source.write(toFile: file, atomically: false, encoding: .utf8)
    _ = try RunningProcess.output(
      of: "gcc", ["-shared", "-fPIC", "-o", "\(folder)/\(name)", file])
    return folder
  }

  @Test(
    "one that is loaded at the start ends the run",
    arguments: [
      (
        "libcurl 7.84.0 is too old: 7.85.0",
        """
        #include <curl/curl.h>
        static curl_version_info_data old = {.version_num = 0x075400};
        curl_version_info_data *curl_version_info(CURLversion age) { return &old; }
        """
      ),
      (
        "libsrtp2 2.4.2 is too old: 2.5.0", "unsigned srtp_get_version(void) { return 0x02040002; }"
      ),
      // LibreSSL says so.
      (
        "OpenSSL 2.0.0 is too old: 3.0.0",
        "unsigned long OpenSSL_version_num(void) { return 0x20000000L; }"
      ),
    ],
    [
      (Product.rtpRecv, ["rtp://127.0.0.1:0", "-o", "/dev/null", "--format", "yuv"]),
      (Product.rtpSend, ["pattern", "udp://127.0.0.1:9", "--frames", "1"]),
    ])
  func linked(
    library: (words: String, source: String), use: (program: String, arguments: [String])
  ) throws {
    let old = ["LD_PRELOAD": try Self.library("old.so", library.source) + "/old.so"]
    let process = try RunningProcess(use.program, use.arguments, environment: old)
    #expect(try process.waitForExit() == 17, "\(process.standardError)")
    let said = process.standardError.split(separator: "\n")
    #expect(said.count == 1 && said.allSatisfy { $0.contains(library.words) }, "\(said)")
    // Who looks for the reason is told what else there is to know.
    let version = try RunningProcess(use.program, ["--version"], environment: old)
    #expect(try version.waitForExit() == 0)
  }

  @Test func decodingLoadsNoReaderOfFiles() throws {
    let (sender, address) = try CommandTests.server(["--loop", "forever"])
    defer { sender.send(signal: SIGTERM) }
    let output = try Scratch.path("yuv")
    let receiver = try RunningProcess(
      Product.rtpRecv, ["udp://\(address)", "-o", output, "--sandbox", "off"])
    try waitUntil("a picture is written") { Scratch.size(of: output) > 0 }
    let maps = try RunningProcess.output(of: "cat", ["/proc/\(receiver.processIdentifier)/maps"])
    let loaded = String(decoding: maps, as: UTF8.self)
    #expect(loaded.contains("/libavcodec.so"))
    for name in ["libavformat", "libavdevice", "libavfilter"] {
      #expect(!loaded.contains("/\(name).so"))
    }
    receiver.send(signal: SIGTERM)
    #expect(try receiver.waitForExit() == 0)
  }

  @Test(
    "one of FFmpeg's that is older than its headers were is not used",
    arguments: ["libavutil", "libavcodec", "libswscale"])
  func loaded(name: String) throws {
    let words = try RunningProcess.output(of: "pkg-config", ["--modversion", name])
    let major = try #require(String(decoding: words, as: UTF8.self).split(separator: ".").first)
    let folder = try Self.library(
      "\(name).so.\(major)",
      "unsigned \(name.dropFirst(3))_version(void) { return \(major) << 16 | 99; }")
    let (sender, source) = try RecordingTests.soundServer(["--frames", "30", "--audio", "aac"])
    let receiver = try RunningProcess(
      Product.rtpRecv, source + ["-o", try Scratch.path("yuv")],
      environment: ["LD_LIBRARY_PATH": folder])
    #expect(try receiver.waitForExit() == 17, "\(receiver.standardError)")
    #expect(
      receiver.standardError.contains("\(name).so.\(major) is version \(major).0, and older than"),
      "\(receiver.standardError)")
    sender.send(signal: SIGTERM)
    try sender.waitForExit()
  }

  /// Both count how often a library that they share is initialized, which may happen once.
  @Test func aRunThatEndsWhileLibrariesAreLoadedEndsInOrder() throws {
    let folder = try Self.library(
      "libonce.so",
      """
      #include <stdlib.h>
      #include <unistd.h>
      static int count;
      __attribute__((constructor)) static void begin(void) { if (count++) abort(); }
      // The second one would be loaded meanwhile.
      __attribute__((destructor)) static void end(void) { usleep(1000000); }
      """)
    for name in ["avutil", "avcodec"] {
      let words = try RunningProcess.output(of: "pkg-config", ["--modversion", "lib\(name)"])
      let major = try #require(String(decoding: words, as: UTF8.self).split(separator: ".").first)
      let source = "\(folder)/\(name).c"
      // The run ends between the two.
      try """
      #include <unistd.h>
      unsigned \(name)_version(void) { usleep(400000); return \(major) << 16 | 0xFFFF; }
      """.write(toFile: source, atomically: false, encoding: .utf8)
      _ = try RunningProcess.output(
        of: "gcc",
        ["-shared", "-fPIC", "-o", "\(folder)/lib\(name).so.\(major)", source]
          + ["-Wl,--no-as-needed", "\(folder)/libonce.so"])
    }
    let receiver = try RunningProcess(
      Product.rtpRecv, ["http://127.0.0.1:1/live"], environment: ["LD_LIBRARY_PATH": folder])
    #expect(try receiver.waitForExit() == 2, "\(receiver.standardError)")
  }
}
