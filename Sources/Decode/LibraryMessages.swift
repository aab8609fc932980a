import CFFmpeg

/// What FFmpeg's libraries write to standard error by themselves.
public enum LibraryMessages {
  /// Stops it, in the whole process: what is wrong is said by whoever uses a library.
  ///
  /// Decoders and encoders of this package are silent anyway; libavformat's muxers are not without
  /// this.
  public static func silence() { av_log_set_level(AV_LOG_QUIET) }
}
