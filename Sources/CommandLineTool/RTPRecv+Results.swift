import Glibc

/// What is left of a run.
extension RTPRecv {
  /// Whether it writes nothing: no file, no frames for other programs, no result.
  var leavesNothing: Bool { writtenPaths.isEmpty && expectation.texts.isEmpty }

  /// Warns where nothing is left of the command's own run, and nobody sees it either.
  ///
  /// On a terminal people watch the live line. With `--frames` or `--duration`, the exit status is
  /// a result.
  func warnOfNothing() {
    guard leavesNothing, stopping.frames == nil, stopping.duration == nil, !display.quiet,
      !display.monitor, page.address == nil, CommandLineSecrets.ofCamera == nil,
      isatty(STDERR_FILENO) == 0
    else { return }
    StandardError.say(.warning("nothing is written; -o FILE records it"))
  }
}
