import Foundation
import NIOCore
import RTPSend

/// A folder that goes away with the test that made it.
final class TemporaryFolder: Sendable {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "rtp-send-tests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func path(_ name: String) -> URL { folder.appendingPathComponent(name) }
}

/// The program that a sender has to get along with.
enum FFmpeg {
  struct Failed: Error {
    let arguments: [String]
    let status: Int32
  }

  /// Runs `ffmpeg` and returns what it wrote to standard output; it is killed at the deadline.
  static func run(_ arguments: [String], deadline: Duration = .seconds(60)) async throws -> Data {
    let folder = try TemporaryFolder()
    let output = folder.path("output")
    try Data().write(to: output)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["ffmpeg", "-nostdin", "-v", "error", "-y"] + arguments
    process.standardOutput = try FileHandle(forWritingTo: output)
    // Nothing here may block a thread: other tests, which feed this very process, need them.
    let status = try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
      do {
        try process.run()
      } catch {
        process.terminationHandler = nil
        continuation.resume(throwing: error)
        return
      }
      let identifier = process.processIdentifier
      let (seconds, _) = deadline.components
      DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int(seconds))) {
        [weak process] in
        if process?.isRunning == true { kill(identifier, SIGKILL) }
      }
    }
    guard status == 0 else { throw Failed(arguments: arguments, status: status) }
    return try Data(contentsOf: output)
  }

  /// A short clip of FFmpeg's own test source.
  static func makeClip(_ file: URL, frames: Int = 40, _ options: [String]) async throws {
    let source = "testsrc2=size=320x180:rate=30"
    _ = try await run(
      ["-f", "lavfi", "-i", source, "-frames:v", "\(frames)"] + options + [file.path])
  }

  /// The hash of each decoded frame.
  static func frameHashes(_ input: [String]) async throws -> [String] {
    let text = try await run(input + ["-an", "-vsync", "passthrough", "-f", "framemd5", "-"])
    return String(decoding: text, as: UTF8.self).split(separator: "\n")
      .filter { !$0.hasPrefix("#") }
      .compactMap { $0.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) } }
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
