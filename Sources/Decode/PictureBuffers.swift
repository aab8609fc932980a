import CFFmpeg

/// Takes part in libavcodec's allocation of pictures: fills those that will not be decoded whole,
/// and takes each access unit's picture as soon as it is decoded.
///
/// libavcodec's output cannot be used for that: it waits for as many pictures as it guesses that
/// the stream reorders, and its H.264 decoder drops those that come later. Everything here runs on
/// the decoder's thread: as long as `thread_safe_callbacks` is not set, libavcodec 59 has pictures
/// allocated there, before it takes another packet, although threads of its own decode them.
@safe final class PictureBuffers {
  /// What fills pictures before they are decoded, if anything.
  let prediction: PicturePrediction?
  /// Whether libavcodec allocates missing pictures after the one that refers to them.
  ///
  /// Its H.265 decoder does; its H.264 decoder allocates them before.
  private let allocatesMissing: Bool
  /// Whether these can be filled before anything refers to them.
  private let fillsMissing: Bool
  /// Where pictures lie; `nil` for libavcodec's own memory.
  private let memory: SharedPictures?
  private var treatment = Treatment.none
  /// The place in output order of the picture being decoded.
  private var position = 0
  /// Whether pictures before the one being decoded may be missing.
  private var isBehindLoss = false
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
  private var executeRows: ExecuteRows?

  /// What is done to a picture, because part of it will not be decoded.
  enum Treatment {
    case none
    /// It is filled before it is decoded: something may refer to it as soon as it is.
    case fillBefore
    /// It is filled afterwards, when it is known what of it came.
    case repair
  }

  private typealias Execute =
    @convention(c) (
      UnsafeMutablePointer<AVCodecContext>?,
      (@convention(c) (UnsafeMutablePointer<AVCodecContext>?, UnsafeMutableRawPointer?) -> Int32)?,
      UnsafeMutableRawPointer?, UnsafeMutablePointer<Int32>?, Int32, Int32
    ) -> Int32
  private typealias ExecuteRows =
    @convention(c) (
      UnsafeMutablePointer<AVCodecContext>?,
      (
        @convention(c) (
          UnsafeMutablePointer<AVCodecContext>?, UnsafeMutableRawPointer?, Int32, Int32
        )
          -> Int32
      )?,
      UnsafeMutableRawPointer?, UnsafeMutablePointer<Int32>?, Int32
    ) -> Int32

  init(
    prediction: PicturePrediction?, allocatesMissing: Bool, fillsMissing: Bool,
    memory: SharedPictures?
  ) {
    self.prediction = prediction
    self.memory = memory
    self.allocatesMissing = allocatesMissing
    self.fillsMissing = fillsMissing && allocatesMissing && prediction != nil
  }

  deinit {
    unsafe av_frame_free(&picture)
    while let frame = unsafe missing.popLast() {
      var rest: UnsafeMutablePointer<AVFrame>? = unsafe frame
      unsafe av_frame_free(&rest)
    }
  }

  /// Expects the picture of another access unit, at a place in output order; `madeUpBlock` is the
  /// side of a first block that is to keep the samples from before it was decoded.
  func begin(
    _ treatment: Treatment, at position: Int = 0, isBehindLoss: Bool = false,
    madeUpBlock: Int? = nil
  ) {
    self.madeUpBlock = madeUpBlock
    savedBlock = nil
    if unsafe !missing.isEmpty { fillMissing() }
    (self.treatment, self.position, self.isBehindLoss) = (treatment, position, isBehindLoss)
    allocated = 0
    unsafe av_frame_free(&picture)
  }

  /// Fills the picture with a prediction, or marks it, if part of it will not be decoded.
  private func prepare(_ frame: UnsafeMutablePointer<AVFrame>) {
    allocated += 1
    if allocatesMissing, allocated > 1 {
      // libavcodec makes it grey as soon as this returns.
      if fillsMissing, let missing = unsafe av_frame_clone(frame) {
        unsafe self.missing.append(missing)
      }
      return
    }
    if allocated > 1 { fillSkipped() }
    unsafe av_frame_free(&picture)
    unsafe (picture, original) = (av_frame_clone(frame), frame)
    switch treatment {
    case .none: return
    case .fillBefore: unsafe prediction?.fill(frame, at: position)
    case .repair: unsafe prediction?.mark(frame)
    }
    savedBlock = madeUpBlock.flatMap { unsafe SavedBlock(of: frame, side: $0) }
  }

  /// Fills a picture that turned out to be missing, since another one followed it: libavcodec's
  /// H.264 decoder has made it a copy of the one before.
  private func fillSkipped() {
    guard isBehindLoss, let picture = unsafe picture else { return }
    unsafe prediction?.fill(picture, ahead: allocated - 1)
  }

  /// Fills what was not decoded.
  func finish() {
    savedBlock?.restore()
    savedBlock = nil
    if case .repair = treatment, let picture = unsafe picture {
      unsafe prediction?.repair(picture, at: position)
    }
  }

  /// The picture that was begun for the unit just given to the decoder; `nil` if there is none.
  func takeBegun() -> BegunPicture? {
    guard let picture = unsafe picture, let original = unsafe original else { return nil }
    unsafe self.picture = nil
    return unsafe BegunPicture(picture, original: original)
  }

  /// Updates `frame` with what the decoder now knows of it.
  func update(_ frame: UnsafeMutablePointer<AVFrame>) {
    guard let original = unsafe original, unsafe original.holds(frame) else { return }
    unsafe frame.pointee.decode_error_flags = original.pointee.decode_error_flags
    unsafe frame.pointee.interlaced_frame = original.pointee.interlaced_frame
    unsafe frame.pointee.top_field_first = original.pointee.top_field_first
  }

  /// Fills the missing pictures, just before decoding refers to them.
  private func fillMissing() {
    while let frame = unsafe missing.popLast() {
      unsafe prediction?.fill(frame, ahead: 1)
      var rest: UnsafeMutablePointer<AVFrame>? = unsafe frame
      unsafe av_frame_free(&rest)
    }
  }

  /// Follows the pictures of `context`, which must be freed before this object is.
  func attach(to context: UnsafeMutablePointer<AVCodecContext>) {
    unsafe context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
    unsafe context.pointee.get_buffer2 = { context, frame, flags in
      guard let context = unsafe context, let frame = unsafe frame,
        let opaque = unsafe context.pointee.opaque
      else { return cffmpeg_error_invalid_data() }
      let owner = unsafe Unmanaged<PictureBuffers>.fromOpaque(opaque).takeUnretainedValue()
      let code =
        if let memory = owner.memory {
          unsafe memory.allocate(frame, in: context)
        } else {
          unsafe avcodec_default_get_buffer2(context, frame, flags)
        }
      if code >= 0 { unsafe owner.prepare(frame) }
      return code
    }
  }

  /// Intercepts the execution of slice decoding; call it once the decoder is open.
  func interpose(in context: UnsafeMutablePointer<AVCodecContext>) {
    guard fillsMissing else { return }
    unsafe execute = context.pointee.execute
    unsafe context.pointee.execute = { context, function, argument, result, count, size in
      guard let opaque = unsafe context?.pointee.opaque else { return 0 }
      let owner = unsafe Unmanaged<PictureBuffers>.fromOpaque(opaque).takeUnretainedValue()
      if unsafe !owner.missing.isEmpty { owner.fillMissing() }
      return unsafe owner.execute?(context, function, argument, result, count, size) ?? 0
    }
    unsafe executeRows = context.pointee.execute2
    unsafe context.pointee.execute2 = { context, function, argument, result, count in
      guard let opaque = unsafe context?.pointee.opaque else { return 0 }
      let owner = unsafe Unmanaged<PictureBuffers>.fromOpaque(opaque).takeUnretainedValue()
      if unsafe !owner.missing.isEmpty { owner.fillMissing() }
      return unsafe owner.executeRows?(context, function, argument, result, count) ?? 0
    }
  }
}

/// A picture that the decoder has begun, and its own reference to it.
@safe final class BegunPicture {
  private var picture: UnsafeMutablePointer<AVFrame>?
  /// The decoder's structure, which receives what the decoder learns of the picture.
  private let original: UnsafeMutablePointer<AVFrame>

  /// Takes over `picture`.
  init(_ picture: UnsafeMutablePointer<AVFrame>, original: UnsafeMutablePointer<AVFrame>) {
    unsafe (self.picture, self.original) = (picture, original)
  }

  deinit { unsafe av_frame_free(&picture) }

  /// The picture, decoded, in a frame of `pool`; `nil` if the decoder abandoned it.
  func take(from pool: FramePool) -> UnsafeMutablePointer<AVFrame>? {
    guard let picture = unsafe picture, unsafe original.holds(picture),
      let frame = unsafe pool.take()
    else { return nil }
    guard unsafe av_frame_ref(frame, original) >= 0 else {
      unsafe pool.recycle(frame)
      return nil
    }
    return unsafe frame
  }
}

extension UnsafeMutablePointer<AVFrame> {
  /// Whether the decoder's structure still holds the picture of `frame`.
  fileprivate func holds(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
    guard let buffer = unsafe frame.pointee.buf.0 else { return false }
    return unsafe pointee.buf.0?.pointee.data == buffer.pointee.data
  }
}
