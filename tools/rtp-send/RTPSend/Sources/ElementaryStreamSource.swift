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
  /// libavcodec reads past the end of its input.
  private static let paddingLength = Int(AV_INPUT_BUFFER_PADDING_SIZE)

  private let path: String
  private let ticksPerField: Double
  private var file: UnsafeMutablePointer<AVIOContext>?
  private var parser: UnsafeMutablePointer<AVCodecParserContext>?
  private var context: UnsafeMutablePointer<AVCodecContext>?
  private var chunk = [UInt8](repeating: 0, count: readLength + paddingLength)
  private var unread = 0..<0
  private var isAtEnd = false

  private var group: [Coded] = []
  private var ready = CircularBuffer<SourceAccessUnit>()
  private var fieldsBefore: Int64 = 0
  /// Where in the file the parser began.
  private var parserOffset: Int64 = 0

  private struct Coded {
    var units: [ByteBuffer]
    /// Where it begins in the file.
    var offset: Int64
    var order: Int32
    /// 2 for a frame, 1 for a field.
    var fields: Int64
    var isKey: Bool
  }

  init(path: String, codec: Codec, framesPerSecond: Double) throws(SendError) {
    self.path = path
    self.codec = codec
    ticksPerField = 45_000 / (framesPerSecond > 0 ? framesPerSecond : 25)
    let opened = unsafe avio_open(&file, MediaFile.url(ofPath: path), AVIO_FLAG_READ)
    guard opened >= 0 else { throw .cannotOpen(path: path, reason: Libav.reason(opened)) }
    let identifier = codec == .h264 ? AV_CODEC_ID_H264 : AV_CODEC_ID_HEVC
    unsafe parser = av_parser_init(Int32(bitPattern: identifier.rawValue))
    unsafe context = avcodec_alloc_context3(avcodec_find_decoder(identifier))
    guard unsafe parser != nil, unsafe context != nil else {
      throw .cannotOpen(path: path, reason: "this libavcodec cannot parse \(codec.encodingName)")
    }
  }

  deinit {
    unsafe av_parser_close(parser)
    unsafe avcodec_free_context(&context)
    unsafe _ = avio_closep(&file)
  }

  func next() throws -> SourceAccessUnit? {
    while ready.isEmpty {
      guard let coded = try parse() else {
        if group.isEmpty { return nil }
        closeGroup()
        continue
      }
      if coded.isKey || group.count == Self.longestGroup { closeGroup() }
      group.append(coded)
    }
    return ready.popFirst()
  }

  /// Gives the pictures of the group their times: decoding in file order, display by order count.
  private func closeGroup() {
    var shownAt = [Int64](repeating: 0, count: group.count)
    var shown = fieldsBefore
    for index in group.indices.sorted(by: { (group[$0].order, $0) < (group[$1].order, $1) }) {
      shownAt[index] = shown
      shown += group[index].fields
    }
    for (coded, shown) in zip(group, shownAt) {
      ready.append(
        SourceAccessUnit(
          units: coded.units, presentationTicks: ticks(shown), decodingTicks: ticks(fieldsBefore),
          isRandomAccess: coded.isKey))
      fieldsBefore += coded.fields
    }
    group.removeAll()
  }

  private func ticks(_ fields: Int64) -> Int64 {
    Int64(exactly: (Double(fields) * ticksPerField).rounded()) ?? .max
  }

  /// The next access unit of the file, or `nil` at its end.
  private func parse() throws(SendError) -> Coded? {
    while let parser = unsafe parser {
      if unread.isEmpty, !isAtEnd { try read() }
      var output: UnsafeMutablePointer<UInt8>?
      var outputLength: Int32 = 0
      let isFlushing = unread.isEmpty
      let offset = unread.lowerBound
      let count = unread.count
      let consumed = unsafe chunk.withUnsafeBufferPointer { bytes in
        unsafe av_parser_parse2(
          parser, context, &output, &outputLength, bytes.baseAddress.map { unsafe $0 + offset },
          Int32(clamping: count), cffmpeg_no_timestamp(), cffmpeg_no_timestamp(), 0)
      }
      // A parser that neither takes nor gives anything would be called forever.
      let step = consumed > 0 || outputLength > 0 ? max(0, Int(consumed)) : count
      unread = min(offset + step, unread.upperBound)..<unread.upperBound
      if outputLength > 0 {
        let bytes = unsafe UnsafeRawBufferPointer(start: output, count: Int(outputLength))
        let units = unsafe AnnexB.units(in: ByteBuffer(bytes: bytes))
        if !units.isEmpty { return unsafe coded(units, parser.pointee) }
      } else if isFlushing {
        return nil
      }
    }
    return nil
  }

  private func coded(_ units: [ByteBuffer], _ parser: AVCodecParserContext) -> Coded {
    let structure = unsafe parser.picture_structure
    let isField =
      structure == AV_PICTURE_STRUCTURE_TOP_FIELD || structure == AV_PICTURE_STRUCTURE_BOTTOM_FIELD
    return unsafe Coded(
      units: units, offset: parserOffset.addingSaturating(parser.frame_offset),
      order: parser.output_picture_number, fields: isField ? 1 : 2,
      isKey: parser.key_frame == 1)
  }

  var frameRate: Double? { 45_000 / ticksPerField }

  /// Reads the rest of the file; returns where its groups begin, and how long it lasts.
  func survey() throws(SendError) -> FileSurvey {
    var groups: [FileSurvey.Group] = []
    var fields: Int64 = 0
    while let coded = try parse() {
      if coded.isKey {
        groups.append(FileSurvey.Group(offset: coded.offset, fieldsBefore: fields))
      }
      fields += coded.fields
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
    let identifier = codec == .h264 ? AV_CODEC_ID_H264 : AV_CODEC_ID_HEVC
    unsafe av_parser_close(parser)
    unsafe parser = av_parser_init(Int32(bitPattern: identifier.rawValue))
    parserOffset = group.offset
    fieldsBefore = group.fieldsBefore
    self.group.removeAll()
    ready.removeAll()
    unread = 0..<0
    isAtEnd = false
  }

  private func read() throws(SendError) {
    let count = unsafe avio_read(file, &chunk, Int32(Self.readLength))
    if count == cffmpeg_error_end_of_file() || count == 0 {
      isAtEnd = true
      unread = 0..<0
    } else if count < 0 {
      throw .unreadable(path: path, reason: Libav.reason(count))
    } else {
      unread = 0..<Int(count)
      for index in unread.upperBound..<chunk.count { chunk[index] = 0 }
    }
  }
}
