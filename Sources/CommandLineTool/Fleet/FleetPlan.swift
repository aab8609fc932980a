import ArgumentParser
import BlockingIO
import Glibc
import Outputs
import RTPWire
import Serving
import Transports

/// The cameras of a file, each with the command that receives it; all of them are right.
struct FleetPlan: Sendable {
  struct Camera: Sendable {
    let name: String
    let secrets: CommandLineSecrets
    let command: RTPRecv
    /// The state of the files that it reads, which say something else when they change.
    let files: [FileStamp]
    /// Which part of --segment its first file lasts: half of it to all of it, by the name, so that
    /// cameras that begin together do not all begin their files together.
    var firstShare: Double {
      let seed = name.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) }
      var numbers = SplitMix64(seed: seed)
      return 1 - numbers.uniform() / 2
    }
    /// Whether it is on the page, so that its sound is received too.
    let isShown: Bool

    /// Where it writes, in folders that were there when this was read: later they may not answer.
    let places: Set<FileIdentity>

    /// Whether `next` cannot begin before it has ended: it is the same camera, or writes to the
    /// same file.
    func holdsUp(_ next: Camera) -> Bool {
      name == next.name || !places.isDisjoint(with: next.places)
        || !Set(command.writtenPaths).isDisjoint(with: next.command.writtenPaths)
    }

    /// Whether nothing would be different if it began anew.
    func isSame(as other: Camera) -> Bool {
      name == other.name && secrets == other.secrets && files == other.files
        && isShown == other.isShown
    }
  }

  let cameras: [Camera]
  /// Each camera as a file of its own, by its name, as a cluster has it.
  let rows: [String: String]
  /// Where the page of all cameras is served.
  let page: ListenAddress?
  let warnings: [String]

  /// Reads the file at `path`; `isWatched` says that the cameras are on a monitor.
  init(at path: String, isWatched: Bool = false) throws(FleetFile.Fault) {
    try self.init(FleetFile(at: path), path: path, isWatched: isWatched)
  }

  /// Checks what `file` says, which is called `path` in messages.
  init(
    _ file: FleetFile, path: String, isShown: Bool = false, isWatched: Bool = false
  ) throws(FleetFile.Fault) {
    var cameras: [Camera] = []
    var warnings: [String] = []
    /// The cameras that write files, and what is read.
    var writers: [FileIdentity: String] = [:]
    var read = Set([path].compactMap { FileIdentity($0, standard: -1) })
    for entry in file.cameras {
      func warn(_ words: String) {
        warnings.append("\(path):\(entry.place): \(words)")
      }
      let secrets: CommandLineSecrets
      let command: RTPRecv
      do {
        (command, secrets) = try Self.command(entry)
      } catch {
        let words = RTPRecv.message(for: error)
        throw FleetFile.Fault(
          path: path, place: entry.place(ofOptionIn: words),
          words: "camera '\(entry.name)': \(entry.words(for: words))")
      }
      for written in command.writtenPaths {
        guard written != "-", !written.hasPrefix("fd:") else {
          throw FleetFile.Fault(
            path: path, place: entry.place,
            words: "camera '\(entry.name)': a fleet has no standard output; name a file")
        }
        if let folder = written.folder, unsafe access(folder, F_OK) != 0 {
          warn("camera '\(entry.name)': there is no folder \(folder)")
        } else if FileIdentity.isFolder(written.withoutScheme) {
          warn("camera '\(entry.name)': \(written) is a folder; name a file in it")
        }
        // A folder that is not there yet, or a device, conflicts with nothing.
        guard let identity = FileIdentity(written.withoutScheme, standard: -1) else { continue }
        if let other = writers.updateValue(entry.name, forKey: identity) {
          throw FleetFile.Fault(
            path: path, place: entry.place,
            words: "camera '\(entry.name)' and camera '\(other)' both write \(written)")
        }
      }
      let source = SourceFile(secrets.original(of: command.source))
      let others = (try? command.readPaths) ?? []
      let paths = source.kind == .regular ? [source.path] + others : others
      read.formUnion(paths.compactMap { FileIdentity($0, standard: -1) })
      if secrets.original(of: command.source) != command.source {
        warn("the password of camera '\(entry.name)' is in the file; try password-file")
      }
      // Compose would replace them.
      if entry.arguments().contains(where: { $0.contains("${") }) {
        warn("camera '\(entry.name)': variables such as ${NAME} are not replaced in this file")
      }
      // What is no URL is a file, unless the transport is named.
      if source.kind == .missing, command.transport == nil, !source.path.contains("://") {
        warn("camera '\(entry.name)': there is no file \(source.path)")
      }
      if let mistake = try? command.unmeasurableRule() {
        warn("camera '\(entry.name)': \(mistake)")
      }
      // The page has the metrics too.
      if command.leavesNothing, !isWatched, file.page == nil {
        warn("camera '\(entry.name)' writes nothing; it has no output, stats or capture")
      }
      cameras.append(
        Camera(
          name: entry.name, secrets: secrets, command: command,
          // A recording may grow, and plays on.
          files: (command.describesMedia(source) ? paths : others).map(FileStamp.init),
          isShown: isShown || file.page != nil,
          places: Set(
            command.writtenPaths.compactMap { FileIdentity(placeOf: $0.withoutScheme) })))
    }
    if let (_, name) = writers.first(where: { read.contains($0.key) }) {
      throw FleetFile.Fault(
        path: path, place: file.cameras.first { $0.name == name }?.place,
        words: "camera '\(name)' would write over a file that the fleet reads")
    }
    self.cameras = cameras
    rows = file.rows
    page = file.page
    self.warnings = warnings
  }

  /// The command line of a camera, if it is right, without what its kind of source has no use for.
  private static func command(
    _ camera: FleetFile.Camera
  ) throws -> (RTPRecv, CommandLineSecrets) {
    let transports = CommandLineTool.current.transports
    var (useless, comesAgain): (Set<String>, Bool) = ([], false)
    while true {
      let all = CommandLineSecrets(
        camera.arguments(without: useless), defaults: camera.defaultOptions, transports: transports)
      let noted = UselessOption.Note()
      do {
        let more = try UselessOption.$note.withValue(noted) {
          try CommandLineSecrets.$ofCamera.withValue(all) {
            let command = try RTPRecv.parse(all.arguments)
            try command.check()
            let more = try command.useless(among: camera.defaultOptions).subtracting(useless)
            // A password that is not for this camera is not read either.
            guard more.isEmpty else { return more }
            comesAgain = try command.comesAgain
            if command.stopping.reconnect, !comesAgain {
              throw Session.reconnectsForNothing.noted()
            }
            return []
          }
        }
        if more.isEmpty { break }
        useless.formUnion(more)
      } catch {
        // What all cameras have may be of no use to one: --segment where nothing is recorded.
        let defaults = camera.defaultOptions.subtracting(useless)
        guard let option = noted.option, defaults.contains(option) else {
          // Words are made as they are asked for, and a fleet has keys where others have options.
          throw CommandLineSecrets.$ofCamera.withValue(all) {
            ValidationError(RTPRecv.explanation(of: error))
          }
        }
        useless.insert(option)
      }
    }
    var arguments = camera.arguments(without: useless)
    // A camera is meant to be there all the time.
    if !camera.choosesReconnection, comesAgain { arguments.insert("--reconnect", at: 1) }
    let useful = CommandLineSecrets(arguments, transports: transports)
    return try CommandLineSecrets.$ofCamera.withValue(useful) {
      (try RTPRecv.parse(useful.arguments), useful)
    }
  }

  /// What each camera is received with, without passwords, as a file that says the same.
  var text: String {
    let page = page.map { ["\(PageOptions.name): '\($0)'"] } ?? []
    return (["version: 1"] + page + ["cameras:"] + cameras.flatMap(\.lines)).joined(
      separator: "\n")
  }
}

extension FleetPlan.Camera {
  fileprivate var lines: [String] {
    var values: [(key: String, values: [String])] = []
    // The first is what all cameras have, the last the source.
    for argument in secrets.arguments.dropFirst().dropLast() {
      let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1).map(String.init)
      guard let key = parts.first else { continue }
      let value = parts.count > 1 ? Self.quoted(parts[1]) : "true"
      if let index = values.firstIndex(where: { $0.key == key }) {
        values[index].values.append(value)
      } else {
        values.append((key, [value]))
      }
    }
    if !command.stopping.reconnect { values.insert(("reconnect", ["false"]), at: 0) }
    return ["  \(name):", "    source: \(Self.quoted(command.source))"]
      + values.map { key, values in
        let all = values.joined(separator: ", ")
        return "    \(key): \(values.count > 1 ? "[\(all)]" : all)"
      }
  }

  /// `text` as YAML reads it back: anything but letters, digits and some signs in quotation marks.
  private static func quoted(_ text: String) -> String {
    let isPlain =
      text.utf8.first != 0x2D && text != "true" && text != "false"
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
          || (0x61...0x7A).contains(byte) || [0x2D, 0x2E, 0x2F, 0x5F].contains(byte)
      }
    return isPlain ? text : text.quotedForYAML(hiding: isUnprintable)
  }

  /// Whether a terminal could be changed by it.
  private static func isUnprintable(_ scalar: Unicode.Scalar) -> Bool {
    String(scalar).printable != String(scalar)
  }
}

extension String {
  /// The path after a scheme such as `shm:`.
  fileprivate var withoutScheme: String {
    let schemes = CommandLineTool.current.outputs.formats.compactMap(\.scheme)
    let scheme = schemes.first { hasPrefix("\($0):") }
    return scheme.map { String(dropFirst($0.count + 1)) } ?? self
  }

  /// The folder of a path, if it has one; of a URL, and where its name has the time in it, `nil`.
  fileprivate var folder: String? {
    let path = withoutScheme
    guard !contains("://"), let end = path.lastIndex(of: "/"), end > path.startIndex else {
      return nil
    }
    let folder = String(path[..<end])
    return folder.contains("%") ? nil : folder
  }
}
