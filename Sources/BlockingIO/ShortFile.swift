internal import Glibc
internal import RTPWire

/// What a short file holds, or what the writer of a pipe says.
///
/// Without a deadline, a named pipe that has no writer would be waited for without end.
package struct ShortFile: Sendable {
  /// Why there is nothing.
  package struct Failure: Error, Sendable, Hashable {
    package let reason: String
  }

  /// No more than the limit and one byte, so that a longer file is noticed.
  package var bytes: [UInt8] = []
  /// Whether others than its owner can read it; nobody else reads what goes through a pipe.
  package let isExposed: Bool

  /// How long the writer of a pipe may take: a person may have to unlock a store of passwords.
  package static let patience = Duration.seconds(30)

  private static let shortestRead = 4096

  /// Reads to the end, to the limit or to the end of a line.
  ///
  /// - Parameters:
  ///   - path: a file, a pipe or a device.
  ///   - limit: bytes that are useful.
  ///   - firstLineOnly: whether only the first line is of interest, so that the writer need not
  ///     close its pipe.
  ///   - patience: how long the writer of a pipe may take.
  /// - Throws: why it cannot be read.
  package init(
    at path: String, limit: Int, firstLineOnly: Bool = false, within patience: Duration = patience
  ) throws(Failure) {
    // Without O_NONBLOCK, open(2) itself would wait for a writer.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw Self.failure }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw Self.failure }
    isExposed = status.isExposed
    // All at once: what an array leaves where it grew may be secret. Files of /proc tell no size.
    let isRegular = status.st_mode & S_IFMT == S_IFREG
    let length = isRegular ? max(Int(status.st_size), Self.shortestRead) : limit
    let capacity = min(length, limit) + 1
    bytes.reserveCapacity(capacity)
    let deadline = ContinuousClock.now + patience
    while bytes.count <= limit {
      let left = Int32(clamping: (deadline - .now).wholeNanoseconds / 1_000_000)
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = unsafe poll(&request, 1, max(left, 0))
      if ready < 0, errno == EINTR { continue }
      guard ready != 0 else {
        throw Failure(reason: "its writer did not finish within \(patience.components.seconds) s")
      }
      let count = unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) {
        let count = unsafe read(descriptor, $0.baseAddress, min(capacity, limit + 1 - bytes.count))
        if count > 0 { unsafe bytes.append(contentsOf: $0.prefix(count)) }
        // What is read here may be secret.
        if let start = $0.baseAddress { unsafe explicit_bzero(start, max(count, 0)) }
        return count
      }
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      guard count >= 0 else { throw Self.failure }
      if count == 0 || firstLineOnly && bytes.contains(0x0A) { break }
    }
  }

  private static var failure: Failure { Failure(reason: unsafe String(cString: strerror(errno))) }
}
