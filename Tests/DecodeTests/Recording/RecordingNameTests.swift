import RTPWire
import Testing

@testable import Outputs

@Suite struct RecordingNameTests {
  /// 2026-11-23T10:15:00.250000Z, as nanoseconds.
  static let time = WallClockTime(nanoseconds: 1_795_428_900_250_000_000)

  @Test(
    arguments: [
      ("cam-%Y%m%dT%H%M%SZ.mp4", "cam-20261123T101500Z.mp4"),
      ("/disk/cam.1/%Y-%m-%d %H.%M.%S.%f.mkv", "/disk/cam.1/2026-11-23 10.15.00.250000.mkv"),
      ("100%% %H.ts", "100% 10.ts"), ("%H", "10"),
    ])
  func patterns(pattern: String, expected: String) throws {
    #expect(try RecordingName(pattern: pattern).path(at: Self.time) == expected)
  }

  @Test func aPathWithoutTheTimeGetsItBehindTheName() throws {
    let name = try RecordingName(piecesOf: "rec/camera.mp4")
    #expect(name.path(at: Self.time) == "rec/camera-20261123T101500Z.mp4")
    #expect(name.path(at: Self.time, clash: 2) == "rec/camera-20261123T101500Z-2.mp4")
    #expect(name.folder == "rec/")
  }

  @Test(arguments: ["%Y/%H.mp4", "a%.mp4", "a%q.mp4", "100%"])
  func whatIsNoPattern(_ path: String) {
    #expect(throws: RecordingName.PatternError.self) { try RecordingName(pattern: path) }
  }

  @Test(
    arguments: [
      ("camera-20261123T101500Z.mp4", true), ("camera-20261123T101500Z-12.mp4", true),
      ("camera-20261123T101500Z.mkv", false), ("camera.mp4", false), ("notes.mp4", false),
      ("camera-2026112xT101500Z.mp4", false), ("camera-20261123T101500Z-.mp4", false),
      ("camera-20261123T101500Z-copy.mp4", false), ("camera-20261123T101500Z.mp4.bak", false),
      ("", false),
    ])
  func onlyItsOwnFilesAreRecognized(name: String, expected: Bool) throws {
    #expect(try RecordingName(piecesOf: "camera.mp4").matches(name) == expected)
  }
}
