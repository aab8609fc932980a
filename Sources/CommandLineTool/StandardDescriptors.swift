import Glibc

/// Standard input, output and error, which whoever starts the program may have closed.
enum StandardDescriptors {
  /// Those that were closed at the start, and stand for `/dev/null` now.
  static let closed: Set<Int32> = {
    var closed: Set<Int32> = []
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number is this one. Left free, a socket or an output file would get it.
      guard unsafe open("/dev/null", O_RDWR) == descriptor else { continue }
      closed.insert(descriptor)
    }
    return closed
  }()
}
