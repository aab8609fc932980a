/// Why something that the command itself writes cannot be written: the statistics, a capture or a
/// list.
struct CannotWrite: Error, CustomStringConvertible {
  let description: String
  /// What a run ends with because of it.
  var status = ExitStatus.outputFailed
}
