public import Bitstream
import CFFmpeg
public import NIOCore

/// libavcodec, opened to encode sound, and used by one thread.
///
/// It takes samples of any rate and number of channels, as long as they stay the same.
@safe public final class SoundEncoder {
  /// What can be encoded.
  public enum Coding: Sendable, Hashable, CaseIterable {
    /// AAC-LC (ISO/IEC 14496-3).
    case aac
    case opus
    /// Integers of 16 bits, low byte first.
    case linear16
    /// Integers of 24 bits, low byte first.
    case linear24

    fileprivate var codec: SoundCodec {
      switch self {
      case .aac: AAC.codec
      case .opus: Opus.codec
      case .linear16: LinearPCM.littleEndian16
      case .linear24: LinearPCM.littleEndian24
      }
    }

    fileprivate var encoderName: String {
      switch self {
      case .aac: "aac"
      case .opus: "libopus"
      case .linear16: "pcm_s16le"
      case .linear24: "pcm_s24le"
      }
    }

    /// Bits a second for each channel.
    fileprivate var bitRate: Int { 64_000 }
  }

  /// An encoded unit.
  public struct Packet: Sendable {
    public let bytes: ByteBuffer
    /// Samples of each channel.
    public let sampleCount: Int
    /// The number of its first sample, at the encoder's rate and counted from the first one that
    /// was given; below 0 for what the encoder puts before that.
    public let position: Int
  }

  /// What the packets are, with the configuration that a decoder needs.
  public let format: SoundFormat
  /// Samples that the encoder puts before the first one, which a player may leave out.
  public let padding: Int

  private let context: UnsafeMutablePointer<AVCodecContext>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let frame: UnsafeMutablePointer<AVFrame>
  private var resampler: OpaquePointer?
  /// Samples in the encoder's form that do not fill a frame yet.
  private var waiting: OpaquePointer?
  /// Samples of one frame of the encoder; less in the last one.
  private let frameSize: Int
  private let channels: Int
  private var position = 0
  private var sent = 0

  /// Opens the encoder for samples of this shape.
  ///
  /// - Throws: ``DecoderError``, also of libavcodec's encoders.
  public init(
    _ coding: Coding, sampleRate: Int, channels: Int
  ) throws(DecoderError) {
    try FFmpegLibraries.loadDecoding()
    guard let encoder = unsafe avcodec_find_encoder_by_name(coding.encoderName) else {
      throw .unsupportedCodec(name: coding.encoderName)
    }
    guard let context = unsafe avcodec_alloc_context3(encoder),
      let packet = unsafe av_packet_alloc(),
      let frame = unsafe av_frame_alloc()
    else { throw .outOfMemory }
    unsafe self.context = context
    unsafe self.packet = packet
    unsafe self.frame = frame
    self.channels = min(max(channels, 1), 8)
    let rate = unsafe Self.rate(for: sampleRate, of: encoder)
    let sampleFormat = unsafe encoder.pointee.sample_fmts?.pointee ?? AV_SAMPLE_FMT_FLTP
    unsafe context.pointee.log_level_offset = CodecContext.silence
    unsafe context.pointee.sample_rate = Int32(clamping: rate)
    unsafe context.pointee.sample_fmt = sampleFormat
    unsafe context.pointee.bit_rate = Int64(coding.bitRate * self.channels)
    unsafe context.pointee.time_base = AVRational(num: 1, den: Int32(clamping: rate))
    unsafe context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
    unsafe av_channel_layout_default(&context.pointee.ch_layout, Int32(self.channels))
    let code = unsafe avcodec_open2(context, encoder, nil)
    if code >= 0 {
      padding = unsafe Int(context.pointee.initial_padding)
      // Linear samples have no frames of their own.
      let size = unsafe Int(context.pointee.frame_size)
      frameSize = size > 0 ? size : max(1, rate / 50)
      let configuration = unsafe UnsafeRawBufferPointer(
        start: context.pointee.extradata, count: Int(context.pointee.extradata_size))
      format = SoundFormat(
        codec: coding.codec, sampleRate: rate, channels: self.channels,
        configuration: unsafe Array(configuration))
    } else {
      (padding, frameSize) = (0, 1)
      format = SoundFormat(codec: coding.codec, sampleRate: rate, channels: self.channels)
    }
    position = -padding
    guard code >= 0 else { throw .cannotOpen(code: code, text: libavErrorText(code)) }
    let set = unsafe swr_alloc_set_opts2(
      &resampler, &context.pointee.ch_layout, sampleFormat, Int32(clamping: rate),
      &context.pointee.ch_layout, AV_SAMPLE_FMT_FLT, Int32(clamping: sampleRate), 0, nil)
    unsafe waiting = av_audio_fifo_alloc(
      sampleFormat, Int32(self.channels), Int32(clamping: frameSize))
    guard set >= 0, unsafe swr_init(resampler) >= 0, unsafe waiting != nil else {
      throw .outOfMemory
    }
  }

  deinit {
    unsafe swr_free(&resampler)
    unsafe av_audio_fifo_free(waiting)
    var packet: UnsafeMutablePointer<AVPacket>? = unsafe packet
    unsafe av_packet_free(&packet)
    var frame: UnsafeMutablePointer<AVFrame>? = unsafe frame
    unsafe av_frame_free(&frame)
    var context: UnsafeMutablePointer<AVCodecContext>? = unsafe context
    unsafe avcodec_free_context(&context)
  }

  /// Takes samples, interleaved and of the shape that was said, and returns what is complete.
  public func encode(_ values: [Float]) -> [Packet] {
    let count = Int32(clamping: values.count / channels)
    unsafe values.withUnsafeBytes { bytes in
      var input = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
      unsafe convert(&input, count)
    }
    var packets: [Packet] = []
    while unsafe av_audio_fifo_size(waiting) >= Int32(frameSize), send(frameSize) {
      packets += receive()
    }
    return packets
  }

  /// Encodes what is left, the last packet filled with silence as the codec does it.
  public func finish() -> [Packet] {
    unsafe convert(nil, 0)
    while send(frameSize) {}
    _ = unsafe avcodec_send_frame(context, nil)
    return receive()
  }

  /// Brings `count` samples into the encoder's rate and form; without any, what the resampler still
  /// holds.
  private func convert(_ input: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ count: Int32) {
    let room = unsafe swr_get_out_samples(resampler, count)
    guard room > 0, prepareFrame(room) else { return }
    let made = unsafe withPlanes { unsafe swr_convert(resampler, $0, room, input, count) }
    guard made > 0 else { return }
    unsafe frame.pointee.extended_data.withMemoryRebound(
      to: UnsafeMutableRawPointer?.self, capacity: channels
    ) { _ = unsafe av_audio_fifo_write(waiting, $0, made) }
  }

  /// Gives the encoder up to `count` samples; `false` when there are none.
  private func send(_ count: Int) -> Bool {
    let count = min(Int32(clamping: count), unsafe av_audio_fifo_size(waiting))
    guard count > 0, prepareFrame(count) else { return false }
    let taken = unsafe frame.pointee.extended_data.withMemoryRebound(
      to: UnsafeMutableRawPointer?.self, capacity: channels
    ) { unsafe av_audio_fifo_read(waiting, $0, count) }
    guard taken > 0 else { return false }
    unsafe frame.pointee.pts = Int64(sent)
    sent += Int(taken)
    return unsafe avcodec_send_frame(context, frame) >= 0
  }

  /// Makes room for `count` samples in the encoder's form; `false` when memory has run out.
  private func prepareFrame(_ count: Int32) -> Bool {
    unsafe av_frame_unref(frame)
    unsafe frame.pointee.nb_samples = count
    unsafe frame.pointee.format = context.pointee.sample_fmt.rawValue
    return unsafe av_channel_layout_copy(&frame.pointee.ch_layout, &context.pointee.ch_layout) >= 0
      && av_frame_get_buffer(frame, 0) >= 0
  }

  private func withPlanes(
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32
  ) -> Int32 {
    unsafe frame.pointee.extended_data.withMemoryRebound(
      to: UnsafeMutablePointer<UInt8>?.self, capacity: channels
    ) { unsafe body($0) }
  }

  private func receive() -> [Packet] {
    var packets: [Packet] = []
    while unsafe avcodec_receive_packet(context, packet) >= 0 {
      let bytes = unsafe UnsafeRawBufferPointer(
        start: packet.pointee.data, count: Int(packet.pointee.size))
      let count = unsafe packet.pointee.duration > 0 ? Int(packet.pointee.duration) : frameSize
      unsafe packets.append(
        Packet(bytes: ByteBuffer(bytes: bytes), sampleCount: count, position: position))
      position += count
      unsafe av_packet_unref(packet)
    }
    return packets
  }

  /// `rate`, or the next higher one that the encoder takes, or its highest.
  private static func rate(
    for rate: Int, of encoder: UnsafePointer<AVCodec>
  ) -> Int {
    guard var next = unsafe encoder.pointee.supported_samplerates else { return rate }
    var rates: [Int] = []
    while unsafe next.pointee != 0 {
      rates.append(unsafe Int(next.pointee))
      unsafe next += 1
    }
    return rates.filter { $0 >= rate }.min() ?? rates.max() ?? rate
  }
}
