import CFFmpeg

/// Ties libavcodec's picture buffers to the ledger: a mark on every picture that says when it goes.
///
/// The mark is a reference-counted buffer in the frame's `opaque_ref`, which the decoder copies and
/// releases with the picture itself. All of it happens on the decoder's thread.
final class TrackedPictures {
  var ledger = PictureLedger()

  @safe private struct Mark {
    let owner: Unmanaged<TrackedPictures>
    let index: PictureLedger.Index
  }

  /// Follows the pictures of `context`, which must be freed before this object is.
  func attach(to context: UnsafeMutablePointer<AVCodecContext>) {
    unsafe context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
    unsafe context.pointee.get_buffer2 = { context, frame, flags in
      let code = unsafe avcodec_default_get_buffer2(context, frame, flags)
      guard code >= 0, let frame = unsafe frame, let opaque = unsafe context?.pointee.opaque else {
        return code
      }
      let owner = unsafe Unmanaged<TrackedPictures>.fromOpaque(opaque)
      guard let index = unsafe owner.takeUnretainedValue().ledger.pictureStarted() else {
        return code
      }
      let mark = UnsafeMutablePointer<Mark>.allocate(capacity: 1)
      unsafe mark.initialize(to: Mark(owner: owner, index: index))
      let bytes = unsafe UnsafeMutableRawPointer(mark).assumingMemoryBound(to: UInt8.self)
      unsafe frame.pointee.opaque_ref = av_buffer_create(
        bytes, MemoryLayout<Mark>.size, { _, data in unsafe TrackedPictures.release(data) }, nil, 0)
      if unsafe frame.pointee.opaque_ref == nil {
        unsafe TrackedPictures.release(bytes)
        unsafe av_frame_unref(frame)
        return cffmpeg_error_out_of_memory()
      }
      return code
    }
  }

  /// Takes the mark off a frame that leaves the decoder and may be freed on any thread.
  func detach(from frame: UnsafeMutablePointer<AVFrame>) {
    unsafe av_buffer_unref(&frame.pointee.opaque_ref)
  }

  private static func release(_ data: UnsafeMutablePointer<UInt8>?) {
    guard let data = unsafe data else { return }
    let mark = unsafe UnsafeMutableRawPointer(data).assumingMemoryBound(to: Mark.self)
    unsafe mark.pointee.owner.takeUnretainedValue().ledger.pictureReleased(mark.pointee.index)
    unsafe mark.deallocate()
  }
}
