package import ArgumentParser
import FoundationEssentials

/// The long options that a command and its subcommands declare.
///
/// ArgumentParser says what is wrong with the options that it knows before it says that it does not
/// know one; whoever mistyped `--output` then reads that `--segment` needs one.
package struct KnownOptions {
  /// With their hyphens.
  package let names: Set<String>

  /// Words that are farther from each other are no slip of the fingers.
  private static let longestSlip = 3

  package init(of command: any ParsableCommand.Type) {
    let described = Data(command._dumpHelp().utf8)
    let tool = try? JSONDecoder().decode(Description.self, from: described)
    names = tool?.command.names ?? []
  }

  /// What is wrong with `name`; `nil` if it is known.
  package func complaint(about name: String) -> String? {
    guard !names.contains(name) else { return nil }
    let nearest = names.min {
      ($0.editDistance(to: name), $0) < ($1.editDistance(to: name), $1)
    }
    let longer = names.filter { $0.hasPrefix(name + "-") }.min()
    let meant = nearest.flatMap { $0.editDistance(to: name) <= Self.longestSlip ? $0 : longer }
    return "Unknown option '\(name)'." + (meant.map { " Did you mean '\($0)'?" } ?? "")
  }

  /// What is wrong with the first of `arguments` that is an unknown option; `nil` if none is.
  package func complaint(aboutAnyOf arguments: [String]) -> String? {
    arguments.prefix { $0 != "--" }.lazy.filter { $0.hasPrefix("--") }
      .compactMap { complaint(about: String($0.prefix { $0 != "=" })) }.first
  }

  /// What ArgumentParser describes as JSON.
  private struct Description: Decodable {
    var command: Command
  }

  private struct Command: Decodable {
    var arguments: [Argument]?
    var subcommands: [Command]?

    var names: Set<String> {
      (subcommands ?? []).reduce(into: Set((arguments ?? []).flatMap(\.longNames))) {
        $0.formUnion($1.names)
      }
    }
  }

  private struct Argument: Decodable {
    struct Name: Decodable {
      var kind: String
      var name: String
    }

    var names: [Name]?

    var longNames: [String] { (names ?? []).filter { $0.kind == "long" }.map { "--\($0.name)" } }
  }
}
