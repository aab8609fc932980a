public import Foundation
import Synchronization

/// The program that decides what is right: it makes the material, and its decode is what is
/// expected.
public enum FFmpeg {
  private static let quiet = ["-nostdin", "-v", "error", "-y"]

  /// Runs `ffmpeg` with `input` as the file of its standard input; returns its standard output.
  public static func output(_ arguments: [String], input: [UInt8]? = nil) throws -> Data {
    let folder = try TemporaryFolder()
    var source: FileHandle?
    if let input {
      try Data(input).write(to: folder.url("input"))
      source = try FileHandle(forReadingFrom: folder.url("input"))
    }
    return try RunningProcess.output(of: "ffmpeg", quiet + arguments, input: source)
  }

  /// The same for tests in which other tasks feed the program.
  public static func run(_ arguments: [String]) async throws -> Data {
    let process = try RunningProcess("ffmpeg", quiet + arguments)
    return try await process.finished()
  }

  /// What `arguments` make of FFmpeg's own test sources, in a file of the given ending or, by
  /// default, on standard output; once in a process, because the encoders give the same every time.
  public static func made(_ arguments: [String], ending: String? = nil) throws -> Data {
    let key = [ending ?? "-"] + arguments
    if let known = products.withLock({ $0[key] }) { return known }
    let product: Data
    if let ending {
      let folder = try TemporaryFolder()
      _ = try output(arguments + [folder("made.\(ending)")])
      product = try Data(contentsOf: folder.url("made.\(ending)"))
    } else {
      product = try output(arguments + ["-"])
    }
    products.withLock { $0[key] = product }
    return product
  }

  private static let products = Mutex<[[String]: Data]>([:])

  /// Of every frame in the file at `path`, the MD5 of its planes as FFmpeg decodes them.
  ///
  /// `options` stand before the input, those of `conversion` after it.
  public static func frameHashes(
    of path: String, options: [String] = [], conversion: [String] = []
  ) throws -> [String] {
    // Raw frames need no decoder. FFmpeg would take longer to start than to read them.
    if options.isEmpty, conversion.isEmpty, let hashes = Y4MFile(path: path)?.hashes() {
      return hashes
    }
    let process = try RunningProcess(
      "ffmpeg", quiet + options + ["-i", path] + conversion + listing)
    // A file that is absent, empty or broken off has the frames that come out of it, if any.
    try process.waitForExit()
    return hashes(in: process.standardOutput)
  }

  /// The same where the arguments say what is decoded, and other tasks feed the program.
  public static func frameHashes(decoding input: [String]) async throws -> [String] {
    hashes(in: try await run(input + listing))
  }

  private static let listing = ["-an", "-fps_mode", "passthrough", "-f", "framemd5", "-"]

  private static func hashes(in listing: Data) -> [String] {
    String(decoding: listing, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
      .compactMap { $0.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) } }
  }
}
