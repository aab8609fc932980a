import CAVFormat
import CFFmpeg
import NIOCore
import RTPWire

/// The best video stream of a file that libavformat reads, as Annex B whatever the file stores.
@safe final class ContainerSource: VideoSource {
  let codec: Codec
  /// Whether the file is a bare Annex B stream, which has no times.
  let isElementaryStream: Bool
  /// Frames per second according to libavformat, otherwise 25.
  let guessedRate: Double
  /// The same where libavformat knows it.
  let frameRate: Double?

  /// A gap of decoding times longer than this is a break in the file, not a pause to be waited for.
  private static let longestGap: Int64 = 10 * 90_000
  /// A step further back than this is a break too; a smaller one is a flaw of the file's writer.
  private static let longestStepBack: Int64 = -90_000
  private static let ticksPerSecond = AVRational(num: 1, den: 90_000)

  private let path: String
  private var input: UnsafeMutablePointer<AVFormatContext>?
  private var filter: UnsafeMutablePointer<AVBSFContext>?
  private var packet: UnsafeMutablePointer<AVPacket>?
  private let streamIndex: Int32
  private var isFlushed = false
  private var lastTicks: Int64?
  /// The sum of all breaks in the file's times.
  private var shift: Int64 = 0

  /// The time of one picture in 90 kHz ticks.
  private var interval: Int64 { Int64(90_000 / max(1, guessedRate)) }

  init(path: String) throws(SendError) {
    self.path = path
    Libav.silence
    var input: UnsafeMutablePointer<AVFormatContext>?
    let format = unsafe MediaFile.formatName(ofPath: path).flatMap {
      unsafe av_find_input_format($0)
    }
    var code = unsafe avformat_open_input(&input, MediaFile.url(ofPath: path), format, nil)
    guard code >= 0, let opened = unsafe input else {
      throw .cannotOpen(path: path, reason: Libav.reason(code))
    }
    var filter: UnsafeMutablePointer<AVBSFContext>?
    var isOpen = false
    defer {
      if !isOpen {
        unsafe av_bsf_free(&filter)
        unsafe avformat_close_input(&input)
      }
    }
    code = unsafe avformat_find_stream_info(opened, nil)
    guard code >= 0 else { throw .cannotOpen(path: path, reason: Libav.reason(code)) }
    streamIndex = unsafe av_find_best_stream(opened, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0)
    guard streamIndex >= 0, let stream = unsafe opened.pointee.streams[Int(streamIndex)],
      let parameters = unsafe stream.pointee.codecpar
    else { throw .noVideo(path: path) }
    let identifier = unsafe parameters.pointee.codec_id
    switch identifier {
    case AV_CODEC_ID_H264: codec = .h264
    case AV_CODEC_ID_HEVC: codec = .h265
    default:
      let name = unsafe String(cString: avcodec_get_name(identifier))
      throw .unsupportedCodec(path: path, codec: name)
    }
    let formatName = unsafe opened.pointee.iformat.map { unsafe String(cString: $0.pointee.name) }
    isElementaryStream = formatName == "h264" || formatName == "hevc"
    let rate = unsafe av_guess_frame_rate(opened, stream, nil)
    frameRate = rate.num > 0 && rate.den > 0 ? Double(rate.num) / Double(rate.den) : nil
    guessedRate = frameRate ?? 25

    let filterName = codec == .h264 ? "h264_mp4toannexb" : "hevc_mp4toannexb"
    code = unsafe av_bsf_alloc(av_bsf_get_by_name(filterName), &filter)
    guard code >= 0, let filter = unsafe filter else {
      throw .cannotOpen(path: path, reason: Libav.reason(code))
    }
    code = unsafe avcodec_parameters_copy(filter.pointee.par_in, parameters)
    unsafe filter.pointee.time_base_in = stream.pointee.time_base
    if code >= 0 { code = unsafe av_bsf_init(filter) }
    guard code >= 0 else { throw .cannotOpen(path: path, reason: Libav.reason(code)) }
    guard let packet = unsafe av_packet_alloc() else {
      throw .cannotOpen(path: path, reason: "out of memory")
    }
    unsafe self.packet = packet
    unsafe self.filter = filter
    unsafe self.input = opened
    isOpen = true
  }

  deinit {
    unsafe av_packet_free(&packet)
    unsafe av_bsf_free(&filter)
    unsafe avformat_close_input(&input)
  }

  func next() throws -> SourceAccessUnit? {
    while let filter = unsafe filter, let packet = unsafe packet {
      let received = unsafe av_bsf_receive_packet(filter, packet)
      if received == cffmpeg_error_end_of_file() { return nil }
      if received >= 0 {
        defer { unsafe av_packet_unref(packet) }
        if let unit = unsafe accessUnit(packet.pointee, filter.pointee.time_base_out) {
          return unit
        }
      } else if received != cffmpeg_error_again(), received != cffmpeg_error_invalid_data() {
        throw SendError.unreadable(path: path, reason: Libav.reason(received))
      } else if try !feed(), isFlushed {
        return nil
      }
    }
    return nil
  }

  func seek(to ticks: Int64, in survey: FileSurvey) throws {
    guard let stream = unsafe input?.pointee.streams[Int(streamIndex)] else { return }
    let time = av_rescale_q(ticks, Self.ticksPerSecond, unsafe stream.pointee.time_base)
    // A file without an index is read from its beginning where it cannot be read from there.
    if unsafe av_seek_frame(input, streamIndex, time, AVSEEK_FLAG_BACKWARD) < 0 {
      _ = unsafe av_seek_frame(input, streamIndex, 0, AVSEEK_FLAG_BACKWARD | AVSEEK_FLAG_BYTE)
    }
    unsafe av_bsf_flush(filter)
    isFlushed = false
    lastTicks = nil
    shift = 0
  }

  /// Gives the filter one packet of the stream, or the end; false when there was nothing to give.
  private func feed() throws(SendError) -> Bool {
    guard !isFlushed else { return false }
    while true {
      let read = unsafe av_read_frame(input, packet)
      if read < 0 {
        // A truncated file is sent as far as it goes.
        isFlushed = true
        return unsafe av_bsf_send_packet(filter, nil) >= 0
      }
      if let packet = unsafe packet, unsafe packet.pointee.stream_index == streamIndex {
        // A malformed packet that the filter refuses is skipped.
        if unsafe av_bsf_send_packet(filter, packet) >= 0 { return true }
      }
      unsafe av_packet_unref(packet)
    }
  }

  private func accessUnit(_ packet: AVPacket, _ timeBase: AVRational) -> SourceAccessUnit? {
    let bytes = unsafe UnsafeRawBufferPointer(start: packet.data, count: max(0, Int(packet.size)))
    let units = unsafe AnnexB.units(in: ByteBuffer(bytes: bytes))
    guard !units.isEmpty else { return nil }
    func ticks(_ time: Int64) -> Int64? {
      time == cffmpeg_no_timestamp()
        ? nil : av_rescale_q(time, timeBase, Self.ticksPerSecond)
    }
    let presentation = unsafe ticks(packet.pts)
    let decoding = self.decoding(unsafe ticks(packet.dts), presentation)
    lastTicks = decoding
    return SourceAccessUnit(
      units: units, presentationTicks: presentation?.addingSaturating(shift) ?? decoding,
      decodingTicks: decoding, isRandomAccess: unsafe packet.flags & AV_PKT_FLAG_KEY != 0)
  }

  /// When the picture is sent: its decoding time if the file has one, and never decreasing.
  private func decoding(_ read: Int64?, _ presentation: Int64?) -> Int64 {
    guard let lastTicks else { return read ?? presentation ?? 0 }
    // Matroska has no decoding times, and libavformat does not guess those of the first pictures.
    guard let read else { return lastTicks.addingSaturating(interval) }
    let gap = read.addingSaturating(shift).subtractingSaturating(lastTicks)
    if !(Self.longestStepBack...Self.longestGap).contains(gap) {
      shift = lastTicks.addingSaturating(interval).subtractingSaturating(read)
    }
    return max(lastTicks, read.addingSaturating(shift))
  }
}
