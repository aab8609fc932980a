package import ArgumentParser
import FoundationEssentials

/// The options that a command and its subcommands declare.
///
/// ArgumentParser says what is wrong with the options that it knows before it says that it does not
/// know one; whoever mistyped `--output` then reads that `--segment` needs one.
package struct KnownOptions {
  /// The long ones, with their hyphens.
  package let names: Set<String>
  /// The short ones, with their hyphen.
  private let letters: Set<String>

  /// Words that are farther from each other are no slip of the fingers.
  private static let longestSlip = 3

  package init(of command: any ParsableCommand.Type) {
    let text = Data(command._dumpHelp().utf8)
    let tool = try? JSONDecoder().decode(Description.self, from: text)
    let described = tool?.command.names ?? []
    names = Set(described.filter { $0.kind == "long" }.map { "--\($0.name)" })
    letters = Set(described.filter { $0.kind == "short" }.map { "-\($0.name)" })
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
    arguments.prefix { $0 != "--" }.lazy.compactMap { argument in
      argument.hasPrefix("--")
        ? complaint(about: String(argument.prefix { $0 != "=" })) : complaint(aboutShort: argument)
    }.first
  }

  /// What is wrong with `argument`, if it begins with a hyphen and a letter; `nil` if that is
  /// known.
  private func complaint(aboutShort argument: String) -> String? {
    guard argument.hasPrefix("-"), argument.dropFirst().first?.isLetter == true,
      !letters.contains(String(argument.prefix(2)))
    else { return nil }
    guard !argument.contains(".") else {
      return "'\(argument)' is read as an option; a file of that name is written './\(argument)'"
    }
    return "Unknown option '\(argument.prefix { $0 != "=" })'."
  }

  /// What ArgumentParser describes as JSON.
  private struct Description: Decodable {
    var command: Command
  }

  private struct Command: Decodable {
    var arguments: [Argument]?
    var subcommands: [Command]?

    var names: [Name] {
      (arguments ?? []).flatMap { $0.names ?? [] } + (subcommands ?? []).flatMap(\.names)
    }
  }

  private struct Argument: Decodable {
    var names: [Name]?
  }

  private struct Name: Decodable {
    var kind: String
    var name: String
  }
}
