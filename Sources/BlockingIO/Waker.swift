import CLinux
import Glibc

/// A pipe that ends another thread's wait for a descriptor.
package final class Waker: Sendable {
  /// Readable after ``wake()``.
  package let descriptor: Int32
  private let writeEnd: Int32

  /// - Throws: ``WriteFailure/cannotOpen(errno:)`` if no descriptor is free.
  package init() throws(WriteFailure) {
    var ends: [Int32] = [-1, -1]
    guard unsafe clinux_pipe(&ends) == 0 else { throw .cannotOpen(errno: errno) }
    (descriptor, writeEnd) = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
  }

  deinit {
    close(descriptor)
    close(writeEnd)
  }

  /// Ends the current wait, or else the next one.
  package func wake() {
    var byte: UInt8 = 0
    _ = unsafe write(writeEnd, &byte, 1)
  }

  /// Lets the next wait block again.
  package func reset() {
    var bytes = InlineArray<64, UInt8>(repeating: 0)
    while unsafe read(descriptor, &bytes, 64) == 64 {}
  }
}
