import BlockingIO
import Glibc

/// What ended a ring of frames.
public enum RingError: OutputFault, Hashable {
  /// Another program serves a ring at this path.
  case inUse(path: String)
  /// Something at this path is no socket.
  case noSocket(path: String)
  /// `errno` of making the socket.
  case cannotListen(path: String, errno: Int32)
  /// `errno` of making the memory.
  case noMemory(bytes: Int, errno: Int32)

  public var name: String {
    switch self {
    case .inUse: "ring_in_use"
    case .noSocket: "no_socket"
    case .cannotListen: "cannot_listen"
    case .noMemory: "no_memory"
    }
  }

  public func words(about output: String) -> String {
    switch self {
    case .inUse(let path):
      "\(output): another program serves frames at \(path); choose another path"
    case .noSocket(let path):
      "\(output): \(path) exists and is no socket; choose another path"
    case .cannotListen(let path, ENAMETOOLONG):
      "\(output): the path of a socket has 107 bytes at most, and \(path) has \(path.utf8.count)"
    case .cannotListen(let path, let number):
      "\(output): no socket can be made at \(path): "
        + WriteFailure.cannotOpen(errno: number).reason(opening: path)
    case .noMemory(let bytes, let number):
      "\(output): there is no memory for a ring of \(bytes >> 20) MiB: "
        + OutputError.reason(number)
    }
  }

  public var advice: OutputAdvice? { if case .noMemory = self { .smallerPictures } else { nil } }
}
