import CBox
import Glibc
import Synchronization

/// A decoder's process, from its start to its end.
///
/// Nothing is left of it once this object is gone.
final class BoxProcess: Sendable {
  let channel: BoxChannel
  /// The process, by a descriptor: its number may be another one's after its end.
  private let handle: Int32
  /// The status with which it ended.
  private let status = Mutex<Int32?>(nil)

  /// Starts `executable`, which takes some milliseconds; what the process does until it is ready
  /// takes longer.
  ///
  /// - Throws: ``BoxFault/notStarted(code:)``.
  init(_ executable: String) throws(BoxFault) {
    var (handle, number): (Int32, Int32) = (-1, 0)
    let descriptor = unsafe box_start(executable, DecoderService.argument, &handle, &number)
    guard descriptor >= 0 else { throw .notStarted(code: errno) }
    channel = BoxChannel(descriptor, waits: false, process: number)
    self.handle = handle
  }

  deinit { end() }

  /// Ends it.
  ///
  /// - Returns: its status as wait(2) has it, which is another one if it had ended by itself.
  @discardableResult
  func end() -> Int32 {
    status.withLock { status in
      if let status { return status }
      let last = box_end(handle)
      status = last
      return last
    }
  }
}
