import BlockingIO
import Glibc

extension FileWriter {
  /// Makes the first file of `paths`, numbered from 0, that does not exist yet: names that nobody
  /// gave replace no file.
  ///
  /// - Parameters:
  ///   - paths: the names to choose from.
  ///   - trying: called with each before it is tried.
  /// - Returns: the file, its path and its number.
  /// - Throws: ``OutputError/cannotOpen(path:errno:)``.
  static func makingFirstFree(
    of paths: (Int) -> String, trying: (String) -> Void = { _ in }
  ) throws(OutputError) -> (file: FileWriter, path: String, number: Int) {
    var number = 0
    while true {
      let path = paths(number)
      trying(path)
      do throws(WriteFailure) {
        return (try FileWriter(creating: path), path, number)
      } catch .cannotOpen(EEXIST) where number < NamePattern.mostOfOneName {
        number += 1
      } catch { throw OutputError(error, path: path) }
    }
  }
}
