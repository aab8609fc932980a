import CFFmpeg

/// FFmpeg's libraries, each of which is loaded when it is first needed.
public enum FFmpegLibraries {
  /// Loads what decoding takes, some 20 ms of work.
  ///
  /// A decoder does it when it is opened. Done earlier, from any thread, it saves the first picture
  /// that time.
  ///
  /// - Throws: ``DecoderError/noLibrary(reason:)``.
  public static func loadDecoding() throws(DecoderError) {
    if let fault = unsafe cffmpeg_load_decoding() {
      throw unsafe .noLibrary(reason: String(cString: fault))
    }
  }

  /// Loads what frames take that others decode.
  ///
  /// - Throws: ``DecoderError/noLibrary(reason:)``.
  public static func loadFrames() throws(DecoderError) {
    if let fault = unsafe cffmpeg_load_frames() {
      throw unsafe .noLibrary(reason: String(cString: fault))
    }
  }

  /// Stops what they write to standard error by themselves, in the whole process: what is wrong is
  /// said by whoever uses a library.
  ///
  /// Decoders and encoders of this package are silent anyway; libavformat's muxers are not without
  /// this.
  public static func silence() { cffmpeg_silence() }
}
