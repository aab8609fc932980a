import BlockingIO
import Foundation
import RTPWire
import TestSupport
import Testing

@testable import Outputs

@Suite struct RetentionTests {
  private static let hour: Int64 = 3_600_000_000_000
  private static let now = WallClockTime(nanoseconds: 100 * hour)

  /// A file of 100 bytes for each of the last hours, the newest last, which is open.
  private static let files = (0..<5).map { number in
    StoredFile(
      path: "\(number)", end: WallClockTime(nanoseconds: (96 + Int64(number)) * hour), bytes: 100,
      isOpen: number == 4)
  }

  /// What goes by `rules`, where the room of each file that goes is free at once.
  private static func surplus(
    of files: [StoredFile], by rules: [RetentionRule], free: Int64? = nil
  ) -> (paths: [String], lacksRoom: Bool) {
    var surplus = SurplusFiles(of: files.shuffled(), by: rules, at: now)
    var free = free
    var paths: [String] = []
    while let file = surplus.next(free: free) {
      paths.append(file.path)
      free = free.map { $0 + file.bytes }
    }
    return (paths, surplus.lacksRoom)
  }

  @Test(
    arguments: [
      ([], nil, []),
      ([.age(.seconds(2.5 * 3600))], nil, ["0", "1"]),
      ([.age(.seconds(0))], nil, ["0", "1", "2", "3"]),
      ([.bytes(500)], nil, []),
      ([.bytes(350)], nil, ["0", "1"]),
      ([.bytes(1)], nil, ["0", "1", "2"]),
      ([.free(1000)], 1000, []),
      ([.free(1000)], 850, ["0", "1"]),
      ([.free(1000)], 0, ["0", "1", "2"]),
      ([.bytes(200)], nil, ["0", "1", "2"]),
      ([.bytes(1), .age(.seconds(0))], nil, ["0", "1", "2", "3"]),
      ([.free(1000)], nil, []),
      ([.bytes(450), .age(.seconds(2.5 * 3600))], nil, ["0", "1"]),
    ] as [([RetentionRule], Int64?, [String])])
  func theOldestGo(rules: [RetentionRule], free: Int64?, expected: [String]) {
    let surplus = Self.surplus(of: Self.files, by: rules, free: free)
    #expect(surplus.paths == expected)
    // Where a limit on the room costs all but one, that one stays, and it is said.
    #expect(surplus.lacksRoom == (expected.count == 3 && rules != [.bytes(200)]))
  }

  @Test("Files from the future go before those that are recorded now")
  func future() {
    let future = WallClockTime(nanoseconds: 500 * Self.hour)
    let files = ["x", "y"].map { StoredFile(path: $0, end: future, bytes: 100) } + Self.files
    for (limit, expected) in [(500, ["x", "y"]), (400, ["x", "y", "0"]), (700, [])] {
      #expect(Self.surplus(of: files, by: [.bytes(Int64(limit))]).paths == expected)
    }
    #expect(Self.surplus(of: files, by: [.age(.seconds(1))]).paths.count == 4)
  }

  /// The newest file has the time of the server that keeps it.
  @Test func theClockOfAFileServerMayBeAhead() {
    let ahead = Self.now.advanced(byNanoseconds: 2_000_000_000)
    let files = Self.files + [StoredFile(path: "newest", end: ahead, bytes: 100)]
    let surplus = Self.surplus(of: files, by: [.bytes(300)])
    #expect(surplus.paths == Self.files.prefix(Self.files.count - 2).map(\.path))
  }

  @Test("What others free ends it, and what cannot be deleted frees nothing")
  func otherRoom() {
    var surplus = SurplusFiles(of: Self.files, by: [.free(1000)], at: Self.now)
    let gone = [0, 0, 1000, 0].map { surplus.next(free: $0)?.path }
    #expect(gone == ["0", "1", nil, nil])
    #expect(!surplus.lacksRoom)
  }

  @Test(
    "Cameras on one disk together delete what is missing, also where the room is shown late",
    arguments: [false, true])
  func oneDisk(showsLate: Bool) async throws {
    let folder = try TemporaryFolder()
    let cameras = (0..<8).map { "cam\($0)" }
    for camera in cameras {
      for second in 0..<4 {
        try Data(count: 4096).write(to: folder.url("\(camera)-20200101T00000\(second)Z.mp4"))
      }
    }
    let room = FileSystemRoom { _ in
      let gone = 8 * 4 - folder.names.count
      return showsLate ? 0 : Int64(gone) * 4096
    }
    let retentions = try cameras.map { camera in
      try Retention(
        of: NamePattern(piecesOf: folder("\(camera).mp4")), keeping: [.free(3 * 4096)],
        room: { _ in room })
    }
    for retention in retentions { retention.look() }
    for retention in retentions { retention.finish() }
    try await eventually { retentions.reduce(0) { $0 + $1.totals.files } >= 3 }
    #expect(folder.names.count == 8 * 4 - 3)
    #expect(retentions.allSatisfy { !$0.totals.lacksRoom })
  }

  @Test func whatHasAnotherNameStays() async throws {
    let folder = try TemporaryFolder()
    let names = [
      "cam-20201399T990000Z.mp4", "cam-20200101T000000Z.mp4", "cam-20200101T000001Z.mp4",
      "cam-20200101T000002Z.mp4",
      "precious.mp4", "cam-20200101T000000Z.mp4.txt",
    ]
    for (age, name) in names.enumerated() {
      try Data(count: 4096).write(to: folder.url(name))
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: 1_577_836_800 + Double(age))],
        ofItemAtPath: folder(name))
    }
    let retention = try Retention(
      of: NamePattern(piecesOf: folder("cam.mp4")), keeping: [.bytes(4096)])
    retention.note(open: folder("cam-20200101T000000Z.mp4"))
    retention.look()
    try await eventually { retention.totals.files == 2 }
    #expect(
      folder.names == [
        "cam-20200101T000000Z.mp4", "cam-20200101T000000Z.mp4.txt", "cam-20201399T990000Z.mp4",
        "precious.mp4",
      ])
    #expect(!retention.totals.lacksRoom)
    #expect(retention.totals.failure == nil)
  }

  @Test func whatGetsOldIsDeletedWhileNothingIsRecorded() async throws {
    let folder = try TemporaryFolder()
    let name = "cam-20200101T000000Z.mp4"
    try Data(count: 4096).write(to: folder.url(name))
    let retention = try Retention(
      of: NamePattern(piecesOf: folder("cam.mp4")), keeping: [.age(.seconds(1))],
      pause: .milliseconds(20))
    try await eventually { retention.totals.files == 1 }
    #expect(folder.names.isEmpty)
  }

  @Test func theLimitsHoldAtTheEnd() throws {
    let folder = try TemporaryFolder()
    for second in 0..<3 {
      try Data(count: 4096).write(to: folder.url("cam-20200101T00000\(second)Z.mp4"))
    }
    let retention = try Retention(
      of: NamePattern(piecesOf: folder("cam.mp4")), keeping: [.bytes(4096)])
    retention.finish()
    #expect(retention.totals.files == 2 && folder.names.count == 1)
  }

  @Test("A file may have any date", arguments: [-100_000_000_000, 0, 13_000_000_000])
  func anyDate(seconds: Int) throws {
    let folder = try TemporaryFolder()
    let name = "cam-20200101T000000Z.mp4"
    try Data(count: 4096).write(to: folder.url(name))
    var times = [timespec](repeating: timespec(tv_sec: seconds, tv_nsec: 0), count: 2)
    #expect(unsafe utimensat(AT_FDCWD, folder(name), &times, 0) == 0)
    let retention = try Retention(
      of: NamePattern(piecesOf: folder("cam.mp4")), keeping: [.age(.seconds(1))])
    retention.finish()
    #expect(retention.totals.files == (seconds > 0 ? 0 : 1))
  }
}
