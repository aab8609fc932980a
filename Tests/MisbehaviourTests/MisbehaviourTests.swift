import Foundation
import Testing

/// Servers that do what their scripts say.
struct MisbehaviourTests {
  @Test func theUsualAnswersAreThoseOfAServerThatFFmpegPlays() async throws {
    let server = try await SocketServer.start(Script(""))
    let ffmpeg = try Command.run(
      "ffmpeg",
      ["-v", "error", "-rtsp_transport", "tcp", "-i", "rtsp://127.0.0.1:\(server.port)/stream"]
        + ["-c", "copy", "-f", "framemd5", "-"])
    #expect(ffmpeg.status == 0, "\(ffmpeg.errors)")
    let lines = ffmpeg.output.split(separator: "\n")
    #expect(lines.filter { !$0.hasPrefix("#") }.count == ClipPackets.frameCount)
    try await server.stop()
  }

  @Test(arguments: Script.names)
  func everyScriptCanBeRead(name: String) throws {
    let script = try Script(named: name)
    #expect(!script.title.isEmpty)
    #expect(name == "usual" || !script.expectations.isEmpty)
  }
}
