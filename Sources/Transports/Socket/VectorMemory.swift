internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// What vectored calls read into, with a slot for each datagram; each thread has its own.
///
/// It is megabytes: made anew for each read, it would wander through the heap, which grows by that.
final class VectorMemory: Sendable {
  typealias Content = (storage: ByteBuffer, gathered: [DatagramSocket.Received])

  /// A reader may read inside of another's read, and seldom another one inside of that.
  private static let mostKept = 2

  private let kept = Mutex<[Content]>([])

  private static let all = ThreadSpecificVariable<VectorMemory>()

  static var ofThread: VectorMemory {
    if let memory = all.currentValue { return memory }
    let memory = VectorMemory()
    all.currentValue = memory
    return memory
  }

  /// Takes it out, so that nobody else has it.
  func take() -> Content { kept.withLock { $0.popLast() ?? (ByteBuffer(), []) } }

  func giveBack(_ storage: consuming ByteBuffer, _ gathered: consuming [DatagramSocket.Received]) {
    let content = (storage, gathered)
    kept.withLock { if $0.count < Self.mostKept { $0.append(content) } }
  }
}
