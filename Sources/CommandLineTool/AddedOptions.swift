import ArgumentParser
import Transports

/// The options that the transports of the tool declare.
struct AddedOptions: ParsableArguments, CustomReflectable {
  private var typed: [(option: DeclaredOption, value: String)] = []

  private static var declared: [DeclaredOption] { CommandLineTool.current.transports.options }

  init() {}

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    for option in Self.declared {
      let value = try container.decode(Option<String?>.self, forKey: Key(stringValue: option.name))
      if let value = value.wrappedValue { typed.append((option, value)) }
    }
  }

  /// What the parser takes the options from, instead of from properties.
  var customMirror: Mirror {
    Mirror(
      self,
      children: Self.declared.map { option in
        let help = ArgumentHelp("\(option.help)", valueName: option.valueName)
        return ("_" + option.name, Option<String?>(name: .customLong(option.name), help: help))
      })
  }

  func validate() throws {
    var options = TransportOptions()
    try apply(to: &options)
  }

  /// Writes what was typed into `options`.
  func apply(to options: inout TransportOptions) throws {
    for (option, value) in typed {
      do {
        try option.apply(value, &options)
      } catch { throw ValidationError("--\(option.name) \(value): \(error)") }
    }
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}
