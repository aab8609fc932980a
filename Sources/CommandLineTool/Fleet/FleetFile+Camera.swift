extension FleetFile {
  /// A camera, with what holds for all of them where it says nothing else.
  struct Camera: Sendable {
    let name: String
    /// Where it is named.
    let place: Place
    let source: String
    let entries: [Entry]
  }

  /// A key with its values.
  struct Entry: Sendable {
    let key: String
    let values: [Value]
    let place: Place
    /// What systemd calls the password in the file that it names.
    var credential: String?
    /// Whether it holds for all cameras, some of which may have no use for it.
    var isDefault = false
  }

  enum Value: Sendable, Hashable {
    case flag(Bool)
    case text(String)
  }
}

extension FleetFile.Camera {
  /// `message` about the options, in the words of the file.
  func words(for message: String) -> String {
    let flag = entries.first {
      message.contains("'--\($0.key)' does not take any value")
    }
    return flag.map { "'\($0.key)' is true or false" } ?? message
  }

  /// The options and the source as on the command line, without `useless` ones.
  func arguments(without useless: Set<String> = []) -> [String] {
    ["--no-progress"]
      + entries.filter { !useless.contains("--\($0.key)") }.flatMap(\.arguments) + [source]
  }

  /// Whether it says if its source is connected again.
  var choosesReconnection: Bool { entries.contains { $0.key == "reconnect" } }

  /// The options that it has because all have them.
  var defaultOptions: Set<String> {
    Set(entries.filter(\.isDefault).map { "--\($0.key)" })
  }

  /// Where the option stands that is named first in `message`; the camera's name otherwise.
  func place(ofOptionIn message: String) -> FleetFile.Place {
    let found = entries.compactMap { entry in
      message.firstRange(of: "--\(entry.key)").map { (entry, $0) }
    }
    return found.min { left, right in
      // Of two that begin in one place, the longer name is meant: --stats and --stats-size.
      left.1.lowerBound == right.1.lowerBound
        ? left.1.upperBound > right.1.upperBound : left.1.lowerBound < right.1.lowerBound
    }?.0.place ?? place
  }
}

extension FleetFile.Entry {
  /// The option with each of its values.
  fileprivate var arguments: [String] {
    values.compactMap { value in
      switch value {
      case .flag(true): "--\(key)"
      case .flag(false): nil
      case .text(let text): "--\(key)=\(text)"
      }
    }
  }
}
