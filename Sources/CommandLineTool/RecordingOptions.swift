import ArgumentParser
import Outputs
import Receiver

struct RecordingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Begin a new file of a recording (mp4, mkv, ts) with the first key picture after this time: 90s, \
      10m, 1h. The name gets the time of the first picture in UTC, NAME-20261123T101500Z.mp4, or \
      contains it where it says: cam-%Y%m%dT%H%M%SZ.mp4. No file is overwritten.
      """, valueName: "time"))
  var segment: TimeSpan?

  @Option(
    help: ArgumentHelp(
      """
      Delete the oldest files of a recording that are older than a time (7d), that are more than some \
      bytes together (500GB), or that leave less than some bytes free (free=20GB); several, with \
      commas. Needs --segment or a time in the name.
      """, valueName: "limit[,limit...]"))
  var keep: [RetentionList] = []

  /// `requests` with what these options say of recordings.
  ///
  /// - Throws: that an option has no effect, or that a name cannot be used.
  func applied(to requests: [OutputRequest]) throws -> [OutputRequest] {
    let planned = try requests.map { request in
      guard request.format.isRecording, let path = request.path else { return request }
      var request = request
      do {
        if NamePattern.isPattern(path) {
          request.recording.name = try NamePattern(path, allowsNumbers: false)
        } else if segment != nil {
          request.recording.name = NamePattern(piecesOf: path)
        }
      } catch { throw ValidationError("\(path): \(error)") }
      request.recording.segment = segment?.duration
      request.recording.retention = keep.flatMap(\.rules)
      return request
    }
    if segment != nil, planned.allSatisfy({ $0.recording.segment == nil }) {
      throw ValidationError(
        "--segment has no effect without a recording in a file; try -o NAME.mp4, .mkv or .ts")
    }
    if !keep.isEmpty, planned.allSatisfy({ $0.recording.name == nil }) {
      throw ValidationError(
        "--keep has no effect on one file; it needs --segment, or a name with the time such as "
          + "cam-%Y%m%dT%H%M%SZ.mp4")
    }
    return planned
  }
}

extension OutputRequest {
  /// The path of a file; `nil` for a pipe.
  fileprivate var path: String? {
    guard case .path(let path) = target, !FileIdentity.isPipe(path) else { return nil }
    return path
  }
}

/// Limits of what is kept, with commas between them.
struct RetentionList: ExpressibleByArgument {
  private static let units: [(name: String, bytes: Int64)] = [
    ("kB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("B", 1),
  ]

  let rules: [RetentionRule]

  init?(argument: String) {
    var rules: [RetentionRule] = []
    for limit in argument.split(separator: ",", omittingEmptySubsequences: false) {
      guard let rule = Self.rule(String(limit)) else { return nil }
      rules.append(rule)
    }
    self.rules = rules
  }

  private static func rule(_ text: String) -> RetentionRule? {
    if let time = TimeSpan(argument: text) { return .age(time.duration) }
    if text.hasPrefix("free=") { return bytes(String(text.dropFirst(5))).map { .free($0) } }
    return bytes(text).map { .bytes($0) }
  }

  private static func bytes(_ text: String) -> Int64? {
    guard let unit = units.first(where: { text.hasSuffix($0.name) }),
      let count = Int64(text.dropLast(unit.name.count)), count > 0
    else { return nil }
    let (product, overflow) = count.multipliedReportingOverflow(by: unit.bytes)
    return overflow ? nil : product
  }
}
