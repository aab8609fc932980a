import TestSupport
import Testing

/// What the tests read of raw frames without FFmpeg is what FFmpeg reads.
struct Y4MFileTests {
  @Test(arguments: [
    "yuv420p", "yuvj420p", "yuv422p", "yuv444p", "gray", "yuv420p10le", "yuv422p10le",
    "yuv444p12le", "gray10le",
  ])
  func theHashesOfFramesAreThoseOfFFmpeg(pixelFormat: String) async throws {
    let path = try Scratch.path("y4m")
    _ = try FFmpeg.output([
      "-f", "lavfi", "-i", "testsrc2=size=163x121:rate=25", "-frames:v", "5",
      "-pix_fmt", pixelFormat, "-strict", "-1", path,
    ])
    let hashes = try FFmpeg.frameHashes(of: path)
    #expect(hashes.count == 5)
    #expect(Set(hashes).count == 5)
    #expect(try await hashes == FFmpeg.frameHashes(decoding: ["-i", path]))
  }
}
