import Foundation
import Testing

/// A program that imports the core and nothing else of the package.
@Suite(.serialized) struct CoreAloneTests {
  @Test func itTurnsARecordingIntoAccessUnits() throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("core-alone-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let receiver = try PacketCollector()
    try Command.run(
      "ffmpeg",
      "-v error -f lavfi -i testsrc2=size=320x240:rate=25 -frames:v 50 -c:v libx264 -bf 0 -g 10 "
        + "-f rtp rtp://127.0.0.1:\(receiver.port)")
    let recording = folder.appendingPathComponent("packets.rtpdump")
    try receiver.recording().write(to: recording)

    let lines = try Command.run(Command.path(of: "access-units"), recording.path)
      .split(separator: "\n")
    #expect(lines.count == 50)
    #expect(lines.allSatisfy { $0.hasPrefix("h264 ") && $0.contains(" whole ") })
    #expect(lines.filter { $0.hasSuffix("key") }.count == 5)
  }

  @Test(arguments: ["libav", "libcurl", "libsrtp", "libssl", "libcrypto", "libnss", "libz."])
  func itLinksNoLibraryOfC(_ library: String) throws {
    let libraries = try Command.run("ldd", Command.path(of: "access-units"))
    #expect(libraries.contains("libswiftCore"))
    #expect(!libraries.contains(library))
  }

  @Test(arguments: ["avcodec_", "curl_easy", "srtp_", "SSL_", "NSS_"])
  func itContainsNoSymbolOf(_ prefix: String) throws {
    let symbols = try Command.run("nm", Command.path(of: "access-units"))
    #expect(symbols.contains("Reception"))
    #expect(!symbols.contains(prefix))
  }
}
