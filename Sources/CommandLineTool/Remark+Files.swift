import Outputs
import RTPWire
import Transports

extension Remark {
  /// What `event` says to a person; `nil` for what is told with `--verbose` only.
  init?(_ event: OutputEvent, isVerbose: Bool) {
    switch event {
    case .fileEnded(let file):
      let frames =
        file.ending.isSoundOnly
        ? file.ending.frames.counted("piece") + " of sound"
        : file.ending.frames.counted("picture")
      let length = "\(file.ending.duration.formatted(digits: 1)) s, \(frames)"
      let leftOut = file.ending.leftOut
      let rest =
        leftOut > 0
        ? "; \(leftOut.counted("picture")) at its start left out, which \(leftOut == 1 ? "refers" : "refer") "
          + "to the file before" : ""
      guard file.ending.reason != .end else {
        guard isVerbose || leftOut > 0 else { return nil }
        self.init("\(file.path) is complete: \(length)\(rest)")
        return
      }
      self.init("\(file.path) ends after \(length): \(Self.reason(of: file.ending))\(rest)")
    case .continued(let path):
      self.init("what follows is in \(path)")
    case .fileFailed(let path, let error):
      self = .warning(Verdict.explanation(of: error, about: path) + "; the next file is tried")
    case .soundLeftOut(let reason):
      self = .warning("the sound cannot be recorded: \(reason)")
    case .soundConverted(let change):
      self.init(
        change.from == change.to
          ? "the sound is a kind of \(change.from) that \(change.container) cannot hold; it is "
            + "encoded anew"
          : "the sound is \(change.from), which \(change.container) cannot hold; it is recorded "
            + "as \(change.to)")
    case .keyPicturesRare(let distance, let segment):
      self.init(
        "key pictures come \(distance.formatted(digits: 1)) s apart, which is longer than --segment "
          + "says (\(Self.seconds(segment)) s): files begin with key pictures")
    case .clockRunsWrong(let pace, let clockRate):
      self = .warning(
        "pictures come \(abs(100 * (pace - 1)).formatted(digits: 1)) % more "
          + (pace < 1
            ? "slowly than their times say, so recordings play too fast"
            : "quickly than their times say, so recordings play too slowly")
          + "; if the sender's clock is always wrong, --clock-rate \(clockRate) mends that")
    case .changesTooOften:
      self = .warning(
        "the stream changes so often that parts of it are left out: after 64 files in a row, one a "
          + "second is begun")
    case .picturesTooOften:
      self = .warning(
        "the sender's clock runs so far ahead that pictures are left out: after 64 in a row, there "
          + "is one in the time that --every says")
    case .filesDeleted(let count, let bytes):
      guard isVerbose else { return nil }
      let size = (Double(bytes) / 1e6).formatted(digits: 1)
      self.init("deleted \(count.counted("old file")) of \(size) MB")
    case .filesNotDeleted(let number):
      self = .warning("old files cannot be deleted: \(OutputError.reason(number))")
    case .noRoomForFiles:
      self = .warning(
        "what --keep says leaves no room for a single file; the newest one is kept all the same")
    case .reached(let whom, let isReached):
      self =
        isReached
        ? Remark("\(whom) is there again")
        : .warning("\(whom) is away; what it cannot take is left out up to a key picture")
    case .refused(let whom, let reason, let isLeftOut):
      self = .warning(
        "\(whom) refuses \(isLeftOut ? "a part, which is left out" : "what it gets"): \(reason)"
          + (isLeftOut ? "" : "; it is tried again each second"))
    }
  }

  private static func reason(of ending: FileEnding) -> String {
    guard ending.reason == .time else { return ending.reason.words }
    guard let segment = ending.segment, !ending.isSoundOnly else {
      return "the file is as long as --segment says"
    }
    return "the next begins with the first key picture after \(seconds(segment)) s"
  }

  private static func seconds(_ time: Duration) -> String {
    time.seconds.formatted(digits: time.seconds == time.seconds.rounded() ? 0 : 1)
  }
}

extension String {
  /// This path of an output as messages call it.
  var shownPath: String { self == "-" ? "standard output" : self }
}
