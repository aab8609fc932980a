import Bitstream
import NIOCore

/// Finds what is known of a writer's video in another file: one that was closed, or one that holds
/// the parameter sets alone.
enum ParameterSetFile {
  /// How much of an elementary stream is searched.
  private static let searchedLength = 1 << 20
  /// The most boxes before the index.
  private static let mostBoxes = 1 << 16

  /// Reads the file at `path`.
  ///
  /// - Throws: ``SendError`` when it cannot be read, or has no parameter sets.
  static func read(_ path: String) throws(SendError) -> KnownVideo {
    let file = try OpenFile(path: path)
    var known = try index(of: file)
    if known == nil { known = try elementaryStream(file) }
    if let known, known.isDecodable { return known }
    throw .cannotOpen(
      path: path, reason: "it has no parameter sets: neither an MP4's index nor an Annex B stream's"
    )
  }

  /// What the `moov` box of a file says, where there is one.
  static func index(of file: OpenFile) throws(SendError) -> KnownVideo? {
    let size = file.status.size
    var offset: UInt64 = 0
    for _ in 0..<mostBoxes where offset < size {
      guard let header = BoxHeader(try file.read(at: offset, 16)),
        BoxHeader.topLevel.contains(header.type), !header.isOpenEnded,
        header.length >= UInt64(header.size)
      else { return nil }
      if header.type == "moov" {
        guard header.length <= MP4Growth.longestIndex else { return nil }
        let length = Int(header.length) - header.size
        let body = try file.read(at: offset + UInt64(header.size), length)
        guard body.readableBytes == length else { return nil }
        return (try? MovieIndex(body))?.video
      }
      let (next, overflow) = offset.addingReportingOverflow(header.length)
      if overflow { return nil }
      offset = next
    }
    return nil
  }

  private static func elementaryStream(_ file: OpenFile) throws(SendError) -> KnownVideo? {
    var splitter = AnnexBSplitter()
    splitter.append(try file.read(at: 0, searchedLength))
    var known: KnownVideo?
    while let unit = splitter.next() ?? splitter.finish() {
      if known == nil {
        let header = unit.getBytes(at: unit.readerIndex, length: min(2, unit.readableBytes)) ?? []
        known = Codec(firstUnit: header).map { KnownVideo($0) }
      }
      known?.take(unit)
    }
    return known
  }
}
