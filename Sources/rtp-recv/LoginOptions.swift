import ArgumentParser
import Transports

/// Who the server is told that it is asked by.
struct LoginOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The user name, if the URL has none.", valueName: "name"))
  var user: String?

  @Option(
    help: ArgumentHelp(
      """
      A file whose first line is the password, readable by its owner alone. Otherwise \
      RTP_RECV_PASSWORD in the environment is the password; a terminal is asked for it.
      """, valueName: "file"))
  var passwordFile: String?

  /// The credentials for `source`; `nil` without a user name and a password.
  func credentials(for source: SourceArgument) throws -> Credentials? {
    try Password.credentials(for: source, user: user, file: passwordFile)
  }
}
