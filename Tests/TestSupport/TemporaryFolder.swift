public import Foundation

/// A folder that is gone after the test.
public final class TemporaryFolder: Sendable {
  public let url: URL

  public init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("rtp-recv-test-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  public var path: String { url.path }

  /// The path of a file in it.
  public func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

  /// The same as a URL.
  public func url(_ name: String) -> URL { url.appendingPathComponent(name) }

  public func contents(_ name: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: url(name)))
  }

  public var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }
}

/// The folder of this test run, for what several tests share and for what is looked at afterwards.
public enum Scratch {
  private static let made = Result {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("rtp-recv-tests-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  public static var folder: URL { get throws { try made.get() } }

  /// A path in the folder that no other test has.
  public static func path(_ ending: String) throws -> String {
    try folder.appendingPathComponent(UUID().uuidString + "." + ending).path
  }

  /// How many bytes the file at `path` has; none where there is no file.
  public static func size(of path: String) -> Int {
    (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
  }
}
