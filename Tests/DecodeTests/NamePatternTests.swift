import BlockingIO
import Foundation
import Glibc
import RTPWire
import TestSupport
import Testing

@testable import Outputs

@Suite struct NamePatternTests {
  /// 2026-11-23T10:15:00.250000Z, as nanoseconds.
  static let time = WallClockTime(nanoseconds: 1_795_428_900_250_000_000)

  @Test(
    arguments: [
      ("cam-%Y%m%dT%H%M%SZ.mp4", "cam-20261123T101500Z.mp4"),
      ("/disk/cam.1/%Y-%m-%d %H.%M.%S.%f.mkv", "/disk/cam.1/2026-11-23 10.15.00.250000.mkv"),
      ("100%% %H.ts", "100% 10.ts"), ("%H", "10"), ("%F %T%z.ts", "2026-11-23 10:15:00+0000.ts"),
      ("%y %j %s", "26 327 1795428900"), ("a.%Y", "a.2026"),
      // Folders without the time are taken as they are.
      ("my%20dir/100%/%H%%.mp4", "my%20dir/100%/10%.mp4"), ("a/50%05d/%H.ts", "a/50%05d/10.ts"),
      ("%Y/cam-%M.mp4", "2026/cam-15.mp4"), ("%F/cam.mp4", "2026-11-23/cam.mp4"),
      ("/disk/%%/%Y-%m/%d/all/100%/%d.mp4", "/disk/%%/2026-11/23/all/100%/23.mp4"),
    ])
  func times(pattern: String, expected: String) throws {
    for allowsNumbers in [true, false] {
      let name = try NamePattern(pattern, allowsNumbers: allowsNumbers)
      #expect(name.path(at: Self.time) == expected)
      #expect(name.hasTime && !name.isSingle)
    }
  }

  @Test(
    arguments: [
      ("a-%d.png", "a-7.png"), ("a-%05d.png", "a-00007.png"), ("%d-%d", "7-7"),
      ("%F %3d.png", "2026-11-23 007.png"), ("%m-%d.png", "11-23.png"),
    ])
  func numbers(pattern: String, expected: String) throws {
    let name = try NamePattern(pattern, allowsNumbers: true)
    #expect(name.path(at: Self.time, number: 7) == expected)
  }

  @Test(
    "times before 1970 and far in the future have digits too",
    arguments: [
      (-1, "1969-12-31 23:59:59.999999"), (.max, "2262-04-11 23:47:16.854775"),
      (.min, "1677-09-21 00:12:43.145224"),
      (1_709_164_800_000_000_000, "2024-02-29 00:00:00.000000"),
    ] as [(Int64, String)])
  func extremes(nanoseconds: Int64, expected: String) throws {
    let name = try NamePattern("%F %T.%f", allowsNumbers: false)
    #expect(name.path(at: WallClockTime(nanoseconds: nanoseconds)) == expected)
  }

  @Test func aPathWithoutTheTimeGetsItBehindTheName() {
    let name = NamePattern(piecesOf: "rec%/camera.mp4")
    #expect(name.path(at: Self.time) == "rec%/camera-20261123T101500Z.mp4")
    #expect(name.path(at: Self.time, clash: 2) == "rec%/camera-20261123T101500Zx0002.mp4")
    #expect(name.folder == "rec%/")
    let daily = NamePattern(piecesOf: "rec/%F/camera.mp4")
    #expect(daily.path(at: Self.time) == "rec/2026-11-23/camera-20261123T101500Z.mp4")
    #expect(daily.folder == "rec/")
  }

  @Test("names of one time are sorted as they follow each other", arguments: ["mp4", "wav", "png"])
  func order(_ ending: String) throws {
    for path in ["cam-%Y%m%dT%H%M%SZ.\(ending)", "cam-%H.\(ending)", "%Y-%m-%d"] {
      let name = try NamePattern(path, allowsNumbers: false)
      let next = WallClockTime(nanoseconds: Self.time.nanoseconds + 86_400_000_000_000)
      let names = [0, 1, 2, 10, 9999].map { name.path(at: Self.time, clash: $0) }
      let all = path.contains("%d") ? names + [name.path(at: next)] : names
      let sorted = all.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      #expect(sorted == all)
      // Where languages sort, letters and digits count more than anything between them.
      let plain = all.map { Array($0.filter { $0.isLetter || $0.isNumber }.utf8) }
      #expect(plain == plain.sorted { $0.lexicographicallyPrecedes($1) })
    }
  }

  @Test(arguments: [
    "a%.mp4", "a%q.mp4", "100%", "%5Y.jpg", "%5%.jpg", "%99999999999999999999d.jpg",
  ])
  func whatIsNoPattern(_ path: String) {
    #expect(throws: NamePattern.PatternError.self) { try NamePattern(path, allowsNumbers: true) }
  }

  @Test("recordings have times, not numbers", arguments: ["%d.mp4", "%05d.mp4", "%H-%05d.mp4"])
  func noNumbers(_ path: String) {
    #expect(throws: NamePattern.PatternError.number) {
      try NamePattern(path, allowsNumbers: false)
    }
  }

  @Test(arguments: [("a.mp4", false), ("my%20dir/a.mp4", false), ("a%%.mp4", true), ("%H", true)])
  func whatHasPlacesInItsName(path: String, expected: Bool) {
    #expect(NamePattern.isPattern(path) == expected)
  }

  @Test(arguments: [
    ("a.mp4", false), ("my%20dir/a.mp4", false), ("%H.mp4", false), ("%F/a.mp4", true),
    ("%%F/a.mp4", false), ("a/%Y/b/a.mp4", true), ("/%d/a.mp4", true),
  ])
  func whatIsInAFolderOfItsTime(path: String, expected: Bool) {
    #expect(NamePattern.isInTimedFolder(path) == expected)
  }

  @Test("a folder that is there has the name that was typed")
  func typedFolder() throws {
    let folder = try TemporaryFolder()
    #expect(unsafe mkdir(folder("100%d"), 0o777) == 0)
    let name = try NamePattern(folder("100%d/%d/%H.mp4"), allowsNumbers: false)
    #expect(name.path(at: Self.time) == folder("100%d/23/10.mp4"))
    #expect(!NamePattern.isInTimedFolder(folder("100%d/a.mp4")))
  }

  @Test("files in folders of their time are found, and empty folders go")
  func folders() throws {
    let folder = try TemporaryFolder()
    let name = try NamePattern(folder("a%/%Y/%m-%d/cam/%H%M%S.mp4"), allowsNumbers: false)
    let path = name.path(at: Self.time)
    #expect(path == folder("a%/2026/11-23/cam/101500.mp4"))
    // The first folder of the path has to be there.
    #expect(throws: WriteFailure.cannotOpen(errno: ENOENT)) {
      try name.making(path) { () throws(WriteFailure) in try FileWriter(creating: path) }
    }
    #expect(unsafe mkdir(folder("a%"), 0o777) == 0)
    // Somebody removes the empty folders before the file is in them, and somebody makes them.
    var attempts = 0
    _ = try name.making(path) { () throws(WriteFailure) in
      attempts += 1
      if attempts == 2 { name.removeEmptyFolders(of: path) }
      if attempts == 3 { throw .cannotOpen(errno: ENOENT) }
      return try FileWriter(creating: path)
    }
    #expect(attempts == 4)
    let other = name.path(at: Self.time, clash: 1)
    for file in [path, other, folder("a%/2026/11-23/cam/notes.mp4"), folder("a%/101500.mp4")] {
      try Data().write(to: URL(filePath: file))
    }
    #expect(
      name.present.sorted() == ["2026/11-23/cam/101500.mp4", "2026/11-23/cam/101500x0001.mp4"])
    for file in [path, other, folder("a%/2026/11-23/cam/notes.mp4")] {
      #expect(FileManager.default.fileExists(atPath: folder("a%/2026/11-23/cam")))
      try FileManager.default.removeItem(atPath: file)
      name.removeEmptyFolders(of: path)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder("a%")) == ["101500.mp4"])
  }

  @Test(
    arguments: [
      ("camera-20261123T101500Z.mp4", true), ("camera-20261123T101500Zx0012.mp4", true),
      ("camera-20261123T101500Z-12.mp4", false), ("camera-20261123T101500Zx12.mp4", false),
      ("camera-20261123T101500Z.mkv", false), ("camera.mp4", false), ("notes.mp4", false),
      ("camera-2026112xT101500Z.mp4", false), ("camera-20261123T101500Z-.mp4", false),
      ("camera-20261123T101500Z-copy.mp4", false), ("camera-20261123T101500Z.mp4.bak", false),
      ("camera-20201399T990000Z.mp4", false), ("camera-20261323T101500Z.mp4", false),
      ("camera-20261100T101500Z.mp4", false), ("camera-20261132T101500Z.mp4", false),
      ("camera-20261123T241500Z.mp4", false), ("camera-20261123T106000Z.mp4", false),
      ("camera-20261123T101561Z.mp4", false), ("camera-20161231T235960Z.mp4", true),
      ("", false),
    ])
  func onlyItsOwnFilesAreRecognized(name: String, expected: Bool) {
    #expect(NamePattern(piecesOf: "camera.mp4").matches(name) == expected)
  }

  @Test(
    "a folder whose digits are no date is another's",
    arguments: [
      ("2026-11-23", true), ("2026-13-23", false), ("2026-11-99", false), ("0000-00-00", false),
    ])
  func onlyItsOwnFoldersAreRecognized(day: String, expected: Bool) throws {
    let folder = try TemporaryFolder()
    let name = try NamePattern(folder("%F/%H.mp4"), allowsNumbers: false)
    #expect(unsafe mkdir(folder(day), 0o777) == 0)
    try Data().write(to: folder.url("\(day)/10.mp4"))
    #expect(name.present == (expected ? ["\(day)/10.mp4"] : []))
  }

  @Test("names that only look alike are those of other files")
  func lookalikes() {
    let (composed, combining) = (
      "caf\u{E9}-20261123T101500Z.mp4", "cafe\u{301}-20261123T101500Z.mp4"
    )
    let pattern = NamePattern(piecesOf: "caf\u{E9}.mp4")
    #expect(pattern.matches(composed) && !pattern.matches(combining))
  }

  @Test(arguments: ["%F %T%z %s.ts", "%Y%m%d-%j%f", "100%% %y%H.mkv"])
  func whatItNamesItRecognizes(_ path: String) throws {
    let name = try NamePattern(path, allowsNumbers: false)
    #expect(name.matches(name.path(at: Self.time)))
    #expect(name.matches(name.path(at: Self.time, clash: 9999)))
  }

  @Test("every name is known again, at any time", arguments: fuzzSeeds)
  func anyTime(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let letters = ["%Y", "%y", "%m", "%d", "%j", "%H", "%M", "%S", "%f", "%F", "%T", "%z", "%%"]
    for _ in 0..<2000 {
      var text = ""
      for _ in 0..<random.number(upTo: 6) {
        text += letters[random.integer(below: letters.count)]
        if random.integer(below: 3) == 0 { text += String(random.next() % 100) }
      }
      text += "%S.mp4"
      let pattern = try NamePattern(text, allowsNumbers: false)
      let time = WallClockTime(
        nanoseconds: Int64(truncatingIfNeeded: random.next()) >> random.integer(below: 40))
      let name = pattern.path(at: time, clash: random.integer(below: 10_000))
      if !pattern.matches(name) { Issue.record("\(text): \(name)") }
    }
  }
}
