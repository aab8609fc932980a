import CAVFormat
import CFFmpeg
import RTPWire

/// Opens files: finds out what is in them, and which source reads them.
enum MediaFile {
  /// Opens the best video stream of the file at `path`.
  static func open(
    path: String, framesPerSecond: Double?
  ) throws(SendError) -> any VideoSource {
    let container = try ContainerSource(path: path)
    guard container.isElementaryStream else { return container }
    // libavformat gives raw streams no presentation times, so these are read by themselves.
    return try ElementaryStreamSource(
      path: path, codec: container.codec, framesPerSecond: framesPerSecond ?? container.guessedRate)
  }

  /// Looks through the file at `path`, whose elementary stream has no times but this rate.
  static func survey(path: String, framesPerSecond: Double?) throws(SendError) -> FileSurvey {
    let opened = try unsafe Libav.open(path: path, as: formatName(ofPath: path))
    defer { unsafe Libav.close(opened) }
    let name = unsafe opened.pointee.iformat.map { unsafe String(cString: $0.pointee.name) }
    if name == "h264" || name == "hevc" {
      var rate = framesPerSecond ?? 0
      if rate <= 0 { rate = try ContainerSource(path: path).guessedRate }
      let codec = name == "h264" ? Codec.h264 : .h265
      return try ElementaryStreamSource(path: path, codec: codec, framesPerSecond: rate).survey()
    }
    let said = unsafe opened.pointee.start_time
    let start = said == cffmpeg_no_timestamp() ? 0 : said.multipliedSaturating(by: 1000)
    let length = unsafe opened.pointee.duration
    let isKnown =
      unsafe length > 0
      && opened.pointee.duration_estimation_method != AVFMT_DURATION_FROM_BITRATE
    guard isKnown else { return FileSurvey(start: start, duration: try duration(ofPath: path)) }
    // What an edit list hides before the start is sent too. GStreamer would leave out as much at
    // the end.
    let begin = min(start, unsafe earliestTime(in: opened) ?? start)
    let end = start.addingSaturating(length.multipliedSaturating(by: 1000))
    return FileSurvey(start: begin, duration: end.subtractingSaturating(begin))
  }

  /// The first packets, among which the earliest is looked for.
  private static let beginning = 100

  /// When the first picture or the first sound is due, in nanoseconds.
  private static func earliestTime(in input: UnsafeMutablePointer<AVFormatContext>) -> Int64? {
    var packet = unsafe av_packet_alloc()
    defer { unsafe av_packet_free(&packet) }
    guard let packet = unsafe packet else { return nil }
    let tracks = [AVMEDIA_TYPE_VIDEO, AVMEDIA_TYPE_AUDIO].map {
      unsafe av_find_best_stream(input, $0, -1, -1, nil, 0)
    }
    var earliest: Int64?
    for _ in 0..<beginning {
      guard unsafe av_read_frame(input, packet) >= 0 else { break }
      defer { unsafe av_packet_unref(packet) }
      let index = unsafe packet.pointee.stream_index
      guard tracks.contains(index), let stream = unsafe input.pointee.streams[Int(index)],
        unsafe packet.pointee.pts != cffmpeg_no_timestamp()
      else { continue }
      let time = unsafe av_rescale_q(
        packet.pointee.pts, stream.pointee.time_base, AVRational(num: 1, den: 1_000_000_000))
      earliest = min(earliest ?? time, time)
    }
    return earliest
  }

  /// From the beginning of what comes first to the end of what ends last, in nanoseconds.
  static func duration(ofPath path: String) throws(SendError) -> Int64 {
    let input = try unsafe Libav.open(path: path)
    defer { unsafe Libav.close(input) }
    var packet = unsafe av_packet_alloc()
    defer { unsafe av_packet_free(&packet) }
    guard let packet = unsafe packet else {
      throw .cannotOpen(path: path, reason: "out of memory")
    }
    let tracks = [AVMEDIA_TYPE_VIDEO, AVMEDIA_TYPE_AUDIO].map {
      unsafe av_find_best_stream(input, $0, -1, -1, nil, 0)
    }
    let nanoseconds = AVRational(num: 1, den: 1_000_000_000)
    var begins: [Int32: Int64] = [:]
    // Pictures are sent by that much later than their decoding times.
    var delays: [Int32: CompositionDelay] = [:]
    var end: Int64?
    while unsafe av_read_frame(input, packet) >= 0 {
      defer { unsafe av_packet_unref(packet) }
      let index = unsafe packet.pointee.stream_index
      guard tracks.contains(index), let stream = unsafe input.pointee.streams[Int(index)] else {
        continue
      }
      let scale = unsafe stream.pointee.time_base
      let times = unsafe [packet.pointee.dts, packet.pointee.pts].map {
        $0 == cffmpeg_no_timestamp() ? nil : av_rescale_q($0, scale, nanoseconds)
      }
      guard let first = times[0] ?? times[1], let last = times.compactMap({ $0 }).max() else {
        continue
      }
      delays[index, default: CompositionDelay()].note(presentation: times[1], decoding: times[0])
      begins[index] = min(begins[index] ?? first, first)
      let length = unsafe av_rescale_q(packet.pointee.duration, scale, nanoseconds)
      let own = max(last, last.addingSaturating(length))
      end = max(end ?? own, own)
    }
    let begin = begins.map { $1.addingSaturating(delays[$0]?.ticks ?? 0) }.min()
    guard let begin, let end else { return 0 }
    return end.subtractingSaturating(begin)
  }

  /// `path` in a form that libavformat does not take for a protocol: `a:b.mp4` is a file too.
  static func url(ofPath path: String) -> String { "file:" + path }

  /// The format that the ending of `path` promises, for streams too short or odd to be recognized.
  static func formatName(ofPath path: String) -> String? {
    let ending = path.split(separator: ".").last.map { $0.lowercased() }
    switch ending {
    case "h264", "264", "avc": return "h264"
    case "h265", "265", "hevc": return "hevc"
    default: return nil
    }
  }
}
