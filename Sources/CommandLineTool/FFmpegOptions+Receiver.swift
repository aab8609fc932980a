import OptionNames

extension FFmpegOptions {
  private static let copies = "a recording is a copy without it"
  private static let quiet = "--quiet leaves only errors"
  private static let silent =
    "an output such as camera.h264 or camera.y4m has no sound; for an .mp4 without, --stream 0 "
    + "plays that stream of RTSP or of an SDP file alone"
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
    "-hide_banner": "there is none to hide", "-threads": "it is --decoder-threads",
    "-hwaccel": "pictures are decoded without it", "-vf": "--size scales pictures",
    "-an": silent,
    "-vn": "an output such as sound.wav or sound.opus is of sound alone",
    "-map": "--stream chooses one of several streams",
    "-r": "--constant-rate writes one frame for each frame interval",
  ])
}
