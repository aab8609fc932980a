import Foundation
import NIOCore
import RTPSend
import TestPattern
import TestSupport

extension FFmpeg {
  /// A short clip of FFmpeg's own test source.
  static func makeClip(_ file: URL, frames: Int = 40, _ options: [String]) throws {
    let source = "testsrc2=size=320x180:rate=30"
    let clip = try made(
      ["-f", "lavfi", "-i", source, "-frames:v", "\(frames)"] + options,
      ending: file.pathExtension)
    try clip.write(to: file)
  }

  /// The number that each decoded frame of a pattern carries.
  static func frameNumbers(of file: URL, width: Int, height: Int) async throws -> [UInt32?] {
    let planes = [UInt8](
      try await run([
        "-i", file.path, "-vsync", "passthrough", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-",
      ]))
    let length = width * height * 3 / 2
    return stride(from: 0, to: planes.count, by: length).map { offset in
      let luma = Array(planes[offset..<min(planes.count, offset + width * height)])
      return FrameNumberStrip.read(luma: luma.span, stride: width, width: width)
    }
  }
}
