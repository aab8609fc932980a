import ArgumentParser
import Outputs
import Receiver

struct RecordingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Begin a new file of a recording (mp4, mkv, ts) with the first key picture after this time, or of \
      sound (wav, aac, opus): 90s, 10m, 1h. The name gets the time of the first picture in UTC, NAME-20261123T101500Z.mp4, or \
      contains it where it says: cam-%Y%m%dT%H%M%SZ.mp4. No file is overwritten.
      """, valueName: "time"), transform: TimeSpan.read)
  var segment: TimeSpan?

  @Option(
    help: ArgumentHelp(
      """
      Delete the oldest files of a recording that are older than a time (7d), that are more than some \
      bytes together (500GB), or that leave less than some bytes free (free=20GB); several, with \
      commas. Needs --segment or a time in the name.
      """, valueName: "limit[,limit...]"), transform: RetentionList.read)
  var keep: [RetentionList] = []

  /// Which part of --segment the first file of a run lasts.
  @TaskLocal static var firstShare = 1.0

  func validate() throws {
    let limits = keep.flatMap(\.limits)
    for (place, limit) in limits.enumerated() {
      guard let other = limits[..<place].first(where: { $0.isLike(limit) }) else { continue }
      throw ValidationError(
        "--keep: \(other.text) and \(limit.text) contradict each other; say one of them")
    }
  }

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
      request.recording.firstSegment = segment.map { $0.duration * Self.firstShare }
      request.recording.retention = keep.flatMap(\.limits).map(\.rule)
      return request
    }
    if segment != nil, planned.allSatisfy({ $0.recording.segment == nil }) {
      throw UselessOption(
        "--segment",
        "has no effect without a recording in a file; try -o NAME.mp4, .mkv, .ts or .wav"
      ).noted()
    }
    if !keep.isEmpty, planned.allSatisfy({ $0.recording.name == nil }) {
      throw UselessOption(
        "--keep",
        "has no effect on one file; it needs --segment, or a name with the time such as "
          + "cam-%Y%m%dT%H%M%SZ.mp4"
      ).noted()
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
