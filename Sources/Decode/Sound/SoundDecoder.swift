public import Bitstream
import CFFmpeg
public import NIOCore

/// libavcodec, opened for one format of sound and used by one thread.
///
/// Of two decoders, it is the one that makes up what is lost.
@safe public final class SoundDecoder {
  public let format: SoundFormat
  /// Units that could not be decoded.
  public private(set) var failures: UInt64 = 0

  private let context: UnsafeMutablePointer<AVCodecContext>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let frame: UnsafeMutablePointer<AVFrame>
  /// How lost frames are made up, if they are.
  private let concealment: SoundConcealment?
  /// The last unit since the beginning that was decoded.
  private var last: ByteBuffer?

  /// Opens the decoder that the format's codec names.
  ///
  /// - Throws: ``DecoderError``.
  public init(_ format: SoundFormat) throws(DecoderError) {
    try FFmpegLibraries.loadDecoding()
    let concealing = unsafe format.codec.concealment.flatMap {
      unsafe avcodec_find_decoder_by_name($0.decoderName)
    }
    guard
      let decoder = unsafe concealing ?? avcodec_find_decoder_by_name(format.codec.decoderName)
    else { throw .unsupportedCodec(name: format.codec.name) }
    concealment = unsafe concealing == nil ? nil : format.codec.concealment
    guard let context = unsafe avcodec_alloc_context3(decoder) else { throw .outOfMemory }
    guard let packet = unsafe av_packet_alloc(), let frame = unsafe av_frame_alloc() else {
      var context: UnsafeMutablePointer<AVCodecContext>? = unsafe context
      unsafe avcodec_free_context(&context)
      throw .outOfMemory
    }
    self.format = format
    unsafe self.context = context
    unsafe self.packet = packet
    unsafe self.frame = frame
    unsafe context.pointee.log_level_offset = CodecContext.silence
    unsafe context.pointee.sample_rate = Int32(clamping: format.sampleRate)
    unsafe av_channel_layout_default(&context.pointee.ch_layout, Int32(format.channels))
    unsafe context.pointee.bits_per_coded_sample = Int32(clamping: format.codeBits)
    // What an encoder put before the first sample has a time too; nothing is left out here.
    unsafe context.pointee.flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL
    guard unsafe context.setExtraData(format.configuration) else { throw .outOfMemory }
    let code = unsafe avcodec_open2(context, decoder, nil)
    guard code >= 0 else { throw .cannotOpen(code: code, text: libavErrorText(code)) }
  }

  deinit {
    var packet: UnsafeMutablePointer<AVPacket>? = unsafe packet
    unsafe av_packet_free(&packet)
    var frame: UnsafeMutablePointer<AVFrame>? = unsafe frame
    unsafe av_frame_free(&frame)
    var context: UnsafeMutablePointer<AVCodecContext>? = unsafe context
    unsafe avcodec_free_context(&context)
  }

  /// The samples of `bytes`, as one unit of the format; `nil` if it cannot be decoded, or becomes
  /// no sound yet.
  ///
  /// Rate and number of channels are those that the decoder finds: AAC with SBR has twice the rate
  /// that its configuration may say.
  public func decode(_ bytes: ByteBuffer) -> SoundSamples? {
    let samples = samples(of: bytes)
    if samples != nil { last = bytes }
    return samples
  }

  /// What the decoder makes up for a lost frame after the last unit, getting softer with each;
  /// `nil` if it does not.
  public func conceal() -> SoundSamples? {
    guard let last, let frame = concealment?.lostFrame(last) else { return nil }
    return samples(of: frame.bytes)
  }

  private func samples(of bytes: ByteBuffer) -> SoundSamples? {
    guard unsafe packet.fill(with: bytes) else {
      failures += 1
      return nil
    }
    let sent = unsafe avcodec_send_packet(context, packet)
    unsafe av_packet_unref(packet)
    guard sent >= 0 else {
      failures += 1
      return nil
    }
    var values: [Float] = []
    var shape: (rate: Int, channels: Int)?
    while unsafe avcodec_receive_frame(context, frame) >= 0 {
      let found = unsafe (
        rate: Int(frame.pointee.sample_rate), channels: Int(frame.pointee.ch_layout.nb_channels)
      )
      guard found.rate > 0, (1...8).contains(found.channels) else { continue }
      // One unit has one shape; what differs from it is not known to any decoder here.
      guard shape.map({ $0 == found }) ?? true else { continue }
      shape = found
      unsafe frame.appendValues(to: &values)
    }
    guard let shape else { return nil }
    return SoundSamples(sampleRate: shape.rate, channels: shape.channels, values: values)
  }

  /// Forgets what came before: the next unit does not continue it.
  public func restart() {
    last = nil
    unsafe avcodec_flush_buffers(context)
  }
}

extension UnsafeMutablePointer<AVCodecContext> {
  /// Sets what libavcodec calls extradata; `false` when memory has run out.
  func setExtraData(_ bytes: [UInt8]) -> Bool {
    guard !bytes.isEmpty, let size = Int32(exactly: bytes.count) else { return bytes.isEmpty }
    let padded = bytes.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)
    guard let data = unsafe av_mallocz(padded) else { return false }
    unsafe UnsafeMutableRawBufferPointer(start: data, count: bytes.count).copyBytes(from: bytes)
    unsafe pointee.extradata = data.assumingMemoryBound(to: UInt8.self)
    unsafe pointee.extradata_size = size
    return true
  }
}

extension UnsafeMutablePointer<AVPacket> {
  /// Copies `bytes` to where libavcodec may read past their end; `false` when memory has run out.
  fileprivate func fill(with bytes: ByteBuffer) -> Bool {
    guard let size = Int32(exactly: bytes.readableBytes), unsafe av_new_packet(self, size) >= 0
    else { return false }
    unsafe bytes.withUnsafeReadableBytes { source in
      guard let data = unsafe pointee.data else { return }
      unsafe UnsafeMutableRawBufferPointer(start: data, count: source.count).copyMemory(
        from: source)
    }
    return true
  }
}

extension UnsafeMutablePointer<AVFrame> {
  /// Appends the frame's samples, whatever their form.
  fileprivate func appendValues(to values: inout [Float]) {
    let format = AVSampleFormat(rawValue: unsafe pointee.format)
    switch av_get_packed_sample_fmt(format) {
    case AV_SAMPLE_FMT_U8: unsafe append(UInt8.self, to: &values) { (Float($0) - 128) / 128 }
    case AV_SAMPLE_FMT_S16: unsafe append(Int16.self, to: &values) { Float($0) / 32768 }
    case AV_SAMPLE_FMT_S32: unsafe append(Int32.self, to: &values) { Float($0) / 2_147_483_648 }
    case AV_SAMPLE_FMT_FLT: unsafe append(Float.self, to: &values) { $0 }
    case AV_SAMPLE_FMT_DBL: unsafe append(Double.self, to: &values) { Float($0) }
    default: break
    }
  }

  private func append<Sample>(
    _: Sample.Type, to values: inout [Float], as convert: (Sample) -> Float
  ) {
    let channels = unsafe Int(pointee.ch_layout.nb_channels)
    let count = unsafe Int(pointee.nb_samples)
    let isPlanar =
      unsafe av_sample_fmt_is_planar(AVSampleFormat(rawValue: pointee.format)) != 0
    guard let planes = unsafe pointee.extended_data, count > 0 else { return }
    values.reserveCapacity(values.count + count * channels)
    for index in 0..<count {
      for channel in 0..<channels {
        guard let plane = unsafe planes[isPlanar ? channel : 0] else { return }
        let offset = isPlanar ? index : index * channels + channel
        let sample = unsafe UnsafeRawPointer(plane).load(
          fromByteOffset: offset * MemoryLayout<Sample>.stride, as: Sample.self)
        values.append(convert(sample))
      }
    }
  }
}
