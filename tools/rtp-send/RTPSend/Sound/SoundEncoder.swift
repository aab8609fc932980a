import CAVFormat
import CFFmpeg
import NIOCore

/// An encoder of sound, as libavcodec has it.
@safe final class SoundEncoder {
  struct Output {
    var bytes: ByteBuffer
    /// The first sample that a decoder puts out for it; below 0 while the encoder begins.
    var sample: Int64
  }

  /// How many samples are encoded at a time.
  let frameLength: Int

  private let channels: Int
  private var context: UnsafeMutablePointer<AVCodecContext>?
  private var frame: UnsafeMutablePointer<AVFrame>?
  private var packet: UnsafeMutablePointer<AVPacket>?

  /// Opens the encoder of `format` for packets of `packetTime` milliseconds, where it can choose.
  init(_ format: SoundFormat, packetTime: Int) throws(SendError) {
    Libav.silence
    channels = format.channels
    let name = format.coding.encoder
    let problem = "the sound cannot be encoded: "
    guard let encoder = unsafe avcodec_find_encoder_by_name(name) else {
      throw .encoder(reason: problem + "this libavcodec has no \(name)")
    }
    guard let context = unsafe avcodec_alloc_context3(encoder), let frame = unsafe av_frame_alloc(),
      let packet = unsafe av_packet_alloc()
    else { throw .encoder(reason: problem + "out of memory") }
    unsafe self.context = context
    unsafe self.frame = frame
    unsafe self.packet = packet
    unsafe context.pointee.sample_rate = Int32(clamping: format.samplingRate)
    unsafe context.pointee.time_base = AVRational(num: 1, den: Int32(clamping: format.samplingRate))
    unsafe av_channel_layout_default(&context.pointee.ch_layout, Int32(clamping: channels))
    guard let formats = unsafe encoder.pointee.sample_fmts else {
      throw .encoder(reason: problem + "\(name) takes no samples")
    }
    unsafe context.pointee.sample_fmt = formats.pointee
    if let group = format.sampleGroup, group.ticks == 8 {
      unsafe context.pointee.bit_rate = Int64(1000 * group.bytes * 8)
    }
    let options = unsafe context.pointee.priv_data
    if format.coding == .opus {
      _ = unsafe av_opt_set_double(options, "frame_duration", Double(packetTime), 0)
    }
    if format.coding == .aacLowRate {
      // Frames stay below 64 bytes with this, also where a click begins.
      unsafe context.pointee.bit_rate = 8000
      unsafe context.pointee.cutoff = 4000
      _ = unsafe av_opt_set(options, "aac_coder", "fast", 0)
    }
    let opened = unsafe avcodec_open2(context, encoder, nil)
    guard opened >= 0 else {
      throw .encoder(reason: problem + "\(name): \(Libav.reason(opened))")
    }
    let wanted = max(8, format.samplingRate * packetTime / 1000)
    let own = unsafe Int(context.pointee.frame_size)
    frameLength = format.sampleGroup == nil ? max(1, own) : own > 0 ? min(own, wanted) : wanted
  }

  deinit {
    unsafe av_packet_free(&packet)
    unsafe av_frame_free(&frame)
    unsafe avcodec_free_context(&context)
  }

  /// Gives the encoder the samples from `start` on, interleaved, or `nil` after the last ones.
  func encode(_ samples: [Float]?, from start: Int64) throws(SendError) {
    guard let samples else {
      _ = unsafe avcodec_send_frame(context, nil)
      return
    }
    guard let frame = unsafe frame, let context = unsafe context else { return }
    unsafe av_frame_unref(frame)
    unsafe frame.pointee.format = context.pointee.sample_fmt.rawValue
    unsafe frame.pointee.sample_rate = context.pointee.sample_rate
    unsafe frame.pointee.nb_samples = Int32(clamping: samples.count / channels)
    unsafe frame.pointee.pts = start
    unsafe _ = av_channel_layout_copy(&frame.pointee.ch_layout, &context.pointee.ch_layout)
    var code = unsafe av_frame_get_buffer(frame, 0)
    if code >= 0 {
      unsafe fill(frame, samples)
      code = unsafe avcodec_send_frame(context, frame)
    }
    guard code >= 0 else { throw .encoder(reason: Libav.reason(code)) }
  }

  /// The next finished frame, or `nil` when the encoder needs more input or has ended.
  func receive() throws(SendError) -> Output? {
    let received = unsafe avcodec_receive_packet(context, packet)
    if received == cffmpeg_error_again() || received == cffmpeg_error_end_of_file() { return nil }
    guard received >= 0, let packet = unsafe packet else {
      throw .encoder(reason: Libav.reason(received))
    }
    defer { unsafe av_packet_unref(packet) }
    let bytes = unsafe UnsafeRawBufferPointer(
      start: packet.pointee.data, count: Int(packet.pointee.size))
    return unsafe Output(bytes: ByteBuffer(bytes: bytes), sample: packet.pointee.pts)
  }

  /// Writes the samples in the form that the encoder takes.
  private func fill(_ frame: UnsafeMutablePointer<AVFrame>, _ samples: [Float]) {
    guard let planes = unsafe frame.pointee.extended_data else { return }
    let form = unsafe AVSampleFormat(frame.pointee.format)
    if form == AV_SAMPLE_FMT_FLTP {
      for channel in 0..<channels {
        guard let plane = unsafe planes[channel] else { return }
        let values = stride(from: channel, to: samples.count, by: channels).map { samples[$0] }
        unsafe Self.copy(values, to: plane)
      }
      return
    }
    guard let plane = unsafe planes[0] else { return }
    switch form {
    case AV_SAMPLE_FMT_U8:
      unsafe Self.copy(samples.map { UInt8(clamping: 128 + Int(($0 * 127).rounded())) }, to: plane)
    case AV_SAMPLE_FMT_S32:
      // The 24 bits of L24 are the upper ones.
      unsafe Self.copy(samples.map { Int32(($0 * 8_388_607).rounded()) << 8 }, to: plane)
    default:
      unsafe Self.copy(samples.map { Int16(clamping: Int(($0 * 32_767).rounded())) }, to: plane)
    }
  }

  private static func copy<Value>(_ values: [Value], to plane: UnsafeMutablePointer<UInt8>) {
    unsafe values.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      unsafe UnsafeMutableRawPointer(plane).copyMemory(from: start, byteCount: bytes.count)
    }
  }
}

extension SoundFormat.Coding {
  /// The encoder's name in libavcodec.
  fileprivate var encoder: String {
    switch self {
    case .pcmu: "pcm_mulaw"
    case .pcma: "pcm_alaw"
    case .g722: "g722"
    case .g726At16, .g726At24, .g726At32, .g726At40: "g726le"
    case .aal2G726At16, .aal2G726At24, .aal2G726At32, .aal2G726At40: "g726"
    case .l8: "pcm_u8"
    case .l16: "pcm_s16be"
    case .l24: "pcm_s24be"
    case .opus: "libopus"
    case .aac, .aacLowRate, .adts, .latm, .latmInBand: "aac"
    }
  }
}
