import BlockingIO
import OptionNames
import Serving
import Yams

/// What the file of a fleet says: which cameras there are, and the options of each.
///
/// ```yaml
/// version: 1
/// serve: 127.0.0.1:9800
/// defaults:
///   segment: 10m
/// cameras:
///   front:
///     source: rtsp://10.0.0.5/1
///     output: /var/lib/cameras/front-%Y%m%dT%H%M%SZ.mp4
/// ```
///
/// A key of a camera is a long option of `rtp-recv`; its value is one value, a list where the
/// option may be repeated, or `true` or `false` where it has none. `credential` names a password
/// that systemd gives to the service.
struct FleetFile: Sendable {
  /// A place in the file, counted from 1.
  struct Place: Sendable, Hashable, CustomStringConvertible {
    var line: Int
    var column: Int

    var description: String { "\(line):\(column)" }
  }

  /// The first mistake in the file.
  struct Fault: Error, CustomStringConvertible {
    let path: String
    let place: Place?
    let words: String

    var description: String {
      place.map { "\(path):\($0): \(words)" } ?? "\(path): \(words)"
    }
  }

  /// In the order of the file.
  let cameras: [Camera]
  /// Where the page of all cameras is served.
  let page: ListenAddress?

  /// Those of a camera.
  static let options = KnownOptions(of: RTPRecv.self)
  /// Thousands of cameras take less.
  private static let maximumLength = 1 << 20
  private static let longestName = 63

  /// Reads the file at `path`.
  init(at path: String) throws(Fault) {
    let file: ShortFile
    do {
      file = try ShortFile(at: path, limit: Self.maximumLength)
    } catch {
      throw Fault(path: path, place: nil, words: "cannot be read: \(error.reason)")
    }
    guard file.bytes.count <= Self.maximumLength else {
      throw Fault(path: path, place: nil, words: "is longer than \(Self.maximumLength) bytes")
    }
    // Editors of Windows put it before the text.
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let bytes = file.bytes.starts(with: mark) ? file.bytes.dropFirst(mark.count) : file.bytes[...]
    try self.init(String(decoding: bytes, as: UTF8.self), path: path)
  }

  /// Reads `text`, which is called `path` in messages.
  init(_ text: String, path: String) throws(Fault) {
    do {
      self = try Self.read(text)
    } catch let mistake as Mistake {
      throw Fault(path: path, place: mistake.place, words: mistake.words)
    } catch let error as YamlError {
      let fault = YAMLFault(error, in: text)
      throw Fault(path: path, place: fault.place, words: fault.words)
    } catch {
      throw Fault(path: path, place: nil, words: "\(error)")
    }
  }

  private init(cameras: [Camera], page: ListenAddress?) {
    (self.cameras, self.page) = (cameras, page)
  }

  private struct Mistake: Error {
    let place: Place?
    let words: String
  }

  private static func read(_ text: String) throws -> FleetFile {
    guard let root = try Yams.compose(yaml: text) else {
      throw Mistake(place: nil, words: "it is empty; it needs 'cameras'")
    }
    let known = ["version", PageOptions.name, "defaults", "cameras"]
    var (defaults, cameras): (Node.Mapping?, Node.Mapping?)
    var page: ListenAddress?
    for (key, value) in try mapping(root, of: "the file") {
      switch key.string {
      case "version":
        guard value.scalar?.string == "1" else {
          throw Mistake(place: Place(value), words: "this rtp-recv reads version 1")
        }
      case PageOptions.name:
        page = value.scalar.flatMap { ListenAddress($0.string) }
        guard page != nil else {
          throw Mistake(
            place: Place(value),
            words: "'\(PageOptions.name)' is an address with a port, such as 127.0.0.1:9800")
        }
      case "defaults": defaults = try mapping(value, of: "'defaults'")
      case "cameras": cameras = try mapping(value, of: "'cameras'")
      default:
        let name = key.string ?? ""
        guard isKey(name) else { throw Mistake(place: Place(key), words: keyWords) }
        let nearest = known.min { $0.editDistance(to: name) < $1.editDistance(to: name) } ?? ""
        throw Mistake(
          place: Place(key), words: "there is no key '\(name)' here; did you mean '\(nearest)'?")
      }
    }
    guard let cameras, !cameras.isEmpty else {
      throw Mistake(place: nil, words: "it names no camera; it needs 'cameras'")
    }
    try refuseRepetition(in: cameras)
    let shared = try defaults.map(entries) ?? []
    if let source = shared.first(where: { $0.key == "source" }) {
      throw Mistake(place: source.place, words: "each camera has a source of its own")
    }
    return FleetFile(
      cameras: try cameras.map { key, value in try camera(key, value, defaults: shared) },
      page: page)
  }

  private static func camera(
    _ key: Node, _ value: Node, defaults: [Entry]
  ) throws -> Camera {
    let name = key.string ?? ""
    guard isName(name) else {
      throw Mistake(
        place: Place(key),
        words: "a camera's name has small letters, digits, - and _, and at most \(longestName) "
          + "of them")
    }
    let own = try entries(mapping(value, of: "camera '\(name)'"))
    for entry in own + defaults where entry.key != "source" {
      let option = "--\(entry.key)"
      if let complaint = options.complaint(about: option) {
        throw Mistake(place: entry.place, words: "camera '\(name)': \(complaint)")
      }
      if entry.values.contains(.flag(true)), options.takesValue(option) {
        throw Mistake(place: entry.place, words: "camera '\(name)': '\(entry.key)' needs a value")
      }
    }
    let sources = own.filter { $0.key == "source" }
    guard case .text(let source)? = sources.first?.values.first, sources.first?.values.count == 1
    else { throw Mistake(place: Place(key), words: "camera '\(name)' needs a source") }
    guard !source.hasPrefix("-") else {
      throw Mistake(
        place: sources.first?.place, words: "camera '\(name)': a source does not begin with -")
    }
    let keys = Set(own.map(\.key))
    let others = defaults.filter { !keys.contains($0.key) }.map { entry in
      var entry = entry
      entry.isDefault = true
      return entry
    }
    return Camera(
      name: name, place: Place(key), source: source,
      entries: others + own.filter { $0.key != "source" })
  }

  /// What is none is not quoted: a forgotten space makes a URL with its password a key.
  private static func isKey(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= longestName
      && text.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D
      }
  }

  private static let keyWords =
    "a key is the name of an option, with small letters, digits and -, and a space behind its colon"

  private static func isName(_ text: String) -> Bool {
    let first = text.utf8.first.map { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }
    return first == true && text.utf8.count <= longestName
      && text.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D || $0 == 0x5F
      }
  }

  /// `1` and `'1'` are two keys of YAML, but one name.
  private static func refuseRepetition(in mapping: Node.Mapping) throws {
    var names: Set<String> = []
    for key in mapping.keys {
      guard let name = key.string, !names.insert(name).inserted else { continue }
      throw Mistake(place: Place(key), words: repetition(of: name))
    }
  }

  static func repetition(of name: String) -> String {
    "there is more than one " + (isKey(name) || isName(name) ? "'\(name)'" : "of this key")
  }

  private static func entries(_ mapping: Node.Mapping) throws -> [Entry] {
    try refuseRepetition(in: mapping)
    return try mapping.map { key, value in
      guard let name = key.scalar?.string, isKey(name) else {
        throw Mistake(place: Place(key), words: keyWords)
      }
      guard !notForCameras.contains(name) else {
        throw Mistake(place: Place(key), words: "'\(name)' is not for the cameras of a fleet")
      }
      let nodes = value.sequence.map(Array.init) ?? [value]
      let values = try nodes.map { node in
        guard let scalar = node.scalar, !scalar.string.isEmpty else {
          throw Mistake(
            place: Place(node), words: "'\(name)' needs a value, a list of values, or true or false"
          )
        }
        return scalar.value
      }
      guard name == "credential" else {
        return Entry(key: name, values: values, place: Place(key))
      }
      guard values.count == 1, case .text(let credential)? = values.first,
        let path = credentialPath(credential)
      else {
        throw Mistake(
          place: Place(key),
          words: "'credential' is the name of one that systemd gives to the service "
            + "(LoadCredential=); elsewhere, give 'password-file'")
      }
      return Entry(
        key: "password-file", values: [.text(path)], place: Place(key), credential: credential)
    }
  }

  /// Where systemd puts the credential `name` (systemd.exec(5)); `nil` if it gives none.
  private static func credentialPath(_ name: String) -> String? {
    guard !name.contains("/"), let folder = Secret.credentialsFolder else { return nil }
    return "\(folder)/\(name)"
  }

  private static func mapping(_ node: Node, of what: String) throws -> Node.Mapping {
    guard let mapping = node.mapping else {
      throw Mistake(
        place: Place(node), words: "\(what) must be keys with values, as in 'key: value'")
    }
    return mapping
  }

  /// Options of the command that make no sense for one of many.
  static let notForCameras: Set = [
    "help", "version", "list", "list-json", "experimental-dump-help", "no-progress", "monitor",
    "transport-help", "generate-completion-script", PageOptions.name,
    "srtp-key-fd",
  ]
}

extension FleetFile.Place {
  init(_ node: Node) {
    self.init(line: node.mark?.line ?? 1, column: node.mark?.column ?? 1)
  }
}

extension Node.Scalar {
  /// Only `true` and `false` are no text; `yes`, `no`, `on` and `off` are (YAML 1.2).
  fileprivate var value: FleetFile.Value {
    guard style == .plain || style == .any else { return .text(string) }
    return switch string {
    case "true": .flag(true)
    case "false": .flag(false)
    default: .text(string)
    }
  }
}
