import OptionNames

extension FFmpegOptions {
  private static let copies = "what is in a file is sent as it is without it"
  private static let sounds = "--audio copy sends the sound of a file too"
  private static let frames = "--frames ends a run after so many"
  private static let quiet = "--quiet leaves only errors"

  /// Those that people give a sender.
  static let ofSender = FFmpegOptions([
    "-re": "a file is sent at its own pace without it",
    "-i": "the source stands by itself, as in 'rtp-send film.mp4 udp://127.0.0.1:5004'",
    "-f": "the destination says how it is sent, as in rtsp://:8554/film",
    "-c": copies, "-c:v": copies, "-c:a": copies, "-vcodec": copies, "-acodec": copies,
    "-codec": copies, "-map": sounds, "-an": sounds,
    "-vn": "it is --no-video", "-stream_loop": "it is --loop", "-sdp_file": "it is --sdp",
    "-r": "it is --fps", "-s": "it is --size", "-b:v": "it is --bitrate", "-g": "it is --gop",
    "-bf": "it is --bframes", "-t": frames, "-vframes": frames, "-frames:v": frames,
    "-rtsp_transport": "clients choose it", "-y": "a file that is there is replaced without it",
    "-loglevel": quiet, "-v": quiet, "-hide_banner": "there is none to hide",
  ])
}
