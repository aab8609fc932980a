package import CFFmpeg
import Synchronization

/// Frame structures for reuse, so that a running stream allocates none.
///
/// The samples are in buffers of libavcodec's own pool, and return there when the last frame that
/// refers to them is recycled.
package final class FramePool: Sendable {
  /// Frames kept for reuse: more than any queue before an output holds.
  private static let capacity = 32

  /// A pointer that may cross threads because it has a single owner.
  @safe private struct Frame: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<AVFrame>
  }

  private let idle = Mutex<[Frame]>([])

  package init() {}

  /// An empty frame, from the pool or new; `nil` when memory has run out.
  package func take() -> UnsafeMutablePointer<AVFrame>? {
    if let frame = idle.withLock({ $0.popLast() }) { return unsafe frame.pointer }
    return unsafe av_frame_alloc()
  }

  /// Releases the buffers of `frame` and keeps the structure.
  package func recycle(_ frame: UnsafeMutablePointer<AVFrame>) {
    unsafe av_frame_unref(frame)
    let kept = unsafe Frame(pointer: frame)
    let isKept = idle.withLock { idle in
      guard idle.count < Self.capacity else { return false }
      idle.append(kept)
      return true
    }
    guard !isKept else { return }
    var frame: UnsafeMutablePointer<AVFrame>? = unsafe frame
    unsafe av_frame_free(&frame)
  }

  deinit {
    for frame in idle.withLock({ $0 }) {
      var pointer: UnsafeMutablePointer<AVFrame>? = unsafe frame.pointer
      unsafe av_frame_free(&pointer)
    }
  }
}
