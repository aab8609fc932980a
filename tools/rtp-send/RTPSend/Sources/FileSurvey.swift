/// What a server needs to know of a file before anybody asks for a part of it.
public struct FileSurvey: Sendable {
  /// The time of the file that clients call 0, in nanoseconds.
  var start: Int64 = 0
  /// Nanoseconds from there to the end.
  public internal(set) var duration: Int64
  /// Where an elementary stream can be read from; a file with an index of its own needs none.
  var groups: [Group] = []

  /// A group of pictures, which begins with a key picture.
  struct Group: Sendable, Hashable {
    /// In the file.
    var offset: Int64
    /// The fields of all groups before.
    var fieldsBefore: Int64
  }

  /// Looks through a file; an elementary stream is read to its end.
  ///
  /// - Throws: ``SendError`` when the file cannot be opened.
  public init(ofFile path: String, framesPerSecond: Double?) throws {
    self = try MediaFile.survey(path: path, framesPerSecond: framesPerSecond)
  }

  init(start: Int64, duration: Int64, groups: [Group] = []) {
    self.start = start
    self.duration = duration
    self.groups = groups
  }
}
