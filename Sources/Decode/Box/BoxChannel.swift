import BlockingIO
import CBox
import Glibc
import NIOCore
import RTPWire

/// One end of the socket between this process and that of a decoder.
///
/// It is used by one thread at a time.
@safe final class BoxChannel: @unchecked Sendable {
  /// Bytes of the longest message: what is longer lies in shared memory.
  static let longest = 16 << 10
  /// A wait is made of parts no longer than this, each of which counts as what it was meant to be.
  private static let longestPart = Duration.milliseconds(100)

  private let descriptor: Int32
  /// Whether a message waits for room.
  private let waits: Bool
  /// The number of the process at the other end, if that is known.
  private let process: Int32?
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: longest, alignment: 8)

  /// Takes over `descriptor`.
  ///
  /// A decoder waits while frames are taken. The other side need not: its requests are few, so that
  /// a full socket means that nobody reads.
  init(_ descriptor: Int32, waits: Bool, process: Int32? = nil) {
    self.descriptor = descriptor
    self.waits = waits
    self.process = process
  }

  deinit {
    close(descriptor)
    unsafe room.deallocate()
  }

  /// Sends `message`, with memory unless its descriptor is -1.
  ///
  /// - Throws: ``BoxFault/ended`` if nobody is there, ``BoxFault/breach(_:)`` if nobody reads.
  func send(_ message: ByteBuffer, with memory: Int32 = -1) throws(BoxFault) {
    let result = unsafe message.withUnsafeReadableBytes { bytes in
      unsafe box_send(descriptor, bytes.baseAddress, bytes.count, memory, waits ? 1 : 0)
    }
    guard result != 0 else { return }
    switch errno {
    case EPIPE, ECONNRESET: throw .ended
    default: throw .breach("it does not read")
    }
  }

  /// Waits for a message, without end if `limit` is `nil`.
  ///
  /// A time in which the machine stood still, or in which the other side waited for a processor or
  /// a disk, does not count; `longest` is the end all the same.
  ///
  /// - Returns: the message, and the descriptor of the memory that came along, which is the
  ///   caller's from then on; -1 if none did.
  /// - Throws: ``BoxFault/ended``, ``BoxFault/silent``, or ``BoxFault/breach(_:)``.
  func receive(
    within limit: Duration?, longest: Duration? = nil
  ) throws(BoxFault) -> (message: ByteBuffer, memory: Int32) {
    var rest = limit
    let end = longest.map { Instant.now.advanced(by: $0) }
    var work = BoxWork()
    while true {
      let part = rest.map { min($0, Self.longestPart) }
      let milliseconds = part.map { Int32(max(0, $0 / .milliseconds(1)).rounded(.up)) }
      let began = Instant.now
      var memory: Int32 = -1
      let count = unsafe box_receive(
        descriptor, room.baseAddress, room.count, &memory, milliseconds ?? -1)
      if count > 0 {
        return unsafe (ByteBuffer(bytes: UnsafeRawBufferPointer(rebasing: room[..<count])), memory)
      }
      let code = errno
      if memory >= 0 { close(memory) }
      guard count < 0 else { throw .ended }
      switch code {
      case EINTR, ETIMEDOUT:
        guard let part, let left = rest else { continue }
        let passed = min(part, began.duration(to: .now))
        let remaining = left - (process.map { work.share(of: passed, in: $0) } ?? passed)
        guard remaining > .zero, end.map({ Instant.now < $0 }) ?? true else { throw .silent }
        rest = remaining
      case EMSGSIZE: throw .breach("a message is too long")
      default: throw .ended
      }
    }
  }
}
