import ArgumentParser
import Transports

/// The cameras of a file, each with the command that receives it; all of them are right.
struct FleetPlan: Sendable {
  struct Camera: Sendable {
    let name: String
    let secrets: CommandLineSecrets
    let command: RTPRecv
  }

  let cameras: [Camera]
  let warnings: [String]

  /// Reads the file at `path`.
  init(at path: String) throws(FleetFile.Fault) {
    let file = try FleetFile(at: path)
    var cameras: [Camera] = []
    var warnings: [String] = []
    /// The cameras that write files.
    var writers: [FileIdentity: String] = [:]
    for entry in file.cameras {
      let secrets: CommandLineSecrets
      let command: RTPRecv
      do {
        (command, secrets) = try Self.command(entry)
      } catch {
        let words = RTPRecv.message(for: error)
        throw FleetFile.Fault(
          path: path, place: entry.place(ofOptionIn: words),
          words: "camera '\(entry.name)': \(words)")
      }
      for written in command.writtenPaths {
        guard let identity = FileIdentity(written, standard: -1) else {
          throw FleetFile.Fault(
            path: path, place: entry.place,
            words: "camera '\(entry.name)': a fleet has no standard output; name a file")
        }
        if let other = writers.updateValue(entry.name, forKey: identity) {
          throw FleetFile.Fault(
            path: path, place: entry.place,
            words: "camera '\(entry.name)' and camera '\(other)' both write \(written)")
        }
      }
      if secrets.original(of: command.source) != command.source {
        warnings.append(
          "\(path):\(entry.place): the password of camera '\(entry.name)' is in the file; "
            + "try password-file")
      }
      cameras.append(
        Camera(name: entry.name, secrets: secrets, command: command))
    }
    self.cameras = cameras
    self.warnings = warnings
  }

  /// The command line of a camera, if it is right, without what its kind of source has no use for.
  private static func command(
    _ camera: FleetFile.Camera
  ) throws -> (RTPRecv, CommandLineSecrets) {
    let transports = CommandLineTool.current.transports
    let all = CommandLineSecrets(
      camera.arguments(), defaults: camera.defaultOptions, transports: transports)
    let useless = try CommandLineSecrets.$ofCamera.withValue(all) {
      let command = try RTPRecv.parse(all.arguments)
      try command.check()
      return try command.useless(among: camera.defaultOptions)
    }
    let useful = CommandLineSecrets(camera.arguments(without: useless), transports: transports)
    return try CommandLineSecrets.$ofCamera.withValue(useful) {
      (try RTPRecv.parse(useful.arguments), useful)
    }
  }

  /// What each camera is received with, without passwords, as a file that says the same.
  var text: String {
    (["version: 1", "cameras:"] + cameras.flatMap(\.lines)).joined(separator: "\n")
  }
}

extension FleetPlan.Camera {
  fileprivate var lines: [String] {
    var values: [(key: String, values: [String])] = []
    // The last two are the source, and what all cameras have.
    for argument in secrets.arguments.dropLast(2) {
      let parts = argument.dropFirst(2).split(separator: "=", maxSplits: 1).map(String.init)
      guard let key = parts.first else { continue }
      let value = parts.count > 1 ? Self.quoted(parts[1]) : "true"
      if let index = values.firstIndex(where: { $0.key == key }) {
        values[index].values.append(value)
      } else {
        values.append((key, [value]))
      }
    }
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
    return isPlain ? text : "'\(text.replacing("'", with: "''"))'"
  }
}
