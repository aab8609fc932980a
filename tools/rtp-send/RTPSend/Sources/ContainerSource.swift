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
    let opened = try unsafe Libav.open(path: path, as: MediaFile.formatName(ofPath: path))
    var isOpen = false
    defer { if !isOpen { unsafe Libav.close(opened) } }
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
    var packet = unsafe Optional(packet)
    unsafe av_packet_free(&packet)
    unsafe Libav.close(input)
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
