/// Options of FFmpeg that are in people's fingers.
enum FFmpegOption {
  /// What to say of the first of `arguments` that is one; `nil` if none is.
  ///
  /// ArgumentParser takes `-rtsp_transport tcp` for `-o tcp`, and says that of the name.
  static func complaint(aboutAnyOf arguments: [String]) -> String? {
    arguments.prefix { $0 != "--" }.lazy.compactMap { argument in
      advice[argument].map { "'\(argument)' is an option of FFmpeg; here \($0)" }
    }.first
  }

  private static let copies = "a recording is a copy without it"
  private static let quiet = "--quiet leaves only errors"
  private static let frames = "--frames ends a run after so many"

  private static let advice = [
    "-i": "the source stands by itself, as in 'rtp-recv rtsp://camera/stream -o camera.mp4'",
    "-t": "--duration ends a run", "-vframes": frames, "-frames:v": frames,
    "-f": "the name of an output says its format, or --format does",
    "-y": "a file that is there is replaced without it",
    "-c": copies, "-c:v": copies, "-c:a": copies, "-vcodec": copies, "-acodec": copies,
    "-codec": copies,
    "-s": "--size scales pictures", "-pix_fmt": "it is --pixel-format",
    "-rtsp_transport": "it is --rtsp-transport", "-loglevel": quiet, "-v": quiet,
  ]
}
