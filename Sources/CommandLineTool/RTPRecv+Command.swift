import ArgumentParser
import OptionNames
import Transports

extension RTPRecv {
  /// Throws if the source is no file, but a command, or a slip of the fingers for one.
  func checkIsNoCommand() throws {
    guard let words = complaintAboutCommand, SourceFile(source).kind == .missing else { return }
    throw ValidationError(words)
  }

  /// What to type in place of a source that is a command, or is near to one; `nil` if it is not.
  private var complaintAboutCommand: String? {
    let names = [FleetCommand.name, DiscoverCommand.name]
    if names.contains(source) { return "'\(source)' comes first, as in 'rtp-recv \(source) …'" }
    // With --transport it is a host, and in a fleet there are no commands.
    guard transport == nil, CommandLineSecrets.ofCamera == nil, source.allSatisfy(\.isLetter)
    else { return nil }
    if source == "help" { return "there is no file 'help'; the help is 'rtp-recv --help'" }
    return names.first { source.isSlip(for: $0) }.map {
      "there is no file '\(source)'; did you mean 'rtp-recv \($0)'?"
    }
  }
}
