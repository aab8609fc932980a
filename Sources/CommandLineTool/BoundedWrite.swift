import Glibc
import RTPWire

/// Writes with a deadline, for readers that may have stopped reading.
enum BoundedWrite {
  /// How many bytes a ready pipe takes without blocking (`PIPE_BUF`).
  private static let portion = 4096

  /// Writes `bytes` to `descriptor`, waiting at most `patience` in all.
  ///
  /// - Returns: the error's number, `ETIMEDOUT` when the reader did not read; `nil` when all went.
  static func write(
    _ bytes: [UInt8], to descriptor: Int32, within patience: Duration
  ) -> Int32? {
    let deadline = ContinuousClock.now.advanced(by: patience)
    var written = 0
    while written < bytes.count {
      let rest = max(0, ContinuousClock.now.duration(to: deadline).wholeNanoseconds)
      var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      let answer = unsafe poll(&poller, 1, Int32(clamping: rest / 1_000_000))
      if answer == 0 { return ETIMEDOUT }
      if answer < 0, errno == EINTR { continue }
      let end = min(written + portion, bytes.count)
      let count = unsafe bytes[written..<end].withUnsafeBytes {
        unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      guard count > 0 else { return errno }
      written += count
    }
    return nil
  }
}
