import Glibc

/// Why a file or a pipe cannot be opened or written.
package enum WriteFailure: Error, Sendable, Hashable {
  case cannotOpen(errno: Int32)
  /// Another program writes the file, or this one does by another ``FileWriter``.
  case inUse
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
    case .inUse: EAGAIN
    case .noReader: ENXIO
    case .readerGone: EPIPE
    case .readerTooSlow: ETIMEDOUT
    }
  }

  /// The kernel's message, where it says enough.
  package var reason: String {
    if case .inUse = self { return "it is being written by another program" }
    return unsafe String(cString: strerror(number))
  }

  /// Why `path` cannot be opened: it is a folder, or that is missing, or in use, or the kernel's
  /// message.
  package func reason(opening path: String) -> String {
    if case .inUse = self { return reason + "; choose another name" }
    if case .cannotOpen(EISDIR) = self { return "it is a folder; name a file in it" }
    guard case .cannotOpen(ENOENT) = self, let slash = path.lastIndex(of: "/") else {
      return reason
    }
    let folder = path[..<slash]
    guard !folder.isEmpty, unsafe access(String(folder), F_OK) != 0 else { return reason }
    return "there is no folder \(folder)"
  }
}
