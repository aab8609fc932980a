import Bitstream
import CTurboJPEG
package import Decode
package import NIOCore

/// Makes JPEG of frames with TurboJPEG, which takes a third of the time of libavcodec's encoder.
///
/// A file keeps the stream's chroma resolution, in the colours that readers of JFIF assume: BT.601
/// in full range.
@safe package final class JPEGEncoder: PictureEncoder {
  /// TurboJPEG's scale, 1 … 100; 90 looks like the original.
  private static let quality: Int32 = 90
  /// Where JFIF has the shape of a pixel, in two numbers of 16 bits.
  private static let aspectOffset = 14

  private let size: FrameShape.Size?
  private let handle: tjhandle?
  private var converter: (source: PixelFormat, FrameConverter)?

  /// Encodes pictures of `size`, or of that of each frame.
  package init(size: FrameShape.Size?) {
    self.size = size
    unsafe handle = tjInitCompress()
  }

  deinit {
    guard let handle = unsafe handle else { return }
    _ = unsafe tjDestroy(handle)
  }

  package func encode(_ frame: RawFrame) throws(OutputError) -> ByteBuffer {
    let picture = try converter(for: frame).converted(frame)
    let failure = OutputError.failed(
      reason: "a picture of \(picture.width)x\(picture.height) cannot be made JPEG")
    let (width, height) = (Int32(picture.width), Int32(picture.height))
    let sampling = Self.sampling(of: picture.pixelFormat)
    // The largest that a file can be; most of it is never touched.
    let bound = tjBufSize(width, height, sampling)
    guard let handle = unsafe handle, let room = Int(exactly: bound) else { throw failure }
    var file = ByteBuffer()
    let count = withExtendedLifetime(picture) {
      var planes = unsafe (0..<picture.planeCount).map {
        unsafe UnsafePointer(picture.planeStart($0))
      }
      let strides = (0..<picture.planeCount).map { Int32(picture.layout(ofPlane: $0).stride) }
      return unsafe file.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { memory in
        var start = unsafe memory.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var count = bound
        let result = unsafe tjCompressFromYUVPlanes(
          handle, &planes, width, strides, height, sampling, &start, &count, Self.quality,
          TJFLAG_NOREALLOC)
        return result == 0 ? Int(count) : 0
      }
    }
    guard count > 0 else { throw failure }
    if let aspect = picture.sampleAspectRatio, let across = UInt16(exactly: aspect.numerator),
      let down = UInt16(exactly: aspect.denominator)
    {
      file.setInteger(across, at: Self.aspectOffset)
      file.setInteger(down, at: Self.aspectOffset + 2)
    }
    return file
  }

  private func converter(for frame: RawFrame) -> FrameConverter {
    if let converter, converter.source == frame.pixelFormat { return converter.1 }
    let format: PixelFormat =
      switch frame.pixelFormat.layout {
      case .yuv(.monochrome), .semiPlanar(.monochrome): .gray8
      case .yuv(.yuv420), .semiPlanar(.yuv420): .yuv420p
      case .yuv(.yuv422), .semiPlanar(.yuv422): .yuv422p
      case .yuv(.yuv444), .semiPlanar(.yuv444), .gbr, .packed: .yuv444p
      }
    let shape = FrameShape(pixelFormat: format, size: size)
    let made = FrameConverter(to: shape, as: .jfif, quality: .exact)
    converter = (frame.pixelFormat, made)
    return made
  }

  private static func sampling(of format: PixelFormat) -> Int32 {
    let sampling =
      switch format {
      case .gray8: TJSAMP_GRAY
      case .yuv420p: TJSAMP_420
      case .yuv422p: TJSAMP_422
      default: TJSAMP_444
      }
    return Int32(sampling.rawValue)
  }
}
