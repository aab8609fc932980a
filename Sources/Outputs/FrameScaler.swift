import Bitstream
import CFFmpeg
import Decode
import Defragment

/// Scales frames of any size and sample layout to one geometry, with libswscale's bicubic filter.
@safe final class FrameScaler {
  let target: RawFrame.Geometry
  private let isFullRange: Bool
  private let pool = FramePool()
  private var context: OpaquePointer?
  private var source: (geometry: RawFrame.Geometry, isFullRange: Bool)?

  /// Scales to the geometry and sample range of `frame`.
  init(like frame: RawFrame) {
    target = frame.geometry
    isFullRange = frame.colour.isFullRange
  }

  deinit { unsafe sws_freeContext(context) }

  /// The frame in the target geometry: the frame itself if it already fits, otherwise a scaled
  /// copy.
  ///
  /// - Throws: ``OutputError/cannotScale(from:to:)`` when libswscale refuses or memory runs out.
  func scaled(_ frame: RawFrame) throws(OutputError) -> RawFrame {
    guard frame.geometry != target else { return frame }
    let failure = OutputError.cannotScale(from: frame.geometry, to: target)
    prepare(for: frame)
    guard let context = unsafe context, let copy = unsafe pool.take() else { throw failure }
    unsafe copy.pointee.width = Int32(target.width)
    unsafe copy.pointee.height = Int32(target.height)
    unsafe copy.pointee.format = target.pixelFormat.libav.rawValue
    guard unsafe av_frame_get_buffer(copy, 0) >= 0,
      unsafe sws_scale_frame(context, copy, frame.libav) >= 0
    else {
      unsafe pool.recycle(copy)
      throw failure
    }
    return unsafe RawFrame(scaled: copy, from: pool, to: target, of: frame)
  }

  private func prepare(for frame: RawFrame) {
    if let source, source.geometry == frame.geometry,
      source.isFullRange == frame.colour.isFullRange
    {
      return
    }
    source = (frame.geometry, frame.colour.isFullRange)
    unsafe sws_freeContext(context)
    unsafe context = sws_getContext(
      Int32(frame.width), Int32(frame.height), frame.pixelFormat.libav,
      Int32(target.width), Int32(target.height), target.pixelFormat.libav,
      SWS_BICUBIC, nil, nil, nil)
    let coefficients = unsafe sws_getCoefficients(SWS_CS_DEFAULT)
    if let context = unsafe context {
      let unity: Int32 = 1 << 16
      _ = unsafe sws_setColorspaceDetails(
        context, coefficients, frame.colour.isFullRange ? 1 : 0, coefficients, isFullRange ? 1 : 0,
        0, unity, unity)
    }
  }
}
