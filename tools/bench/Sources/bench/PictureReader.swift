import Foundation

/// Collects the frames that a program writes to its standard output.
final class PictureReader: @unchecked Sendable {
  private let descriptor: Int32
  private let head: Int
  private let luma: Int
  private let tail: Int
  private let hasEnded = DispatchSemaphore(value: 0)
  /// Only the reading thread writes this, until it has ended.
  private var pictures: [(head: Data, luma: Data)] = []

  /// Reads from `program` until it closes its output: repeatedly `head` bytes, a frame's luma and
  /// `tail` bytes to discard.
  init(_ program: Running, head: Int, luma: Int, tail: Int, name: String) {
    descriptor = program.output.fileHandleForReading.fileDescriptor
    self.head = head
    self.luma = luma
    self.tail = tail
    _ = fcntl(descriptor, 1031 /* F_SETPIPE_SZ */, 1 << 20)
    let thread = Thread { [self] in
      while let head = read(head), let luma = read(luma), read(tail) != nil {
        pictures.append((head, luma))
      }
      hasEnded.signal()
    }
    thread.name = name
    thread.start()
  }

  func waitForAll() -> [(head: Data, luma: Data)] {
    hasEnded.wait()
    return pictures
  }

  /// Reads `count` bytes; `nil` at the end.
  private func read(_ count: Int) -> Data? {
    var data = Data(count: count)
    var filled = 0
    while filled < count {
      let added = data.withUnsafeMutableBytes {
        Glibc.read(descriptor, $0.baseAddress?.advanced(by: filled), count - filled)
      }
      guard added > 0 else { return nil }
      filled += added
    }
    return data
  }
}
