import CBox
import Glibc

/// Memory that two processes have mapped, of a size that neither can change.
///
/// What is in it may change at any time while the other side may write.
@safe final class SharedMemory: @unchecked Sendable {
  let bytes: UnsafeMutableRawBufferPointer

  private init(_ start: UnsafeMutableRawPointer, _ count: Int) {
    unsafe bytes = UnsafeMutableRawBufferPointer(start: start, count: count)
  }

  deinit { unsafe box_unmap(bytes.baseAddress, bytes.count) }

  /// Makes memory of `count` bytes, which this side only reads if the other one may write.
  ///
  /// - Returns: the memory, and the descriptor to send, which is the caller's to close; `nil` if
  ///   there is none.
  static func make(_ count: Int, otherMayWrite: Bool) -> (memory: SharedMemory, descriptor: Int32)?
  {
    var start: UnsafeMutableRawPointer?
    let descriptor = unsafe box_memory(count, otherMayWrite ? 1 : 0, &start)
    guard descriptor >= 0 else { return nil }
    guard let start = unsafe start else {
      close(descriptor)
      return nil
    }
    return unsafe (SharedMemory(start, count), descriptor)
  }

  /// Maps what came from the other side, and closes `descriptor`; `nil` if that is not possible.
  init?(_ descriptor: Int32, _ count: Int, isWritable: Bool) {
    guard descriptor >= 0, count > 0,
      let start = unsafe box_map(descriptor, count, isWritable ? 1 : 0)
    else { return nil }
    unsafe bytes = UnsafeMutableRawBufferPointer(start: start, count: count)
  }
}
