import OptionNames

extension FFmpegOptions {
  private static let copies = "a recording is a copy without it"
  private static let quiet = "--quiet leaves only errors"
  private static let frames = "--frames ends a run after so many"

  /// Those that people give a receiver.
  static let ofReceiver = FFmpegOptions([
    "-i": "the source stands by itself, as in 'rtp-recv rtsp://camera/stream -o camera.mp4'",
    "-t": "--duration ends a run", "-vframes": frames, "-frames:v": frames,
    "-f": "the name of an output says its format, or --format does",
    "-y": "a file that is there is replaced without it",
    "-c": copies, "-c:v": copies, "-c:a": copies, "-vcodec": copies, "-acodec": copies,
    "-codec": copies,
    "-s": "--size scales pictures", "-pix_fmt": "it is --pixel-format",
    "-rtsp_transport": "it is --rtsp-transport", "-loglevel": quiet, "-v": quiet,
  ])
}
