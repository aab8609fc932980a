import CFFmpeg

/// Takes part in libavcodec's allocation of pictures: fills those that will not be decoded whole,
/// and takes each access unit's picture as soon as it is decoded.
///
/// libavcodec's output cannot be used for that: it waits for as many pictures as it guesses that
/// the stream reorders, and its H.264 decoder drops those that come later. Everything here runs on
/// the decoder's thread.
@safe final class PictureBuffers {
  /// What fills pictures before they are decoded, if anything.
  let prediction: PicturePrediction?
  /// Whether libavcodec allocates missing pictures after the one that refers to them.
  ///
  /// Its H.265 decoder does; its H.264 decoder allocates them before.
  private let allocatesMissing: Bool
  private var isDamaged = false
  /// The side of the picture's first block, if that is decoded from a made-up slice.
  private var madeUpBlock: Int?
  private var savedBlock: SavedBlock?
  private var allocated = 0
  /// Our own reference to the picture being decoded, as it was allocated.
  private var picture: UnsafeMutablePointer<AVFrame>?
  /// The decoder's structure, which receives what the decoder learns of the picture.
  ///
  /// Both decoders keep the structure for as long as they are open.
  private var original: UnsafeMutablePointer<AVFrame>?
  /// Missing pictures that were allocated as references, until they are filled.
  private var missing: [UnsafeMutablePointer<AVFrame>] = unsafe []
  private var execute: Execute?

  private typealias Execute =
    @convention(c) (
      UnsafeMutablePointer<AVCodecContext>?,
      (@convention(c) (UnsafeMutablePointer<AVCodecContext>?, UnsafeMutableRawPointer?) -> Int32)?,
      UnsafeMutableRawPointer?, UnsafeMutablePointer<Int32>?, Int32, Int32
    ) -> Int32

  init(prediction: PicturePrediction?, allocatesMissing: Bool) {
    self.prediction = prediction
    self.allocatesMissing = allocatesMissing
  }

  deinit {
    unsafe av_frame_free(&picture)
    while let frame = unsafe missing.popLast() {
      var rest: UnsafeMutablePointer<AVFrame>? = unsafe frame
      unsafe av_frame_free(&rest)
    }
  }

  /// Expects the picture of another access unit; `madeUpBlock` is the side of a first block that is
  /// to keep its predicted samples.
  func begin(isDamaged: Bool, madeUpBlock: Int? = nil) {
    self.madeUpBlock = madeUpBlock
    savedBlock = nil
    if unsafe !missing.isEmpty { fillMissing() }
    self.isDamaged = isDamaged
    allocated = 0
    unsafe av_frame_free(&picture)
  }

  /// Fills the picture with a prediction, if part of it will not be decoded.
  private func prepare(_ frame: UnsafeMutablePointer<AVFrame>) {
    allocated += 1
    if !allocatesMissing || allocated == 1 {
      unsafe av_frame_free(&picture)
      unsafe (picture, original) = (av_frame_clone(frame), frame)
    }
    guard prediction != nil else { return }
    if allocatesMissing, allocated > 1 {
      // libavcodec makes it grey as soon as this returns.
      if let missing = unsafe av_frame_clone(frame) { unsafe self.missing.append(missing) }
    } else if isDamaged {
      unsafe prediction?.fill(frame)
      savedBlock = madeUpBlock.flatMap { unsafe SavedBlock(of: frame, side: $0) }
    }
  }

  /// Restores the samples of the made-up block after decoding.
  func restoreBlock() {
    savedBlock?.restore()
    savedBlock = nil
  }

  /// The picture that was begun for the unit just decoded, in a frame of `pool`; `nil` if there is
  /// none or the decoder abandoned it.
  func take(from pool: FramePool) -> UnsafeMutablePointer<AVFrame>? {
    defer { unsafe av_frame_free(&picture) }
    guard let picture = unsafe picture, let original = unsafe original, unsafe isCurrent(picture),
      let frame = unsafe pool.take()
    else { return nil }
    guard unsafe av_frame_ref(frame, original) >= 0 else {
      unsafe pool.recycle(frame)
      return nil
    }
    return unsafe frame
  }

  /// Updates `frame` with what the decoder now knows of it.
  func update(_ frame: UnsafeMutablePointer<AVFrame>) {
    guard let original = unsafe original, unsafe isCurrent(frame) else { return }
    unsafe frame.pointee.decode_error_flags = original.pointee.decode_error_flags
    unsafe frame.pointee.interlaced_frame = original.pointee.interlaced_frame
    unsafe frame.pointee.top_field_first = original.pointee.top_field_first
  }

  /// Whether the decoder still holds the picture of `frame` in its original structure.
  private func isCurrent(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
    guard let buffer = unsafe frame.pointee.buf.0 else { return false }
    return unsafe original?.pointee.buf.0?.pointee.data == buffer.pointee.data
  }

  /// Fills the missing pictures, just before decoding refers to them.
  private func fillMissing() {
    while let frame = unsafe missing.popLast() {
      unsafe prediction?.fill(frame)
      var rest: UnsafeMutablePointer<AVFrame>? = unsafe frame
      unsafe av_frame_free(&rest)
    }
  }

  /// Follows the pictures of `context`, which must be freed before this object is.
  func attach(to context: UnsafeMutablePointer<AVCodecContext>) {
    unsafe context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
    unsafe context.pointee.get_buffer2 = { context, frame, flags in
      let code = unsafe avcodec_default_get_buffer2(context, frame, flags)
      guard code >= 0, let frame = unsafe frame, let opaque = unsafe context?.pointee.opaque else {
        return code
      }
      let owner = unsafe Unmanaged<PictureBuffers>.fromOpaque(opaque)
      unsafe owner.takeUnretainedValue().prepare(frame)
      return code
    }
  }

  /// Intercepts the execution of slice decoding; call it once the decoder is open.
  func interpose(in context: UnsafeMutablePointer<AVCodecContext>) {
    guard allocatesMissing, prediction != nil else { return }
    unsafe execute = context.pointee.execute
    unsafe context.pointee.execute = { context, function, argument, result, count, size in
      guard let opaque = unsafe context?.pointee.opaque else { return 0 }
      let owner = unsafe Unmanaged<PictureBuffers>.fromOpaque(opaque).takeUnretainedValue()
      if unsafe !owner.missing.isEmpty { owner.fillMissing() }
      return unsafe owner.execute?(context, function, argument, result, count, size) ?? 0
    }
  }
}
