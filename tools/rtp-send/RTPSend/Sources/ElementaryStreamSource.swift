import Bitstream
import CAVFormat
import CFFmpeg
import NIOCore
import RTPWire

/// An Annex B file, cut into access units, with presentation times from the order of display.
///
/// Such a file has no clock: pictures are decoded at a constant rate. Their order of display
/// follows from their picture order counts, which restart with each key picture, so each group of
/// pictures is read to its end first.
@safe final class ElementaryStreamSource: VideoSource {
  let codec: Codec

  /// Bytes read at a time.
  private static let readLength = 1 << 16
  /// The most pictures in a group, so that a file with a single key picture is not read as a whole.
  private static let longestGroup = 600

  private let path: String
  private let ticksPerField: Double
  private var file: UnsafeMutablePointer<AVIOContext>?
  private var splitter = AnnexBSplitter()
  private var grouper: AccessUnitGrouper
  private var chunk = [UInt8](repeating: 0, count: readLength)
  private var isAtEnd = false

  private var group: [AccessUnitGrouper.Group] = []
  private var ready = CircularBuffer<SourceAccessUnit>()
  private var fieldsBefore: Int64 = 0

  init(path: String, codec: Codec, framesPerSecond: Double) throws(SendError) {
    self.path = path
    self.codec = codec
    grouper = AccessUnitGrouper(codec)
    ticksPerField = 45_000 / (framesPerSecond > 0 ? framesPerSecond : FramePace.usualRate)
    let opened = unsafe avio_open(&file, MediaFile.url(ofPath: path), AVIO_FLAG_READ)
    guard opened >= 0 else { throw .cannotOpen(path: path, reason: Libav.reason(opened)) }
  }

  deinit { unsafe _ = avio_closep(&file) }

  func next() throws -> Supply<SourceAccessUnit> {
    while ready.isEmpty {
      guard let picture = try nextGroup() else {
        if group.isEmpty { return .end }
        closeGroup()
        continue
      }
      let begins = picture.isRandomAccess || picture.order?.beginsSequence == true
      if begins || group.count == Self.longestGroup { closeGroup() }
      group.append(picture)
    }
    return ready.popFirst().map { .next($0) } ?? .end
  }

  /// Gives the pictures of the group their times: decoding in file order, display by order count.
  private func closeGroup() {
    var counts: [Int] = []
    for picture in group {
      // A picture whose header cannot be read is shown after the one before it.
      counts.append(picture.order?.count ?? counts.last ?? 0)
    }
    var shownAt = [Int64](repeating: 0, count: group.count)
    var shown = fieldsBefore
    for index in group.indices.sorted(by: { (counts[$0], $0) < (counts[$1], $1) }) {
      shownAt[index] = shown
      shown += group[index].fields
    }
    for (picture, shown) in zip(group, shownAt) {
      ready.append(
        SourceAccessUnit(
          units: picture.units, presentationTicks: ticks(shown),
          decodingTicks: ticks(fieldsBefore), isRandomAccess: picture.isRandomAccess))
      fieldsBefore += picture.fields
    }
    group.removeAll()
  }

  private func ticks(_ fields: Int64) -> Int64 {
    Int64(exactly: (Double(fields) * ticksPerField).rounded()) ?? .max
  }

  /// The next access unit of the file, or `nil` at its end.
  private func nextGroup() throws(SendError) -> AccessUnitGrouper.Group? {
    while true {
      while let unit = splitter.next() {
        if let ended = grouper.take(unit, at: splitter.offset) { return ended }
      }
      if isAtEnd {
        if let unit = splitter.finish(), let ended = grouper.take(unit, at: splitter.offset) {
          return ended
        }
        return grouper.finish()
      }
      try read()
    }
  }

  var frameRate: Double? { 45_000 / ticksPerField }

  /// Reads the rest of the file; returns where its groups begin, and how long it lasts.
  func survey() throws(SendError) -> FileSurvey {
    var groups: [FileSurvey.Group] = []
    var fields: Int64 = 0
    while let picture = try nextGroup() {
      if picture.isRandomAccess {
        groups.append(FileSurvey.Group(offset: picture.offset, fieldsBefore: fields))
      }
      fields += picture.fields
    }
    let nanoseconds = MediaClock.video.nanoseconds(of: ticks(fields))
    return FileSurvey(start: 0, duration: nanoseconds, groups: groups)
  }

  func seek(to ticks: Int64, in survey: FileSurvey) throws {
    // The first picture of a group is decoded when the one before it has been.
    let group =
      survey.groups.last { self.ticks($0.fieldsBefore) <= ticks }
      ?? FileSurvey.Group(offset: 0, fieldsBefore: 0)
    guard unsafe avio_seek(file, group.offset, SEEK_SET) >= 0 else {
      throw SendError.unreadable(path: path, reason: "it cannot be read from another place")
    }
    splitter = AnnexBSplitter(at: group.offset)
    grouper.restart()
    fieldsBefore = group.fieldsBefore
    self.group.removeAll()
    ready.removeAll()
    isAtEnd = false
  }

  private func read() throws(SendError) {
    let count = unsafe avio_read(file, &chunk, Int32(Self.readLength))
    if count == cffmpeg_error_end_of_file() || count == 0 {
      isAtEnd = true
    } else if count < 0 {
      throw .unreadable(path: path, reason: Libav.reason(count))
    } else {
      splitter.append(ByteBuffer(bytes: chunk[..<Int(count)]))
    }
  }
}
