import CFFmpeg

/// Stands where libavcodec allocates its pictures: fills those that will not be decoded whole, and
/// has the one of each access unit as soon as it is decoded.
///
/// What libavcodec gives out is of no use for that: it waits for as many pictures as its guess of
/// how far the stream reorders, and its H.264 decoder drops those that come later than it thought.
/// All of it happens on the decoder's thread.
@safe final class PictureBuffers {
  /// What pictures are filled with before they are decoded, if with anything.
  let prediction: PicturePrediction?
  /// Whether libavcodec allocates pictures that never came behind the one that refers to them.
  ///
  /// Its H.265 decoder does, and that of H.264 allocates them before it.
  private let allocatesMissing: Bool
  private var isDamaged = false
  /// The side of the block at the beginning of the picture that will be decoded to something made
  /// up.
  private var madeUpBlock: Int?
  private var savedBlock: SavedBlock?
  private var allocated = 0
  /// The picture of the unit that is being decoded: a reference of our own, as it was allocated.
  private var picture: UnsafeMutablePointer<AVFrame>?
  /// The decoder's own, in which it writes what it knows of the picture.
  ///
  /// Both decoders keep the structure for as long as they are open.
  private var original: UnsafeMutablePointer<AVFrame>?
  /// Pictures that were allocated for being referred to, until they are filled.
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

  /// Expects the pictures of another access unit; a block of `madeUpBlock` samples a side at its
  /// beginning is to be as it would be without being decoded.
  func begin(isDamaged: Bool, madeUpBlock: Int? = nil) {
    self.madeUpBlock = madeUpBlock
    savedBlock = nil
    if unsafe !missing.isEmpty { fillMissing() }
    self.isDamaged = isDamaged
    allocated = 0
    unsafe av_frame_free(&picture)
  }

  /// Puts what a picture will probably look like where parts or all of it will not be decoded.
  private func prepare(_ frame: UnsafeMutablePointer<AVFrame>) {
    allocated += 1
    if !allocatesMissing || allocated == 1 {
      unsafe av_frame_free(&picture)
      unsafe (picture, original) = (av_frame_clone(frame), frame)
    }
    guard prediction != nil else { return }
    if allocatesMissing, allocated > 1 {
      // libavcodec makes it grey as soon as this has returned.
      if let missing = unsafe av_frame_clone(frame) { unsafe self.missing.append(missing) }
    } else if isDamaged {
      unsafe prediction?.fill(frame)
      savedBlock = madeUpBlock.flatMap { unsafe SavedBlock(of: frame, side: $0) }
    }
  }

  /// Puts back what was in the block that is made up, when the picture has been decoded.
  func restoreBlock() {
    savedBlock?.restore()
    savedBlock = nil
  }

  /// The picture that was begun for the unit that has just been decoded, in a frame of `pool`, with
  /// all that the decoder knows of it; `nil` when there is none, or the decoder has given it up.
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

  /// Adds to `frame` what the decoder knows of it by now.
  func update(_ frame: UnsafeMutablePointer<AVFrame>) {
    guard let original = unsafe original, unsafe isCurrent(frame) else { return }
    unsafe frame.pointee.decode_error_flags = original.pointee.decode_error_flags
    unsafe frame.pointee.interlaced_frame = original.pointee.interlaced_frame
    unsafe frame.pointee.top_field_first = original.pointee.top_field_first
  }

  /// Whether the decoder still holds the picture of `frame` in the structure for which it was
  /// allocated.
  private func isCurrent(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
    guard let buffer = unsafe frame.pointee.buf.0 else { return false }
    return unsafe original?.pointee.buf.0?.pointee.data == buffer.pointee.data
  }

  /// Fills the pictures that never came, when nothing but decoding is left to be done with them.
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

  /// Goes between the decoder and whoever runs the decoding of its slices; call it once it is open.
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
