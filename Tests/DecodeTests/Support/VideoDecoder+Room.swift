import BlockingIO
import Decode
import Defragment
import Testing

extension VideoDecoder {
  /// Hands over `unit`, once the queue is not crowded any more: so long, a far end is held.
  func decode(_ unit: AccessUnit) async throws {
    if isCrowded {
      await withCheckedContinuation { continuation in whenRoom { continuation.resume() } }
    }
    try #require(submit(unit) == .queued)
  }
}
