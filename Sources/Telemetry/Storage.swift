import Dispatch
import Glibc
import RTPWire
import Synchronization

/// The free bytes where files are written, found out on a thread of its own, because a disk may
/// stall.
public final class Storage: Sendable {
  /// What a file system has.
  struct Room: Sendable, Hashable {
    var free: Double
    var size: Double
  }

  private struct State {
    var rooms: [String: Room] = [:]
    var isLooking = false
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "rtp-recv.storage")

  public init() {}

  /// Looks at the file systems of `folders`, and returns once that is done or after `patience`;
  /// while a look takes longer, no other begins.
  public func look(at folders: Set<String>, within patience: Duration) async {
    let isBusy = state.withLock { state in
      defer { state.isLooking = true }
      return state.isLooking
    }
    guard !isBusy else { return }
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    queue.async { [self] in
      let rooms = folders.reduce(into: [String: Room]()) { $0[$1] = Self.room(in: $1) }
      state.withLock { state in
        state.rooms = rooms
        state.isLooking = false
      }
      end.finish()
    }
    let limit = DispatchTime.now() + .nanoseconds(Int(patience.wholeNanoseconds))
    DispatchQueue.global().asyncAfter(deadline: limit) { end.finish() }
    for await _ in ends {}
  }

  /// What was found there; `nil` if nothing was, or not yet.
  func room(in folder: String) -> Room? { state.withLock { $0.rooms[folder] } }

  private static func room(in folder: String) -> Room? {
    var status = statvfs()
    guard unsafe statvfs(folder, &status) == 0 else { return nil }
    let unit = Double(status.f_frsize)
    return Room(free: Double(status.f_bavail) * unit, size: Double(status.f_blocks) * unit)
  }
}

extension CameraMetrics {
  /// Notes how much room there is in the folders of its files; `folders` has their outputs'
  /// formats.
  public func note(_ storage: Storage, in folders: [(format: String, folder: String)]) {
    note(
      folders.flatMap { format, folder -> [Reading] in
        guard let room = storage.room(in: folder) else { return [] }
        return [
          Reading(.storageFree, now: room.free, "output", format),
          Reading(.storageSize, now: room.size, "output", format),
        ]
      })
  }
}
