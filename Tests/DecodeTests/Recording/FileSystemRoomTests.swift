import RTPWire
import TestSupport
import Testing

@testable import Outputs

@Suite struct FileSystemRoomTests {
  /// What a disk shows at a time in seconds, what is free then, and what is deleted after that.
  typealias Look = (second: Int, shown: Int64, free: Int64, deleted: Int64)

  @Test(
    arguments: [
      ("room that is shown at once", [(0, 100, 100, 50), (1, 150, 150, 20), (1, 170, 170, 0)]),
      ("room that is shown late", [(0, 100, 100, 50), (1, 100, 150, 20), (31, 170, 170, 0)]),
      ("room in parts", [(0, 100, 100, 50), (1, 120, 150, 0), (2, 150, 150, 0), (3, 90, 90, 0)]),
      (
        "a snapshot",
        [(0, 100, 100, 50), (59, 100, 150, 30), (60, 100, 130, 0), (119, 100, 100, 0)]
      ),
      ("others write", [(0, 100, 100, 50), (1, 140, 150, 0), (2, 130, 140, 0), (60, 130, 130, 0)]),
      ("others delete", [(0, 100, 100, 50), (1, 300, 300, 0), (2, 250, 250, 0)]),
      ("a disk without end", [(0, .max, .max, 50), (1, .max, .max, 0), (2, 0, 50, 0)]),
    ] as [(String, [Look])])
  func whatIsDeletedCountsOnce(name: String, looks: [Look]) {
    var deleted = DeletedRoom()
    for look in looks {
      let now = Instant(nanoseconds: Int64(look.second) * 1_000_000_000)
      let free = deleted.free(ofShown: look.shown, at: now)
      #expect(free == look.free, "\(name), after \(look.second) s")
      deleted.note(look.deleted, at: now)
    }
  }

  @Test("Two folders of a file system share turns, and another file system has its own")
  func turns() throws {
    let folder = try TemporaryFolder()
    let room = FileSystemRoom.at(folder.path)
    #expect(room === FileSystemRoom.at(folder.path + "/."))
    let other = FileSystemRoom.at("/proc")
    #expect(room !== other)
    var hadTurn = false
    // While one has its turn, as if its disk hung.
    let isMore = room.takeTurn(in: folder.path) { _ in
      hadTurn = !other.takeTurn(in: "/proc") { _ in nil }
      return nil
    }
    #expect(hadTurn && !isMore)
  }
}
