import Foundation
import Glibc
import TestSupport
import Testing

@testable import BlockingIO

/// Short files and pipes that hold a password, a hello or a session description.
struct ShortFileTests {
  @Test func aFileIsReadToItsEndOrTheLimit() throws {
    let folder = try TemporaryFolder()
    try "0123456789\nabc".write(toFile: folder("file"), atomically: true, encoding: .utf8)
    #expect(try ShortFile(at: folder("file"), limit: 100).bytes == Array("0123456789\nabc".utf8))
    #expect(try ShortFile(at: folder("file"), limit: 4).bytes == Array("01234".utf8))
    chmod(folder("file"), 0o640)
    #expect(try ShortFile(at: folder("file"), limit: 100).isExposed)
    chmod(folder("file"), 0o600)
    #expect(try !ShortFile(at: folder("file"), limit: 100).isExposed)
  }

  @Test func aNamedPipeThatNobodyWritesIsGivenUp() throws {
    let folder = try TemporaryFolder()
    try #require(mkfifo(folder("pipe"), 0o600) == 0)
    let failure = #expect(throws: ShortFile.Failure.self) {
      try ShortFile(at: folder("pipe"), limit: 100, within: .milliseconds(100))
    }
    #expect(failure?.reason.contains("did not finish") == true)
  }

  /// A person at a terminal, or a program that goes on.
  @Test func aLineDoesNotNeedTheEndOfThePipe() throws {
    let folder = try TemporaryFolder()
    try #require(mkfifo(folder("pipe"), 0o600) == 0)
    let writer = open(folder("pipe"), O_RDWR)
    defer { close(writer) }
    try #require(write(writer, "secret\n", 7) == 7)
    let file = try ShortFile(at: folder("pipe"), limit: 100, firstLineOnly: true)
    #expect(file.bytes == Array("secret\n".utf8))
    #expect(!file.isExposed)
  }

  @Test("what is no file, or is not there", arguments: ["", "missing"])
  func unreadable(name: String) throws {
    let folder = try TemporaryFolder()
    #expect(throws: ShortFile.Failure.self) { try ShortFile(at: folder(name), limit: 10) }
  }
}
