import CAVFormat
import CFFmpeg
import NIOCore

/// The best video stream of a file that libavformat reads.
@safe final class ContainerSource: VideoSource {
  /// Whether the file is a bare Annex B stream, which has no times.
  let isElementaryStream: Bool

  private let input: UnsafeMutablePointer<AVFormatContext>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let video: PacketVideo
  private let streamIndex: Int32
  private var breaks: TimeBreaks

  var codec: Codec { video.codec }
  /// Frames per second according to libavformat, where it knows them.
  var frameRate: Double? { video.frameRate }
  /// The same, otherwise 25.
  var guessedRate: Double { video.guessedRate }

  init(path: String) throws(SendError) {
    Libav.silence
    var input: UnsafeMutablePointer<AVFormatContext>?
    let format = unsafe MediaFile.formatName(ofPath: path).flatMap {
      unsafe av_find_input_format($0)
    }
    var code = unsafe avformat_open_input(&input, MediaFile.url(ofPath: path), format, nil)
    guard code >= 0, let opened = unsafe input else {
      throw .cannotOpen(path: path, reason: Libav.reason(code))
    }
    var isOpen = false
    defer { if !isOpen { unsafe avformat_close_input(&input) } }
    code = unsafe avformat_find_stream_info(opened, nil)
    guard code >= 0 else { throw .cannotOpen(path: path, reason: Libav.reason(code)) }
    streamIndex = unsafe av_find_best_stream(opened, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0)
    guard streamIndex >= 0, let stream = unsafe opened.pointee.streams[Int(streamIndex)] else {
      let sound = unsafe av_find_best_stream(opened, AVMEDIA_TYPE_AUDIO, -1, -1, nil, 0)
      throw .noVideo(path: path, hasSound: sound >= 0)
    }
    video = try unsafe PacketVideo(stream, of: opened, path: path, isPaced: true)
    let formatName = unsafe opened.pointee.iformat.map { unsafe String(cString: $0.pointee.name) }
    isElementaryStream = formatName == "h264" || formatName == "hevc"
    guard let packet = unsafe av_packet_alloc() else {
      throw .cannotOpen(path: path, reason: "out of memory")
    }
    unsafe self.packet = packet
    unsafe self.input = opened
    breaks = unsafe TimeBreaks(of: opened)
    isOpen = true
  }

  deinit {
    var (packet, input) = unsafe (Optional(packet), Optional(input))
    unsafe av_packet_free(&packet)
    unsafe avformat_close_input(&input)
  }

  func next() throws -> Supply<SourceAccessUnit> {
    while true {
      let supply = video.next()
      guard case .nothingYet = supply else { return supply }
      feed()
    }
  }

  func seek(to ticks: Int64, in survey: FileSurvey) throws {
    unsafe video.seek(to: ticks, in: input, streamIndex)
    breaks = unsafe TimeBreaks(of: input)
  }

  /// Gives one packet of the stream, or the end.
  private func feed() {
    while unsafe av_read_frame(input, packet) >= 0 {
      defer { unsafe av_packet_unref(packet) }
      unsafe breaks.close(packet, of: input)
      if unsafe packet.pointee.stream_index == streamIndex { return unsafe video.take(packet) }
    }
    // A truncated file is sent as far as it goes.
    video.finish()
  }
}
