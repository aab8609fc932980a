import CAVFormat
import CFFmpeg
import NIOCore
import TestPattern

/// libx264 or libx265, as libavcodec wraps them, set up to be the same on every machine.
@safe final class VideoEncoder {
  struct Settings {
    var codec: Codec
    var width: Int
    var height: Int
    var framesPerSecond: Int
    /// Bits a second.
    var bitRate: Int
    /// Pictures from one key picture to the next.
    var groupLength: Int
    /// Consecutive B-pictures; without any, each picture comes out at once.
    var bidirectionalPictures: Int
    /// The longest slice in bytes, where the encoder can limit it: libx264.
    var sliceLimit: Int?
    /// How many pictures the parameter sets allow to refer to; `nil` is what the preset says.
    var referencePictures: Int?
  }

  struct Output {
    /// Annex B, parameter sets before each key picture.
    var bytes: ByteBuffer
    /// In frames from the first; decoding times may start below 0.
    var presentation: Int64
    var decoding: Int64
    var isKey: Bool
  }

  private var context: UnsafeMutablePointer<AVCodecContext>?
  private var frame: UnsafeMutablePointer<AVFrame>?
  private var packet: UnsafeMutablePointer<AVPacket>?
  private var scaler: OpaquePointer?

  init(_ settings: Settings) throws(SendError) {
    Libav.silence
    let name = settings.codec == .h264 ? "libx264" : "libx265"
    guard let encoder = unsafe avcodec_find_encoder_by_name(name) else {
      throw .encoder(reason: "this libavcodec has no \(name)")
    }
    guard let context = unsafe avcodec_alloc_context3(encoder), let frame = unsafe av_frame_alloc(),
      let packet = unsafe av_packet_alloc()
    else { throw .encoder(reason: "out of memory") }
    unsafe self.context = context
    unsafe self.frame = frame
    unsafe self.packet = packet

    unsafe context.pointee.width = Int32(clamping: settings.width)
    unsafe context.pointee.height = Int32(clamping: settings.height)
    unsafe context.pointee.pix_fmt = AV_PIX_FMT_YUV420P
    let rate = Int32(clamping: max(1, settings.framesPerSecond))
    unsafe context.pointee.time_base = AVRational(num: 1, den: rate)
    unsafe context.pointee.framerate = AVRational(num: rate, den: 1)
    unsafe context.pointee.bit_rate = Int64(settings.bitRate)
    unsafe context.pointee.gop_size = Int32(clamping: settings.groupLength)
    unsafe context.pointee.max_b_frames = Int32(clamping: settings.bidirectionalPictures)
    if let count = settings.referencePictures {
      unsafe context.pointee.refs = Int32(clamping: count)
    }
    // More threads would cut pictures differently on machines with more processors.
    unsafe context.pointee.thread_count = 1
    let options = unsafe context.pointee.priv_data
    // Real time for 720p on one slow core: libx265 takes several times as long as libx264.
    let preset = settings.codec == .h264 ? "veryfast" : "ultrafast"
    _ = unsafe av_opt_set(options, "preset", preset, 0)
    if settings.bidirectionalPictures == 0 {
      _ = unsafe av_opt_set(options, "tune", "zerolatency", 0)
    }
    // An intra picture that is asked for is one at which decoding can begin.
    _ = unsafe av_opt_set(options, "forced-idr", "1", 0)
    if settings.codec == .h264, let limit = settings.sliceLimit {
      _ = unsafe av_opt_set(options, "slice-max-size", "\(limit)", 0)
    }
    if settings.codec == .h265 {
      let quiet = "log-level=none:pools=none:frame-threads=1:info=0"
      _ = unsafe av_opt_set(options, "x265-params", quiet, 0)
    }
    let opened = unsafe avcodec_open2(context, encoder, nil)
    guard opened >= 0 else { throw .encoder(reason: Libav.reason(opened)) }

    unsafe frame.pointee.format = AV_PIX_FMT_YUV420P.rawValue
    unsafe frame.pointee.width = context.pointee.width
    unsafe frame.pointee.height = context.pointee.height
    let allocated = unsafe av_frame_get_buffer(frame, 0)
    guard allocated >= 0 else { throw .encoder(reason: Libav.reason(allocated)) }
  }

  deinit {
    unsafe sws_freeContext(scaler)
    unsafe av_packet_free(&packet)
    unsafe av_frame_free(&frame)
    unsafe avcodec_free_context(&context)
  }

  /// Gives the encoder its next picture, a key picture if it has to be, or `nil` after the last
  /// one.
  func encode(_ picture: Picture?, number: Int64, isKey: Bool = false) throws(SendError) {
    guard let picture else {
      _ = unsafe avcodec_send_frame(context, nil)
      return
    }
    // The encoder may still hold the planes of the picture before.
    let writable = unsafe av_frame_make_writable(frame)
    guard writable >= 0, let frame = unsafe frame else {
      throw .encoder(reason: Libav.reason(writable))
    }
    unsafe copy(
      picture.luma, width: picture.width, to: frame.pointee.data.0, frame.pointee.linesize.0)
    let half = picture.width / 2
    unsafe copy(picture.cb, width: half, to: frame.pointee.data.1, frame.pointee.linesize.1)
    unsafe copy(picture.cr, width: half, to: frame.pointee.data.2, frame.pointee.linesize.2)
    try unsafe send(frame, number: number, isKey: isKey)
  }

  /// The same with a picture of any format and size, which is converted.
  func encode(
    converting picture: UnsafePointer<AVFrame>, number: Int64, isKey: Bool
  ) throws(SendError) {
    let writable = unsafe av_frame_make_writable(frame)
    guard writable >= 0, let frame = unsafe frame else {
      throw .encoder(reason: Libav.reason(writable))
    }
    unsafe scaler = sws_getCachedContext(
      scaler, picture.pointee.width, picture.pointee.height,
      AVPixelFormat(rawValue: picture.pointee.format), frame.pointee.width, frame.pointee.height,
      AV_PIX_FMT_YUV420P, SWS_BICUBIC, nil, nil, nil)
    let converted = unsafe scaler == nil ? -1 : sws_scale_frame(scaler, frame, picture)
    guard converted >= 0 else { throw .encoder(reason: Libav.reason(converted)) }
    try unsafe send(frame, number: number, isKey: isKey)
  }

  private func send(
    _ frame: UnsafeMutablePointer<AVFrame>, number: Int64, isKey: Bool
  ) throws(SendError) {
    unsafe frame.pointee.pts = number
    unsafe frame.pointee.pict_type = isKey ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
    let sent = unsafe avcodec_send_frame(context, frame)
    guard sent >= 0 else { throw .encoder(reason: Libav.reason(sent)) }
  }

  /// The next finished picture, or `nil` when the encoder needs more input or has ended.
  func receive() throws(SendError) -> Output? {
    let received = unsafe avcodec_receive_packet(context, packet)
    if received == cffmpeg_error_again() || received == cffmpeg_error_end_of_file() { return nil }
    guard received >= 0, let packet = unsafe packet else {
      throw .encoder(reason: Libav.reason(received))
    }
    defer { unsafe av_packet_unref(packet) }
    let bytes = unsafe UnsafeRawBufferPointer(
      start: packet.pointee.data, count: Int(packet.pointee.size))
    return unsafe Output(
      bytes: ByteBuffer(bytes: bytes), presentation: packet.pointee.pts,
      decoding: packet.pointee.dts, isKey: packet.pointee.flags & AV_PKT_FLAG_KEY != 0)
  }

  private func copy(
    _ plane: [UInt8], width: Int, to destination: UnsafeMutablePointer<UInt8>?, _ stride: Int32
  ) {
    guard let destination = unsafe destination, width > 0 else { return }
    unsafe plane.withUnsafeBufferPointer { source in
      guard let start = source.baseAddress else { return }
      for row in 0..<source.count / width {
        unsafe (destination + row * Int(stride)).update(from: start + row * width, count: width)
      }
    }
  }
}
