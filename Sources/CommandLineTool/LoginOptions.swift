import ArgumentParser
import Transports

/// The login at a server.
struct LoginOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The user name, if the URL has none.", valueName: "name"))
  var user: String?

  @Option(
    help: ArgumentHelp(
      """
      A file with the password in its first line, readable only by its owner. Without it, the \
      password is RTP_RECV_PASSWORD of the environment, or is asked for at the terminal.
      """, valueName: "file"), completion: .file(), transform: CommandLineSecrets.path)
  var passwordFile: String?

  /// Throws if the user is named twice, and differently.
  func check(for source: SourceArgument) throws {
    guard let user, let other = source.user, user != other else { return }
    throw UselessOption(
      "--user", "has no effect with a URL that names another user, '\(other)'"
    ).noted()
  }

  /// The credentials for `source`; `nil` without a user name and a password.
  func credentials(for source: SourceArgument) throws -> Credentials? {
    try Password.credentials(for: source, user: user, file: passwordFile)
  }

  /// What to do when a server wants a login and there is none for `source`.
  func advice(for source: SourceArgument) -> String {
    let hasUser = user ?? source.user != nil
    guard CommandLineSecrets.ofCamera == nil else {
      let password = "the password with 'password-file' or 'credential'"
      return hasUser
        ? "there is a user name, but no password; give \(password)"
        : "give the user name with 'user' or in the URL, and \(password)"
    }
    let password = "the password with --password-file or in \(Password.variable)"
    return hasUser
      ? "there is a user name, but no password, and no terminal to ask for it; give \(password)"
      : "give the user name with --user or in the URL, and \(password)"
  }
}
