import Foundation
import TestSupport
import Testing

@testable import CommandLineTool

/// What a run of a fleet does with the files of the run before it.
struct FormerFileTests {
  @Test("a file on another disk, which a link leads to, gets another name there")
  func link() throws {
    let folder = try TemporaryFolder()
    let disk = folder.url("disk")
    try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: false)
    try Data("recorded".utf8).write(to: disk.appendingPathComponent("door.mkv"))
    try FileManager.default.createSymbolicLink(
      atPath: folder("door.mkv"), withDestinationPath: "disk/door.mkv")
    try FormerFile.keep(folder("door.mkv"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["door.0001.mkv"])
    #expect(
      try Data(contentsOf: disk.appendingPathComponent("door.0001.mkv")) == Data("recorded".utf8))
    #expect(folder.names.sorted() == ["disk", "door.mkv"])
    // Once nothing is there, nothing is kept.
    try FormerFile.keep(folder("door.mkv"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == ["door.0001.mkv"])
  }

  /// As `stats: /dev/stdout` is where the output goes to a file.
  @Test func whatAStandardDescriptorWritesStays() throws {
    let folder = try TemporaryFolder()
    try Data("log".utf8).write(to: folder.url("log.txt"))
    let former = dup(STDIN_FILENO)
    let log = open(folder("log.txt"), O_RDWR)
    dup2(log, STDIN_FILENO)
    defer {
      if former >= 0 { dup2(former, STDIN_FILENO) } else { close(STDIN_FILENO) }
      close(former)
      close(log)
    }
    try FormerFile.keep("/proc/self/fd/\(STDIN_FILENO)")
    #expect(folder.names == ["log.txt"])
  }
}
