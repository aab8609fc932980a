import ArgumentParser
import BlockingIO
import Glibc
import Outputs
import Receiver

struct OutputOptions: ParsableArguments {
  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: ArgumentHelp(
      """
      A file or named pipe to write, or - for standard output; repeatable. The ending chooses the \
      format: \(Self.formatNames). An existing file is replaced when the first frame comes. A .jpg or \
      .png is one intact picture. With --every there is another one each time. With %d, %05d or the \
      time in UTC such as %Y%m%dT%H%M%SZ in its name, there is one for each frame unless --every says \
      how often; --frames 1 makes it a single one. Numbers begin at 1 in each run and replace the pictures of an earlier \
      one; with --keep they go on behind the highest. jsonl is what became of each picture, for which \
      it is decoded. \(Self.schemes)
      """, valueName: "path"), completion: .file(), transform: CommandLineSecrets.path)
  var paths: [String] = []

  @Option(
    name: .customLong("format"),
    help: ArgumentHelp(
      """
      The format of outputs whose names do not say it: -, names without an ending, and those with an \
      unknown one. By default, - is y4m. There are \(Self.formatNames).
      """, valueName: "name"), completion: .list(Self.writable.map(\.name)))
  var formatName: String?

  @Flag(
    help: """
      Scale pictures to the size of the first one in outputs that cannot change their size: pipes. \
      Files continue as NAME.0001.y4m, or the next number that is free.
      """)
  var scaleToFirst = false

  @Flag(
    name: .customLong("frame-md5"),
    help: "In .jsonl, add the MD5 of each frame's samples, as ffmpeg -f framemd5 prints it.")
  var frameHashes = false

  /// The requested outputs.
  func requests() throws -> [OutputRequest] {
    try paths.map { path in
      let format = try format(of: path)
      do {
        try format.check(path)
      } catch { throw ValidationError("\(path): \(error)") }
      return OutputRequest(
        argument: path, format: format,
        // A file is slow only for moments, so nothing needs to be dropped. A reader may stop for
        // ever, and receiving must not wait for it.
        policy: format.scheme != nil || hasReader(path) ? .dropOldest : .block)
    }
  }

  func validate() throws {
    guard paths.filter({ $0 == "-" }).count < 2 else {
      throw ValidationError("standard output can be written only once")
    }
    guard formatName == nil || !paths.isEmpty else {
      throw UselessOption("--format", "needs -o").noted()
    }
    guard !scaleToFirst || !paths.isEmpty else {
      throw UselessOption("--scale-to-first", "needs -o").noted()
    }
    try checkSchemes()
    try checkEndings()
    guard !paths.contains("-") || isatty(STDOUT_FILENO) == 0 else {
      throw ValidationError("standard output is a terminal; pipe the video or give -o FILE")
    }
  }

  /// Throws if an option was typed that says how to write files and pipes, where none are written.
  private func checkSchemes() throws {
    let schemes = paths.compactMap { Self.catalogue.format(forScheme: $0)?.format.scheme }
    guard let scheme = schemes.first, schemes.count == paths.count else { return }
    let typed = [("--format", formatName != nil), ("--scale-to-first", scaleToFirst)]
    guard let option = typed.first(where: { $0.1 })?.0 else { return }
    throw UselessOption(
      option,
      "has no effect with \(scheme):, which is no file or pipe; there are --pixel-format and --size"
    ).noted()
  }

  /// Throws if `--format` names none, or changes nothing and is not what the names say either.
  private func checkEndings() throws {
    guard let formatName, let format = try namedFormat() else { return }
    let named = paths.map { path in
      (Self.format(saidBy: path) ?? Self.catalogue.format(forScheme: path)?.format).map {
        (path, $0)
      }
    }
    guard !named.contains(where: { $0 == nil }),
      let other = named.compactMap(\.self).first(where: { $0.1.name != format.name })
    else { return }
    throw ValidationError(
      "--format \(formatName) has no effect: '\(other.0)' says another format, and --format is for "
        + "names that say none; leave one of the two out")
  }

  /// The format that the ending of `path` names; `nil` for `-` and where it names none.
  private static func format(saidBy path: String) -> OutputFormat? {
    path == "-" ? nil : catalogue.format(forPath: path)
  }

  /// The format that `--format` names; `nil` without it.
  private func namedFormat() throws -> OutputFormat? {
    try formatName.map { name in
      guard let format = Self.catalogue.format(named: name) else {
        throw ValidationError("no format named '\(name)'; there are \(Self.formatNames)")
      }
      return format
    }
  }

  private func format(of path: String) throws -> OutputFormat {
    if let (format, rest) = Self.catalogue.format(forScheme: path) {
      guard !rest.isEmpty else { throw ValidationError("'\(path)' lacks a path: \(path)PATH") }
      return format
    }
    try Self.checkIsNoStream(path)
    if let format = Self.format(saidBy: path) { return format }
    if let format = try namedFormat() { return format }
    if FileIdentity.isFolder(path) {
      throw ValidationError("'\(path)' is a folder; name a file in it")
    }
    // It describes itself.
    guard path == "-", let format = Self.catalogue.format(named: "y4m") else {
      throw ValidationError(
        "cannot tell the format of '\(path)' by its ending; say --format \(Self.formatNames)")
    }
    return format
  }

  /// Throws if `path` is a URL, which may have a password and is not shown.
  private static func checkIsNoStream(_ path: String) throws {
    let scheme = path.prefix { $0.isLetter || $0.isNumber || $0 == "+" }
    guard path.dropFirst(scheme.count).hasPrefix("://") else { return }
    let schemes = catalogue.formats.compactMap(\.scheme).map { "\($0):" }
    throw ValidationError(
      "\(scheme):// is no output; there are files, pipes, \(schemes.joined(separator: ", ")); "
        + "to pass pictures on: -o - --format h264 | rtp-send - udp://HOST:PORT")
  }

  private func hasReader(_ path: String) -> Bool {
    var status = stat()
    let isKnown =
      path == "-" ? unsafe fstat(STDOUT_FILENO, &status) == 0 : unsafe stat(path, &status) == 0
    return isKnown && [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
  }

  private static var catalogue: OutputCatalogue { CommandLineTool.current.outputs }
  /// The outputs that an argument's scheme names, in a sentence each.
  private static var schemes: String {
    catalogue.formats.compactMap { format in
      format.scheme.map { "\($0):PATH is \(format.summary)." }
    }.joined(separator: " ")
  }

  static var formatNames: String { writable.map(\.name).joined(separator: ", ") }

  /// What can be written to a file or a pipe.
  private static var writable: [OutputFormat] {
    catalogue.formats.filter { $0.scheme == nil }
  }
}
