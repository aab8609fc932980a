import CAVFormat
import CFFmpeg
import Glibc

extension Libav {
  /// The formats that are read: of each, a file is all there is.
  ///
  /// Playlists, series of pictures and descriptions of sessions are left out, which lead to other
  /// files and to servers and may never end. Some of these hold nothing that can be sent; then the
  /// error says what they hold.
  private static let formats = [
    "aac", "ac3", "aiff", "alaw", "amr", "asf", "au", "avi", "caf", "dhav", "dv", "eac3", "flac",
    "flv", "g722", "h261", "h263", "h264", "hevc", "ifv", "ivf", "live_flv", "loas", "m4v",
    "matroska", "mjpeg", "mov", "mp3", "mpeg", "mpegts", "mpegvideo", "mulaw", "mxf", "nut",
    "obu", "ogg", "s16le", "u8", "vc1", "voc", "w64", "wav", "wtv", "yuv4mpegpipe",
  ].joined(separator: ",")

  /// Opens the file at `path`, as of `format` or whatever it is found to be, and finds out which
  /// streams it has; ``close(_:)`` ends it.
  static func open(
    path: String, as format: String? = nil
  ) throws(SendError) -> UnsafeMutablePointer<AVFormatContext> {
    try unsafe open(nil, url: MediaFile.url(ofPath: path), as: format, name: path)
  }

  /// The same for what `input` reads by itself, or if there is none, for what is at `url`; people
  /// know it as `name`.
  static func open(
    _ input: UnsafeMutablePointer<AVFormatContext>?, url: String?, as format: String? = nil,
    name: String
  ) throws(SendError) -> UnsafeMutablePointer<AVFormatContext> {
    Libav.silence
    var input = unsafe input
    var options: OpaquePointer?
    defer { unsafe av_dict_free(&options) }
    unsafe av_dict_set(&options, "format_whitelist", formats, 0)
    // Should one of these formats lead elsewhere all the same, it gets no farther than to files.
    unsafe av_dict_set(&options, "protocol_whitelist", url == nil ? "" : "file", 0)
    let known = unsafe format.flatMap { unsafe av_find_input_format($0) }
    var code = unsafe avformat_open_input(&input, url, known, &options)
    guard code >= 0, let opened = unsafe input else {
      // That is what the list of formats answers.
      let isRefused = code == -EINVAL
      throw .cannotOpen(
        path: name,
        reason: isRefused ? "it is a playlist, or of a format that is not sent" : reason(code))
    }
    code = unsafe avformat_find_stream_info(opened, nil)
    guard code >= 0 else {
      unsafe close(opened)
      throw .cannotOpen(path: name, reason: reason(code))
    }
    return unsafe opened
  }

  /// Closes what was opened.
  static func close(_ opened: UnsafeMutablePointer<AVFormatContext>) {
    var input = unsafe Optional(opened)
    unsafe avformat_close_input(&input)
  }
}
