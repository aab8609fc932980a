import Synchronization

/// Why the runs of a camera of a fleet end, one after another, although they were to go on.
final class RunFailures: Sendable {
  /// Those of the camera whose run this is; `nil` where there is only one run.
  @TaskLocal static var ofCamera: RunFailures?

  private let latest = Mutex(RepeatedFailure())

  /// A run with media for longer than this has gone well, and whatever ends it is news.
  private static let steadiness = Duration.seconds(30)

  /// What to tell of a run that has ended because of `words`.
  ///
  /// - Parameters:
  ///   - words: the reason.
  ///   - flow: how long it has lasted, if media came.
  /// - Returns: the remark; `nil` where an earlier run of the camera told the same.
  static func remark(on words: String, after flow: Duration = .zero) -> Remark? {
    guard let camera = ofCamera else { return .error(words) }
    return camera.latest.withLock { latest in
      if flow > steadiness { latest.forget() }
      return latest.words(on: words, at: .now).map { Remark.error($0) }
    }
  }

  /// Tells it.
  static func say(_ words: String) {
    if let remark = remark(on: words) { StandardError.say(remark) }
  }
}
