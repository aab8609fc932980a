import Glibc
import RTPWire

/// Writing to a reader that may have stopped reading, without waiting for it for ever.
enum BoundedWrite {
  /// What a pipe that is ready takes without blocking (`PIPE_BUF`).
  private static let portion = 4096

  /// Writes `bytes` to `descriptor`, waiting at most `milliseconds` in all.
  ///
  /// - Returns: the error's number, `ETIMEDOUT` when the reader did not read; `nil` when all went.
  static func write(
    _ bytes: [UInt8], to descriptor: Int32, within milliseconds: Int32
  ) -> Int32? {
    var written = 0
    var patience = milliseconds
    while written < bytes.count {
      var poller = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      let step: Int32 = 20
      let answer = unsafe poll(&poller, 1, step)
      if answer == 0 {
        patience -= step
        guard patience > 0 else { return ETIMEDOUT }
        continue
      }
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
