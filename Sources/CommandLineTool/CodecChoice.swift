import ArgumentParser
import Bitstream
import Defragment

/// The value of `--codec`.
enum CodecChoice: ExpressibleByArgument, Hashable {
  /// The codec is recognized by the packets.
  case automatic
  /// What was typed, which need not be the name of a codec.
  case named(String)

  /// What stands for ``automatic``.
  static let automaticName = "auto"

  init(argument: String) {
    self = argument == Self.automaticName ? .automatic : .named(argument)
  }

  var defaultValueDescription: String {
    switch self {
    case .automatic: Self.automaticName
    case .named(let name): name
    }
  }

  /// The codec that is named, where there is one of that name.
  var known: VideoCodec? {
    switch self {
    case .automatic: nil
    case .named(let name): CommandLineTool.current.formats.codec(named: name)
    }
  }
}
