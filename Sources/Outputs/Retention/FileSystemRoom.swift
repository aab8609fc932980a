import BlockingIO
import Glibc
import RTPWire
import Synchronization

/// What is free on a file system.
///
/// Shared by everything in this process that deletes files there because the disk is full.
///
/// They take turns, file by file: each would otherwise delete all that is missing. Each file system
/// has turns of its own, so that one that hangs holds up nobody who needs another. A turn is taken
/// by threads of ``Retention`` alone, never by those that record.
final class FileSystemRoom: Sendable {
  private static let known = Mutex<[dev_t: FileSystemRoom]>([:])

  private let deleted = Mutex(DeletedRoom())
  private let bytesFree: @Sendable (_ folder: String) -> Int64?

  /// Makes one that learns from `bytesFree` what is free where a folder is.
  init(bytesFree: @escaping @Sendable (_ folder: String) -> Int64? = FileSystemRoom.bytesFree) {
    self.bytesFree = bytesFree
  }

  /// The one that `folder` is on; one of its own where that is not known.
  static func at(_ folder: String) -> FileSystemRoom {
    var status = stat()
    // This may hang, and is nobody's turn yet.
    guard unsafe stat(folder, &status) == 0 else { return FileSystemRoom() }
    return known.withLock { known in
      let room = known[status.st_dev] ?? FileSystemRoom()
      known[status.st_dev] = room
      return room
    }
  }

  /// Has `delete` delete a file in `folder` if that has to be, once nobody else does so.
  ///
  /// - Parameters:
  ///   - folder: is on this file system.
  ///   - delete: gets how many bytes are free, where that is known, and returns how many it has
  ///     deleted; `nil` if nothing had to be.
  /// - Returns: whether more may have to be deleted.
  func takeTurn(in folder: String, _ delete: (_ free: Int64?) -> Int64?) -> Bool {
    deleted.withLock { deleted in
      let free = bytesFree(folder).map { deleted.free(ofShown: $0, at: .now) }
      guard let bytes = delete(free) else { return false }
      deleted.note(bytes, at: .now)
      return true
    }
  }

  private static func bytesFree(in folder: String) -> Int64? {
    var status = statvfs()
    guard unsafe statvfs(folder, &status) == 0 else { return nil }
    return Int64(
      clamping: UInt64(status.f_bavail).multipliedSaturating(by: UInt64(status.f_frsize)))
  }
}

/// What was deleted on a file system that does not show it yet: it counts as free.
///
/// XFS frees blocks in the background, ZFS with its next transaction group, and btrfs with its next
/// commit. Whoever believed what they show would delete more than is missing.
struct DeletedRoom {
  /// How long the room of a file is waited for.
  ///
  /// btrfs commits every 30 seconds. A file may also be open elsewhere or part of a snapshot, and
  /// then nothing becomes free.
  static let patience = Duration.seconds(60)

  /// Bytes that are not shown yet, and when they were deleted, the oldest first.
  private var hidden: [(bytes: Int64, since: Instant)] = []
  /// What was shown last.
  private var shown: Int64?

  /// What is free where the file system shows `shown` bytes at `now`.
  mutating func free(ofShown shown: Int64, at now: Instant) -> Int64 {
    var appeared = max(0, self.shown.map { shown.subtractingSaturating($0) } ?? 0)
    self.shown = shown
    hidden.removeAll { $0.since.duration(to: now) >= Self.patience }
    for index in hidden.indices where appeared > 0 {
      let part = min(appeared, hidden[index].bytes)
      hidden[index].bytes -= part
      appeared -= part
    }
    hidden.removeAll { $0.bytes == 0 }
    return hidden.reduce(shown) { $0.addingSaturating($1.bytes) }
  }

  /// Takes note that `bytes` were deleted.
  mutating func note(_ bytes: Int64, at now: Instant) {
    if bytes > 0 { hidden.append((bytes, now)) }
  }
}
