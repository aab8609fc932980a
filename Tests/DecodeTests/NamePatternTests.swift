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
      // Folders are taken as they are.
      ("my%20dir/100%/%H%%.mp4", "my%20dir/100%/10%.mp4"), ("%Y/cam-%M.mp4", "%Y/cam-15.mp4"),
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
  func onlyTheFileNameIsAPattern(path: String, expected: Bool) {
    #expect(NamePattern.isPattern(path) == expected)
  }

  @Test(
    arguments: [
      ("camera-20261123T101500Z.mp4", true), ("camera-20261123T101500Zx0012.mp4", true),
      ("camera-20261123T101500Z-12.mp4", false), ("camera-20261123T101500Zx12.mp4", false),
      ("camera-20261123T101500Z.mkv", false), ("camera.mp4", false), ("notes.mp4", false),
      ("camera-2026112xT101500Z.mp4", false), ("camera-20261123T101500Z-.mp4", false),
      ("camera-20261123T101500Z-copy.mp4", false), ("camera-20261123T101500Z.mp4.bak", false),
      ("", false),
    ])
  func onlyItsOwnFilesAreRecognized(name: String, expected: Bool) {
    #expect(NamePattern(piecesOf: "camera.mp4").matches(name) == expected)
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
