import BlockingIO
import Glibc

extension FileWriter {
  /// Makes the first file of `paths`, numbered from 0, that does not exist yet: names that nobody
  /// gave replace no file.
  ///
  /// - Parameters:
  ///   - paths: the names to choose from.
  ///   - pattern: whose names they are, if folders may have to be made for them.
  ///   - trying: called with each before it is tried.
  /// - Returns: the file, its path and its number.
  /// - Throws: ``OutputError/cannotOpen(path:errno:)`` or ``OutputError/inUse``.
  static func makingFirstFree(
    of paths: (Int) -> String, in pattern: NamePattern? = nil,
    trying: (String) -> Void = { _ in }
  ) throws(OutputError) -> (file: FileWriter, path: String, number: Int) {
    var number = 0
    while true {
      let path = paths(number)
      trying(path)
      do throws(WriteFailure) {
        let make = { () throws(WriteFailure) in
          try FileWriter(creating: path, isLocked: pattern == nil)
        }
        let file = if let pattern { try pattern.making(path, make) } else { try make() }
        return (file, path, number)
      } catch .cannotOpen(EEXIST) where number < NamePattern.mostOfOneName,
        .inUse where number < NamePattern.mostOfOneName
      {
        number += 1
      } catch { throw OutputError(error, path: path) }
    }
  }
}
