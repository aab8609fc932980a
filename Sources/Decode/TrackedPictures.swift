import CFFmpeg

/// Ties libavcodec's picture buffers to the ledger: a mark on every picture that says when it goes.
///
/// The mark is a reference-counted buffer in the frame's `opaque_ref`, which the decoder copies and
/// releases with the picture itself. All of it happens on the decoder's thread.
@safe final class TrackedPictures {
  var ledger = PictureLedger()
  /// What pictures are filled with before they are decoded, if with anything.
  let prediction: PicturePrediction?
  /// Whether libavcodec, behind the picture of a unit, allocates those that it refers to and that never
  /// came: its H.265 decoder does.
  private let allocatesMissing: Bool
  private var isDamaged = false
  /// The side of the block at the beginning of the picture that will be decoded to something made up.
  private var madeUpBlock: Int?
  private var savedBlock: SavedBlock?
  private var allocated = 0
  /// The pictures that have not come out once more, in case that libavcodec keeps them back.
  private var waiting: [PictureLedger.Index: UnsafeMutablePointer<AVFrame>] = unsafe [:]
  /// Those of them that libavcodec has given out already.
  private var given: Set<PictureLedger.Index> = []
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
    forgetWaiting { _ in true }
    while let frame = unsafe missing.popLast() {
      var rest: UnsafeMutablePointer<AVFrame>? = unsafe frame
      unsafe av_frame_free(&rest)
    }
  }

  /// Expects the pictures of another access unit; a block of `madeUpBlock` samples a side at its beginning
  /// is to be as it would be without being decoded.
  func begin(isDamaged: Bool, madeUpBlock: Int? = nil) {
    self.madeUpBlock = madeUpBlock
    savedBlock = nil
    if unsafe !missing.isEmpty { fillMissing() }
    self.isDamaged = isDamaged
    allocated = 0
    forgetWaiting { !ledger.isWaiting($0) }
  }

  /// The picture of `index`, which libavcodec has decoded and does not give out; the caller owns it.
  ///
  /// It has the properties of the one that came out before it, and is `nil` where it can not be like that.
  ///
  /// Behind an IDR picture that did not come, libavcodec's H.264 decoder withholds all pictures whose
  /// order count is below that of the last one of the sequence before.
  func take(_ index: PictureLedger.Index) -> UnsafeMutablePointer<AVFrame>? {
    guard let frame = unsafe waiting[index],
      unsafe given.contains(index) || prediction?.dress(frame) == true
    else { return nil }
    unsafe waiting[index] = nil
    given.remove(index)
    return unsafe frame
  }

  /// Keeps a picture that libavcodec gives out before its turn; false where it is none of those that wait.
  func keep(_ frame: UnsafeMutablePointer<AVFrame>, of index: PictureLedger.Index) -> Bool {
    guard ledger.isWaiting(index) else { return false }
    unsafe av_frame_free(&waiting[index])
    unsafe waiting[index] = frame
    given.insert(index)
    return true
  }

  /// Whether what waits does so in libavcodec, and will come out of it in its turn.
  var isWaitingInDecoder: Bool { given.isEmpty && ledger.areWaitingIntact }

  private func forgetWaiting(where isOver: (PictureLedger.Index) -> Bool) {
    let over = unsafe waiting.keys.filter(isOver)
    for index in over {
      unsafe av_frame_free(&waiting[index])
      unsafe waiting[index] = nil
      given.remove(index)
    }
  }

  /// Puts what a picture will probably look like where parts or all of it will not be decoded.
  private func prepare(_ frame: UnsafeMutablePointer<AVFrame>) {
    allocated += 1
    guard prediction != nil else { return }
    if !allocatesMissing, let index = ledger.current {
      // Before it are those that it would have referred to.
      unsafe av_frame_free(&waiting[index])
      unsafe waiting[index] = av_frame_clone(frame)
    }
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

  /// Fills the pictures that never came, when nothing but decoding is left to be done with them.
  private func fillMissing() {
    while let frame = unsafe missing.popLast() {
      unsafe prediction?.fill(frame)
      var rest: UnsafeMutablePointer<AVFrame>? = unsafe frame
      unsafe av_frame_free(&rest)
    }
  }

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
      unsafe owner.takeUnretainedValue().prepare(frame)
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

  /// Goes between the decoder and whoever runs the decoding of its slices; call it once it is open.
  func interpose(in context: UnsafeMutablePointer<AVCodecContext>) {
    guard allocatesMissing, prediction != nil else { return }
    unsafe execute = context.pointee.execute
    unsafe context.pointee.execute = { context, function, argument, result, count, size in
      guard let opaque = unsafe context?.pointee.opaque else { return 0 }
      let owner = unsafe Unmanaged<TrackedPictures>.fromOpaque(opaque).takeUnretainedValue()
      if unsafe !owner.missing.isEmpty { owner.fillMissing() }
      return unsafe owner.execute?(context, function, argument, result, count, size) ?? 0
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
