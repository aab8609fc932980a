import Foundation
import Testing

/// Replays the files in `Corpus`: seeds of tools/fuzz, and all that it has found.
@Suite("Hostile input")
struct CorpusTests {
  @Test("nothing that was made up or found breaks what must hold", arguments: FuzzTarget.all)
  func replay(_ target: FuzzTarget) throws {
    let files = try Self.files(of: target.name)
    #expect(!files.isEmpty, "tools/fuzz \(target.name) has nothing to begin with")
    for file in files {
      let bytes = [UInt8](try Data(contentsOf: file))
      do {
        try target.run(bytes)
      } catch {
        Issue.record("\(file.lastPathComponent): \(error)")
      }
    }
  }

  @Test("each folder of inputs has a target")
  func folders() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
    let names = Set(FuzzTarget.all.map(\.name))
    #expect(names.count == FuzzTarget.all.count)
    #expect(Set(folders).isSubset(of: names))
  }

  private static var corpus: URL {
    Bundle.module.bundleURL.appending(path: "Corpus", directoryHint: .isDirectory)
  }

  private static func files(of name: String) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(
      at: corpus.appending(path: name), includingPropertiesForKeys: nil
    ).sorted { $0.lastPathComponent < $1.lastPathComponent }
  }
}

extension FuzzTarget: CustomTestStringConvertible {
  var testDescription: String { name }
}
