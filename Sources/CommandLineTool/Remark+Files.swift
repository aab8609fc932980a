import Outputs

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
      self.init("\(file.path) ends after \(length): \(file.ending.reason.words)\(rest)")
    case .fileFailed(let path, let error):
      self = .warning(error.words(about: path) + "; the next file is tried")
    case .soundLeftOut(let reason):
      self = .warning("the sound cannot be recorded: \(reason)")
    case .filesDeleted(let count, let bytes):
      guard isVerbose else { return nil }
      let size = (Double(bytes) / 1e6).formatted(digits: 1)
      self.init("deleted \(count.counted("old file")) of \(size) MB")
    case .filesNotDeleted(let number):
      self = .warning("old files cannot be deleted: \(OutputError.reason(number))")
    }
  }
}
