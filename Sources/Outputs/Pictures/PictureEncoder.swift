import Bitstream
import CFFmpeg
import Decode
import Defragment
import NIOCore

/// Makes JPEG or PNG of frames with libavcodec.
///
/// JPEG keeps the stream's chroma resolution, in the colours that readers of JFIF assume: BT.601 in
/// full range. PNG has 16 bits per sample if the stream has more than 8.
@safe final class PictureEncoder {
  enum Coding: Sendable, Hashable {
    case jpeg
    case png
  }

  /// Below every log level.
  private static let silence: Int32 = 100
  /// libavcodec's scale, 1 … 31; 2 looks like the original.
  private static let quality: Int32 = 2

  private let coding: Coding
  private let size: FrameShape.Size?
  private var converter: (source: PixelFormat, FrameConverter)?
  private var context: UnsafeMutablePointer<AVCodecContext>?
  /// What the encoder was opened for.
  private var opened: (geometry: RawFrame.Geometry, aspect: Rational?)?
  private var count: Int64 = 0

  /// Encodes pictures of `size`, or of that of each frame.
  init(_ coding: Coding, size: FrameShape.Size?) {
    self.coding = coding
    self.size = size
  }

  deinit { unsafe avcodec_free_context(&context) }

  /// The file of a picture.
  ///
  /// - Throws: ``OutputError``.
  func encode(_ frame: RawFrame) throws(OutputError) -> ByteBuffer {
    let picture = try converter(for: frame).converted(frame)
    if unsafe context == nil || opened?.geometry != picture.geometry
      || opened?.aspect != picture.sampleAspectRatio
    {
      try open(for: picture)
    }
    guard let context = unsafe context, let copy = unsafe av_frame_clone(picture.libav),
      let packet = unsafe av_packet_alloc()
    else { throw failure(picture) }
    var (frame, result): (UnsafeMutablePointer<AVFrame>?, UnsafeMutablePointer<AVPacket>?) =
      unsafe (copy, packet)
    defer {
      unsafe av_frame_free(&frame)
      unsafe av_packet_free(&result)
    }
    unsafe copy.pointee.format = context.pointee.pix_fmt.rawValue
    unsafe copy.pointee.color_range = AVCOL_RANGE_JPEG
    unsafe copy.pointee.pict_type = AV_PICTURE_TYPE_I
    unsafe copy.pointee.quality = Self.quality * FF_QP2LAMBDA
    unsafe copy.pointee.pts = count
    count += 1
    guard unsafe avcodec_send_frame(context, copy) >= 0,
      unsafe avcodec_receive_packet(context, packet) >= 0
    else { throw failure(picture) }
    return unsafe ByteBuffer(
      bytes: UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
  }

  private func converter(for frame: RawFrame) -> FrameConverter {
    if let converter, converter.source == frame.pixelFormat { return converter.1 }
    var shape = FrameShape(size: size)
    let made: FrameConverter
    switch coding {
    case .png:
      shape.pixelFormat = frame.pixelFormat.bitDepth > 8 ? .rgb48 : .rgb24
      made = FrameConverter(to: shape, quality: .exact)
    case .jpeg:
      shape.pixelFormat =
        switch frame.pixelFormat.layout {
        case .yuv(.monochrome), .yuv(.yuv420), .semiPlanar(.yuv420), .semiPlanar(.monochrome):
          .yuv420p
        case .yuv(.yuv422), .semiPlanar(.yuv422): .yuv422p
        case .yuv(.yuv444), .semiPlanar(.yuv444), .gbr, .packed: .yuv444p
        }
      made = FrameConverter(to: shape, as: .jfif, quality: .exact)
    }
    converter = (frame.pixelFormat, made)
    return made
  }

  private func open(for picture: RawFrame) throws(OutputError) {
    unsafe avcodec_free_context(&context)
    let name = coding == .jpeg ? "mjpeg" : "png"
    guard let encoder = unsafe avcodec_find_encoder_by_name(name),
      let context = unsafe avcodec_alloc_context3(encoder)
    else { throw failure(picture) }
    unsafe self.context = context
    unsafe context.pointee.log_level_offset = Self.silence
    unsafe context.pointee.width = Int32(picture.width)
    unsafe context.pointee.height = Int32(picture.height)
    unsafe context.pointee.pix_fmt = Self.libavFormat(of: picture.pixelFormat)
    unsafe context.pointee.color_range = AVCOL_RANGE_JPEG
    unsafe context.pointee.time_base = AVRational(num: 1, den: 25)
    unsafe context.pointee.flags |= AV_CODEC_FLAG_QSCALE
    unsafe context.pointee.global_quality = Self.quality * FF_QP2LAMBDA
    unsafe context.pointee.thread_count = 1
    if let aspect = picture.sampleAspectRatio,
      let (across, down) = Int32(exactly: aspect.numerator).flatMap({ across in
        Int32(exactly: aspect.denominator).map { (across, $0) }
      })
    {
      unsafe context.pointee.sample_aspect_ratio = AVRational(num: across, den: down)
    }
    guard unsafe avcodec_open2(context, encoder, nil) >= 0 else {
      unsafe avcodec_free_context(&self.context)
      throw failure(picture)
    }
    opened = (picture.geometry, picture.sampleAspectRatio)
  }

  /// The encoder of JPEG wants libav's old names of formats with full range.
  private static func libavFormat(of format: PixelFormat) -> AVPixelFormat {
    switch format {
    case .yuv420p: AV_PIX_FMT_YUVJ420P
    case .yuv422p: AV_PIX_FMT_YUVJ422P
    case .yuv444p: AV_PIX_FMT_YUVJ444P
    default: format.libav
    }
  }

  private func failure(_ picture: RawFrame) -> OutputError {
    .failed(
      reason: "a picture of \(picture.width)x\(picture.height) cannot be made "
        + (coding == .jpeg ? "JPEG" : "PNG"))
  }
}
