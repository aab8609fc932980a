import Bitstream
import CFFmpeg
import Defragment
import NIOCore

/// One open decoder of libavcodec, with what it reads from and writes to.
@safe final class CodecContext {
  private let context: UnsafeMutablePointer<AVCodecContext>
  private let packet: UnsafeMutablePointer<AVPacket>
  /// Receives libavcodec's own output, which is not used.
  private let surplus: UnsafeMutablePointer<AVFrame>
  /// libavcodec calls it as long as the decoder is open.
  private let buffers: PictureBuffers

  /// More than the distance between libav's most and least important messages.
  ///
  /// libav keeps eight bits of the sum, so it must not be much more.
  static let silence: Int32 = 100

  /// Opens the decoder that `codec` names.
  ///
  /// - Throws: ``DecoderError``.
  init(
    _ codec: VideoCodec, _ configuration: VideoDecoder.Configuration, _ threads: ThreadUse,
    _ buffers: PictureBuffers
  ) throws(DecoderError) {
    guard configuration.allowedDecoders.contains(codec.decoderName),
      let decoder = unsafe avcodec_find_decoder_by_name(codec.decoderName)
    else { throw .unsupportedCodec(name: codec.name) }
    guard let context = unsafe avcodec_alloc_context3(decoder) else { throw .outOfMemory }
    guard let packet = unsafe av_packet_alloc(), let surplus = unsafe av_frame_alloc() else {
      var context: UnsafeMutablePointer<AVCodecContext>? = unsafe context
      unsafe avcodec_free_context(&context)
      throw .outOfMemory
    }
    unsafe self.context = context
    unsafe self.packet = packet
    unsafe self.surplus = surplus
    self.buffers = buffers
    // Otherwise libav writes to standard error. Its log level is that of the whole process, and
    // belongs to the program; this keeps this one decoder below every level.
    unsafe context.pointee.log_level_offset = Self.silence
    unsafe context.pointee.thread_count = Int32(threads.count)
    unsafe context.pointee.thread_type = threads.delay > 0 ? FF_THREAD_FRAME : FF_THREAD_SLICE
    unsafe context.pointee.max_pixels = Int64(configuration.maximumPixels)
    // Pictures with missing parts come out marked as such; withholding them is decided elsewhere.
    unsafe context.pointee.flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT
    // Pictures are cropped when they are output.
    unsafe context.pointee.apply_cropping = 0
    unsafe context.pointee.export_side_data = 0
    unsafe buffers.attach(to: context)
    let code = unsafe avcodec_open2(context, decoder, nil)
    guard code >= 0 else { throw .cannotOpen(code: code, text: libavErrorText(code)) }
    unsafe buffers.interpose(in: context)
  }

  deinit {
    var surplus: UnsafeMutablePointer<AVFrame>? = unsafe surplus
    unsafe av_frame_free(&surplus)
    var packet: UnsafeMutablePointer<AVPacket>? = unsafe packet
    unsafe av_packet_free(&packet)
    var context: UnsafeMutablePointer<AVCodecContext>? = unsafe context
    unsafe avcodec_free_context(&context)
  }

  /// Whether libavcodec conceals what is missing in the next picture.
  ///
  /// Threads that have whole pictures do not hear of this, and always conceal.
  var conceals: Bool {
    get { unsafe context.pointee.error_concealment != 0 }
    set {
      unsafe context.pointee.error_concealment = newValue ? FF_EC_GUESS_MVS | FF_EC_DEBLOCK : 0
    }
  }

  /// The shape of a sample by the active parameter sets; 0 to something if they do not say.
  var sampleAspectRatio: AVRational { unsafe context.pointee.sample_aspect_ratio }

  /// The rate of frames by the active parameter sets, if they say one that can be meant.
  var frameRate: Rational? {
    FormatDescription.frameRate(Rational(unsafe context.pointee.framerate))
  }

  /// Takes `unit` for the next packet, with the bytes of `beginning` before its slice.
  ///
  /// - Returns: whether there was memory for it.
  func fill(
    from unit: AccessUnit, beginning: (bytes: ByteBuffer, slice: NALUnit)?, endsCutSlices: Bool
  ) -> Bool {
    unsafe packet.fill(from: unit, beginning: beginning, endsCutSlices: endsCutSlices)
  }

  /// Takes `units` for the next packet.
  ///
  /// - Returns: whether there was memory for them.
  func fill(from units: [ByteBuffer]) -> Bool {
    let stream = AnnexB.stream(of: units)
    guard let size = Int32(exactly: stream.readableBytes), unsafe av_new_packet(packet, size) >= 0
    else { return false }
    unsafe stream.withUnsafeReadableBytes { bytes in
      unsafe UnsafeMutableRawBufferPointer(start: packet.pointee.data, count: bytes.count)
        .copyMemory(from: bytes)
    }
    return true
  }

  /// Decodes the packet and discards libavcodec's output.
  ///
  /// - Returns: 0, or libav's error, of the packet that is finished with it.
  func decodePacket() -> Int32 {
    let sent = unsafe avcodec_send_packet(context, packet)
    unsafe av_packet_unref(packet)
    while true {
      let code = unsafe avcodec_receive_frame(context, surplus)
      guard code < 0 else { continue }
      unsafe av_frame_unref(surplus)
      if sent < 0 { return sent }
      return code == cffmpeg_error_again() || code == cffmpeg_error_end_of_file() ? 0 : code
    }
  }

  /// Forgets all pictures.
  func flush() { unsafe avcodec_flush_buffers(context) }
}
