import Outputs
import Transports

/// What faults say, and what the options of the command line do about them.
///
/// Other programs use the libraries too, so errors name no options but those that transports
/// declare.
extension Verdict {
  /// What `error` says, and which options may help.
  static func explanation(of error: any Error) -> String {
    "\(error)" + ((error as? any TransportFault)?.advice?.words ?? "")
  }

  /// What `fault` says of the output that a person calls `name`, and which options may help.
  static func explanation(of fault: any OutputFault, about name: String) -> String {
    fault.words(about: name) + (fault.advice?.words ?? "")
  }
}

extension TransportAdvice {
  /// What follows the words of the error.
  fileprivate var words: String {
    switch self {
    case .login: "; give them with --user and --password-file, or in the URL"
    case .loginApart: "; or give them with --user and --password-file"
    case .transport: ", or a --transport"
    case .streams: "; --list shows what there is"
    case .sessionDescription: "; --list shows all of it"
    case .numbers: "; --list shows them"
    case .profiles: ", and --list shows them"
    case .paths: "; of a camera that speaks ONVIF, 'rtp-recv onvif://HOST --list' shows it"
    }
  }
}

extension OutputAdvice {
  /// What follows the words of the error.
  fileprivate var words: String {
    switch self {
    case .steadySize: "; try --scale-to-first, or write a file"
    case .plainSamples: "; try --format yuv"
    case .damagedPictures: "; --on-loss skip waits for one, and --on-loss conceal takes any"
    case .smallerPictures: "; try a smaller --size"
    }
  }
}
