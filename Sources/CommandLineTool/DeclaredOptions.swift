import ArgumentParser
import Transports

/// The options of one section of `--help` that the transports of the tool declare.
struct DeclaredOptions<Section: DeclaredSection>: ParsableArguments, DeclaredGroup,
  CustomReflectable, Sendable
{
  private var typed: [(option: DeclaredOption, change: DeclaredOption.Change)] = []
  /// What is wrong with the first value that could not be read.
  private var mistake: String?

  private static var declared: [DeclaredOption] {
    CommandLineTool.current.transports.options.filter { $0.section == Section.section }
  }

  init() {}

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: DeclaredOptionKey.self)
    for option in Self.declared {
      let key = DeclaredOptionKey(stringValue: option.name)
      if option.valueName == nil {
        let isTyped = try container.decode(Flag<Bool>.self, forKey: key).wrappedValue
        if isTyped { read("", of: option) }
      } else if let value = try container.decode(Option<String?>.self, forKey: key).wrappedValue {
        read(value, of: option)
      }
    }
  }

  /// What the parser takes the options from, instead of from properties.
  var customMirror: Mirror {
    Mirror(
      self,
      children: Self.declared.map { option -> Mirror.Child in
        let help = ArgumentHelp("\(option.help)", valueName: option.valueName)
        let name = NameSpecification.customLong(option.name)
        guard option.valueName != nil else {
          return ("_" + option.name, Flag<Bool>(wrappedValue: false, name: name, help: help))
        }
        let parsing: SingleValueParsingStrategy = option.takesDashes ? .unconditional : .next
        return (
          "_" + option.name,
          Option<String?>(
            name: name, parsing: parsing, help: help,
            completion: option.valueName == "file" ? .file() : nil)
        )
      })
  }

  /// Reads a value, once: it may come from a pipe.
  private mutating func read(_ value: String, of option: DeclaredOption) {
    guard mistake == nil else { return }
    do {
      // The shown argument has no password.
      if let change = try option.read(CommandLineSecrets.taken.original(of: value)) {
        typed.append((option, change))
      } else {
        let name = option.valueName.map { "--\(option.name) <\($0)>" } ?? "--\(option.name)"
        mistake = "The value '\(value)' is invalid for '\(name)'"
      }
    } catch { mistake = "\(error)" }
  }

  func validate() throws {
    if let mistake { throw ValidationError(mistake) }
    for (option, _) in typed {
      guard let partner = option.partner, !typed.contains(where: { $0.option.name == partner })
      else { continue }
      let names = [option.name, partner].sorted()
      throw ValidationError("--\(names[0]) and --\(names[1]) go together")
    }
    var options = TransportOptions()
    try apply(to: &options)
  }

  func apply(to options: inout TransportOptions) throws {
    for (_, change) in typed {
      do {
        try change(&options)
      } catch { throw ValidationError("\(error)") }
    }
  }
}
