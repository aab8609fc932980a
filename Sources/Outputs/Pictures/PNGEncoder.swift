import Bitstream
import CFFmpeg
import Decode
import NIOCore

/// Makes PNG of frames with libavcodec, with 16 bits per sample if the stream has more than 8.
@safe final class PNGEncoder: PictureEncoder {
  /// Below every log level.
  private static let silence: Int32 = 100

  private let size: FrameShape.Size?
  private var converter: (source: PixelFormat, FrameConverter)?
  private var context: UnsafeMutablePointer<AVCodecContext>?
  /// What the encoder was opened for.
  private var opened: (geometry: RawFrame.Geometry, aspect: Rational?)?

  /// Encodes pictures of `size`, or of that of each frame.
  init(size: FrameShape.Size?) { self.size = size }

  deinit { unsafe avcodec_free_context(&context) }

  func encode(_ frame: RawFrame) throws(OutputError) -> ByteBuffer {
    let picture = try converter(for: frame).converted(frame)
    if unsafe context == nil || opened?.geometry != picture.geometry
      || opened?.aspect != picture.sampleAspectRatio
    {
      try open(for: picture)
    }
    guard let context = unsafe context, let packet = unsafe av_packet_alloc() else {
      throw failure(picture)
    }
    var result: UnsafeMutablePointer<AVPacket>? = unsafe packet
    defer { unsafe av_packet_free(&result) }
    guard unsafe avcodec_send_frame(context, picture.libav) >= 0,
      unsafe avcodec_receive_packet(context, packet) >= 0
    else { throw failure(picture) }
    return unsafe ByteBuffer(
      bytes: UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
  }

  private func converter(for frame: RawFrame) -> FrameConverter {
    if let converter, converter.source == frame.pixelFormat { return converter.1 }
    let shape = FrameShape(
      pixelFormat: frame.pixelFormat.bitDepth > 8 ? .rgb48 : .rgb24, size: size)
    let made = FrameConverter(to: shape, quality: .exact)
    converter = (frame.pixelFormat, made)
    return made
  }

  private func open(for picture: RawFrame) throws(OutputError) {
    unsafe avcodec_free_context(&context)
    guard let encoder = unsafe avcodec_find_encoder_by_name("png"),
      let context = unsafe avcodec_alloc_context3(encoder)
    else { throw failure(picture) }
    unsafe self.context = context
    unsafe context.pointee.log_level_offset = Self.silence
    unsafe context.pointee.width = Int32(picture.width)
    unsafe context.pointee.height = Int32(picture.height)
    unsafe context.pointee.pix_fmt = picture.pixelFormat.libav
    unsafe context.pointee.time_base = AVRational(num: 1, den: 25)
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

  private func failure(_ picture: RawFrame) -> OutputError {
    .failed(reason: "a picture of \(picture.width)x\(picture.height) cannot be made PNG")
  }
}
