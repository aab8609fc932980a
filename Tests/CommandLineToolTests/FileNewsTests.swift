import Glibc
import RTPWire
import Testing

@testable import CommandLineTool
@testable import Outputs

/// How much is said of files, on a virtual clock.
struct FileNewsTests {
  private func instant(_ second: Int64) -> Instant { Instant(nanoseconds: second * 1_000_000_000) }

  private func end(_ reason: FileReason) -> OutputEvent {
    .fileEnded(
      RecordedFile(
        path: "a.mp4", start: WallClockTime(nanoseconds: 0),
        ending: FileEnding(reason: reason, duration: 1, frames: 25), bytes: 1000))
  }

  /// Two events each second, for ten minutes.
  @Test func aClockThatLeapsWithEveryPictureMakesFewLines() {
    var news = FileNews()
    var said = 0
    var counts: [String] = []
    for second in 0..<600 as Range<Int64> {
      if let remark = news.remark(at: instant(second)) { counts.append(remark.words) }
      for event in [end(.clock), .continued(path: "a-0002.mp4")] {
        if news.admits(event, ofOutput: 0, at: instant(second)) { said += 1 }
      }
    }
    // Two for each file: 64 in a row, and one a minute.
    #expect((128...150).contains(said), "\(said)")
    #expect((5...10).contains(counts.count), "\(counts)")
    #expect(counts.last == "118 messages about files left out")
  }

  @Test func whatTheLastFilesWereIsSaidAtTheEnd() {
    var news = FileNews()
    for _ in 0..<70 { _ = news.admits(end(.parameters), ofOutput: 0, at: instant(0)) }
    let early = news.remark(at: instant(0))
    #expect(early == nil)
    let last = news.takeRemark()
    #expect(last?.words == "6 messages about files left out")
    let again = news.takeRemark()
    #expect(again == nil)
  }

  @Test func segmentsAreAllSaid() {
    var news = FileNews()
    for second in 0..<1000 as Range<Int64> {
      for event in [end(.time), .continued(path: "a-0002.mp4")] {
        let isSaid = news.admits(event, ofOutput: 0, at: instant(second))
        #expect(isSaid)
      }
    }
    let last = news.takeRemark()
    #expect(last == nil)
  }

  @Test func whatGoesOnBehindAFullDiskIsSaid() {
    var news = FileNews()
    for _ in 0..<70 { _ = news.admits(end(.clock), ofOutput: 0, at: instant(0)) }
    let failed = OutputEvent.fileFailed(
      path: "a.mp4", .cannotOpen(path: "a.mp4", errno: ENOSPC))
    let isFailureSaid = news.admits(failed, ofOutput: 0, at: instant(100))
    let isSaid = news.admits(.continued(path: "a-0071.mp4"), ofOutput: 0, at: instant(100))
    #expect(isFailureSaid && isSaid)
  }

  /// Each output goes on after its own end.
  @Test func whatGoesOnIsSaidOfTheFileWhoseEndWasSaid() {
    var news = FileNews()
    for place in 0..<70 { _ = news.admits(end(.outage), ofOutput: place, at: instant(0)) }
    let continued = (0..<70).filter {
      news.admits(.continued(path: "b.mp4"), ofOutput: $0, at: instant(0))
    }
    #expect(continued == Array(0..<64))
    let last = news.takeRemark()
    #expect(last?.words == "12 messages about files left out")
  }
}
