import CFFmpeg

/// Why a recording cannot be made.
public enum RecordingError: OutputFault, Hashable {
  /// libavformat cannot be loaded: why, with the name of its file.
  case noLibrary(reason: String)
  /// libavformat was built without the container.
  case noMuxer(container: String)
  /// libavformat refuses the file; what it says.
  case cannotMux(container: String, reason: String)
  /// libavcodec has no such decoder, by which codecs are known.
  case unknownCodec(name: String, container: String)
  case outOfMemory
  /// The stream does not say what its pictures are like.
  case noFormat
  /// Parts are missing, although the recording went on: how many, and the first reason.
  case incomplete(holes: Int, because: OutputError)
  /// Another file would have to begin, which a pipe cannot express.
  case cannotChange(FileReason)

  public var name: String {
    switch self {
    case .noLibrary: "no_library"
    case .noMuxer, .cannotMux: "cannot_mux"
    case .unknownCodec: "unknown_codec"
    case .outOfMemory: "out_of_memory"
    case .noFormat: "no_format"
    case .incomplete: "incomplete"
    case .cannotChange: "format_changed"
    }
  }

  public var outcome: OutputOutcome {
    if case .cannotChange = self { .formatChanged } else { .cannotWrite }
  }

  public func words(about output: String) -> String {
    switch self {
    case .noLibrary(let reason):
      "\(output): recordings need libavformat, which cannot be loaded: \(reason); on Debian it is in "
        + "the package libavformat\(LIBAVFORMAT_VERSION_MAJOR), on others in that of FFmpeg"
    case .noMuxer(let container):
      "\(output): this libavformat cannot write \(container)"
    case .cannotMux(let container, let reason):
      "\(output): " + Self.refusal(container, reason)
    case .unknownCodec(let name, let container):
      "\(output): libavcodec does not know \(name), so it cannot be put into \(container)"
    case .outOfMemory:
      "\(output): out of memory"
    case .noFormat:
      "\(output): the stream has no description of its pictures, which a recording needs"
    case .incomplete(let holes, let error):
      "the recording has \(holes == 1 ? "a hole" : "\(holes) holes"): " + error.words(about: output)
    case .cannotChange(let reason):
      "\(output) is a pipe and cannot begin a new file: \(reason.words); write a file instead"
    }
  }

  public var advice: OutputAdvice? {
    if case .incomplete(_, let error) = self { error.advice } else { nil }
  }

  /// That libavformat refuses a file.
  static func refusal(_ container: String, _ reason: String) -> String {
    "libavformat cannot write this stream as \(container): \(reason)"
  }
}
