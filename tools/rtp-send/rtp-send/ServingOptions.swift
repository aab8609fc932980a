import ArgumentParser
import RTPSend
import Transports

struct ServingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Ask clients for a name and a password: lines of NAME:PASSWORD, in a file that its owner alone \
      can read. Anybody may read a command line, so that passwords cannot stand there.
      """, valueName: "file"), completion: .file())
  var accounts: String?

  @Option(
    help: ArgumentHelp(
      """
      How clients log in: digest, sha-256 (the same with a hash that fewer know), basic (the \
      password itself, which rtsps:// hides), or several, separated by commas (default: digest).
      """, valueName: "methods"))
  var auth: LoginArgument?

  @Option(
    help: ArgumentHelp(
      "The certificate of rtsps:// in PEM, with those of its authorities.", valueName: "file"),
    completion: .file())
  var certificate: String?

  @Option(
    help: ArgumentHelp("The certificate's private key in PEM.", valueName: "file"),
    completion: .file())
  var key: String?

  @Option(
    help: ArgumentHelp(
      """
      Where what is live goes for clients that ask for multicast; each track has two ports, from \
      this one on, which must be even.
      """, valueName: "group:port"))
  var multicast: GroupArgument?

  /// Throws if the options do not fit the destinations.
  func check(
    _ pairs: [(source: String, destination: Destination)], _ media: SourceOptions,
    _ protection: ProtectionOptions, _ output: OutputOptions
  ) throws {
    guard case .serveRTSP(let host, let port, _, let isSecure) = pairs.first?.destination else {
      let typed = [
        ("--accounts", accounts != nil), ("--auth", auth != nil),
        ("--certificate", certificate != nil), ("--key", key != nil),
        ("--multicast", multicast != nil),
      ]
      if let option = typed.first(where: { $0.1 })?.0 {
        throw ValidationError("\(option) has no effect without rtsp://")
      }
      guard pairs.count == 1 else {
        throw ValidationError("only rtsp:// takes several sources, each under a name of its own")
      }
      return
    }
    var names: Set<String> = []
    for pair in pairs {
      guard case .serveRTSP(host, port, let name, isSecure) = pair.destination else {
        throw ValidationError("several sources need names at the same rtsp://[ADDRESS]:PORT")
      }
      guard names.insert(name).inserted else {
        throw ValidationError("two sources have the name '\(name)'")
      }
    }
    guard isSecure == (certificate != nil), isSecure == (key != nil) else {
      throw ValidationError(
        isSecure
          ? "rtsps:// needs --certificate and --key"
          : "--certificate and --key have no effect with rtsp://; see rtsps://")
    }
    guard auth == nil || accounts != nil else {
      throw ValidationError("--auth has no effect without --accounts")
    }
    guard media.repetitions.count == 1 || media.repetitions.count == nil else {
      throw ValidationError("--loop takes only 'forever' with rtsp://, which makes a file live")
    }
    guard output.sdp == nil else {
      throw ValidationError("--sdp has no effect with rtsp://, which describes its streams itself")
    }
  }
}
