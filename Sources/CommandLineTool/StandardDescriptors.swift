import Glibc

/// Standard input, output and error, which may be closed at the start.
enum StandardDescriptors {
  /// The descriptors that were closed at the start; they are open on `/dev/null` now.
  static let closed: Set<Int32> = {
    var closed: Set<Int32> = []
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // `open` returns the lowest free number. Otherwise a socket or an output file would get it.
      guard unsafe open("/dev/null", O_RDWR) == descriptor else { continue }
      closed.insert(descriptor)
    }
    return closed
  }()
}
