package import ArgumentParser
import FoundationEssentials

/// The options that a command and its subcommands declare.
///
/// ArgumentParser says what is wrong with the options that it knows before it says that it does not
/// know one; whoever mistyped `--output` then reads that `--segment` needs one.
package struct KnownOptions {
  /// The long ones, with their hyphens.
  package let names: Set<String>
  /// The long ones without a value, with their hyphens.
  private let flags: Set<String>
  /// The short ones, with their hyphen.
  private let letters: Set<String>
  /// Those of them that have a value.
  private let lettersWithValue: Set<String>

  package init(of command: any ParsableCommand.Type) {
    let text = Data(command._dumpHelp().utf8)
    let tool = try? JSONDecoder().decode(Description.self, from: text)
    let described = tool?.command.allArguments ?? []
    names = Set(described.flatMap(\.longNames))
    flags = Set(described.filter { $0.kind == "flag" }.flatMap(\.longNames))
    letters = Set(described.flatMap(\.letters))
    lettersWithValue = Set(described.filter { $0.kind == "option" }.flatMap(\.letters))
  }

  /// Whether `name` is known, and has a value.
  package func takesValue(_ name: String) -> Bool { names.contains(name) && !flags.contains(name) }

  /// Whether ArgumentParser takes a letter of one of `arguments` for `-h`, as that of `-threads`,
  /// and none of them asks for help itself.
  package static func readsHelp(intoLettersOf arguments: [String]) -> Bool {
    let typed = arguments.prefix { $0 != "--" }
    return typed.contains { $0.hasPrefix("-") && !$0.hasPrefix("--") && $0.contains("h") }
      && !typed.contains { ["-h", "-help"].contains($0) || $0.hasPrefix("--help") }
  }

  /// What is wrong with `name`; `nil` if it is known.
  package func complaint(about name: String) -> String? {
    names.contains(name) ? nil : "Unknown option '\(name)'.\(question(about: name))"
  }

  /// Asks whether the option was meant that is nearest to `name`; empty if none is near.
  private func question(about name: String) -> String {
    let nearest = names.min {
      ($0.editDistance(to: name), $0) < ($1.editDistance(to: name), $1)
    }
    let longer =
      names.filter { $0.hasPrefix(name + "-") }.min()
      ?? names.filter { $0.hasSuffix(name.dropFirst()) }.min()
    let meant = nearest.flatMap { name.isSlip(for: $0) ? $0 : longer }
    return meant.map { " Did you mean '\($0)'?" } ?? ""
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
    let name = String(argument.prefix { $0 != "=" })
    guard name.hasPrefix("-"), name.dropFirst().first?.isLetter == true, !letters.contains(name)
    else { return nil }
    guard !name.contains(".") else {
      let letter = String(name.prefix(2))
      let remedy =
        lettersWithValue.contains(letter)
        ? "write '\(letter) \(argument.dropFirst(2))'"
        : "a file of that name is written './\(argument)'"
      return "'\(argument)' is read as an option; \(remedy)"
    }
    return "Unknown option '\(name)'.\(question(about: "-" + name))"
  }

  /// What ArgumentParser describes as JSON.
  private struct Description: Decodable {
    var command: Command
  }

  private struct Command: Decodable {
    var arguments: [Argument]?
    var subcommands: [Command]?

    var allArguments: [Argument] {
      (arguments ?? []) + (subcommands ?? []).flatMap(\.allArguments)
    }
  }

  private struct Argument: Decodable {
    var kind: String
    var names: [Name]?

    var longNames: [String] {
      (names ?? []).filter { $0.kind == "long" }.map { "--\($0.name)" }
    }

    var letters: [String] {
      (names ?? []).filter { $0.kind == "short" }.map { "-\($0.name)" }
    }
  }

  private struct Name: Decodable {
    var kind: String
    var name: String
  }
}
