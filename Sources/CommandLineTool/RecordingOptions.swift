import ArgumentParser
import BlockingIO
import Outputs
import Receiver

struct RecordingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Begin a new file of a recording (mp4, mkv, ts) with the first key picture after this time, or of \
      sound (wav, aac, opus): 90s, 10m, 1h. The name gets the time of the first picture in UTC, NAME-20261123T101500Z.mp4, or \
      contains it where it says: cam-%Y%m%dT%H%M%SZ.mp4. So may folders, which are made: %F/cam-%H%M%SZ.mp4. No file \
      is overwritten.
      """, valueName: "time"), transform: TimeSpan.read)
  var segment: TimeSpan?

  @Option(
    help: ArgumentHelp(
      """
      Delete the oldest files of a recording, or of many pictures: those that are older than a time \
      (7d) by their time of last change, that are more than some bytes together (500GB), or that \
      leave less than some bytes free (free=20GB); several, with commas. A recording needs \
      --segment or a time in its name.
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
    let rules = keep.flatMap(\.limits).map(\.rule)
    let planned = try requests.map { request in
      guard let path = request.path else { return request }
      var request = request
      if request.isOfManyPictures { request.pictures.retention = rules }
      guard request.format.isRecording else { return request }
      do {
        let isTimed = NamePattern.isInTimedFolder(path)
        if NamePattern.isPattern(path) || (isTimed && segment == nil) {
          request.recording.name = try NamePattern(path, allowsNumbers: false)
        } else if segment != nil {
          request.recording.name = NamePattern(piecesOf: path)
        }
      } catch { throw ValidationError("\(path): \(error)") }
      request.recording.segment = segment?.duration
      request.recording.firstSegment = segment.map { $0.duration * Self.firstShare }
      request.recording.retention = rules
      return request
    }
    if segment != nil, planned.allSatisfy({ $0.recording.segment == nil }) {
      throw UselessOption(
        "--segment",
        "has no effect without a recording in a file; try -o NAME.mp4, .mkv, .ts or .wav"
      ).noted()
    }
    if !keep.isEmpty,
      planned.allSatisfy({ $0.recording.name == nil && $0.pictures.retention.isEmpty })
    {
      throw UselessOption(
        "--keep",
        "has no effect on one file; a recording needs --segment, or a name with the time such as "
          + "cam-%Y%m%dT%H%M%SZ.mp4, and pictures need --every or such a name"
      ).noted()
    }
    return planned
  }
}

extension OutputRequest {
  /// Whether there is a file for each of its pictures.
  fileprivate var isOfManyPictures: Bool {
    guard format.samples == .own, let path else { return false }
    let name = try? NamePattern(path, allowsNumbers: true)
    return pictures.interval != nil || name?.isSingle == false
  }

  /// The path of a file; `nil` for a pipe.
  fileprivate var path: String? {
    guard case .path(let path) = target, !FileIdentity.isPipe(path) else { return nil }
    return path
  }
}
