import CFFmpeg

/// FFmpeg's libraries, each of which is loaded when it is first needed.
public enum FFmpegLibraries {
  /// Loads what decoding takes, some 20 ms of work, so that the first picture does not wait for it.
  ///
  /// From any thread. A decoder does it by itself when it is opened.
  ///
  /// - Returns: whether all of it is there; ``fault`` says why not.
  @discardableResult
  public static func load() -> Bool { cffmpeg_load() != 0 }

  /// Why one of them could not be loaded, in the words of the system, which name its file; `nil` if
  /// none was missing so far.
  public static var fault: String? { unsafe cffmpeg_fault().map { unsafe String(cString: $0) } }

  /// Stops what they write to standard error by themselves, in the whole process: what is wrong is
  /// said by whoever uses a library.
  ///
  /// Decoders and encoders of this package are silent anyway; libavformat's muxers are not without
  /// this.
  public static func silence() { cffmpeg_silence() }
}

extension DecoderError {
  /// That libavcodec has no codec of this name, or is not there itself.
  static func missing(_ name: String) -> DecoderError {
    FFmpegLibraries.fault.map { .noLibrary(reason: $0) } ?? .unsupportedCodec(name: name)
  }
}
