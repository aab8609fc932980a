import Glibc

/// Why a file or a pipe cannot be opened or written.
package enum WriteFailure: Error, Sendable, Hashable {
  case cannotOpen(errno: Int32)
  /// The named pipe had no reader before the deadline.
  case noReader
  /// The reading end of the pipe was closed.
  case readerGone
  /// The pipe's reader did not take everything in time.
  case readerTooSlow
  /// A full disk, a quota, a failing device: `errno` of the write.
  case failed(errno: Int32)

  /// The kernel's error number.
  package var number: Int32 {
    switch self {
    case .cannotOpen(let number), .failed(let number): number
    case .noReader: ENXIO
    case .readerGone: EPIPE
    case .readerTooSlow: ETIMEDOUT
    }
  }

  /// The kernel's message.
  package var reason: String { unsafe String(cString: strerror(number)) }
}
