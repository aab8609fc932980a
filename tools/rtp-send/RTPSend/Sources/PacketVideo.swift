import Bitstream
import CAVFormat
import CFFmpeg
import NIOCore
import RTPWire

/// The packets of a stream of video that libavformat reads, as access units: as Annex B whatever
/// the file stores.
@safe final class PacketVideo {
  let codec: Codec
  /// Frames per second according to libavformat, where it knows them.
  let frameRate: Double?
  /// The same, otherwise 25.
  var guessedRate: Double { frameRate ?? 25 }

  private static let ticksPerSecond = AVRational(num: 1, den: 90_000)

  private let timeBase: AVRational
  /// How the samples are stored, and what the header of the file says.
  private var configuration: DecoderConfiguration
  /// The sets that hold for the present picture.
  private var known: KnownVideo
  /// Whether a picture has had those of the header with it.
  private var hasSentHeader = false
  /// Pictures that wait until it is known when they are sent.
  private var waiting = CircularBuffer<ReadPicture>()
  private var hasEnded = false
  /// What is added to decoding times, where they say when pictures are sent.
  private var compositionDelay: CompositionDelay?
  private var lastTicks: Int64?
  /// Whether the times of the file say when pictures are shown, as those of AVI never do, whatever
  /// libavformat makes of them.
  private let mayTellPresentation: Bool
  /// Whether any time did.
  private var tellsPresentation = false
  /// Otherwise the pictures themselves say it.
  private var reader: any PictureReading
  private var delay = DisplayDelay()

  /// A picture as the file has it.
  private struct ReadPicture {
    var units: [ByteBuffer]
    var isRandomAccess: Bool
    /// In ticks.
    var presentation: Int64?
    var decoding: Int64?
    /// The header that holds from here on, where it is another one.
    var header: DecoderConfiguration?
  }

  /// The time of one picture in 90 kHz ticks.
  private var interval: Int64 { Int64(90_000 / max(1, guessedRate)) }

  /// Reads `stream` of `input`, which people know as `path`.
  ///
  /// If it `isPaced`, times say when pictures are sent, and some are read ahead for that; otherwise
  /// each comes out at once.
  init(
    _ stream: UnsafeMutablePointer<AVStream>, of input: UnsafeMutablePointer<AVFormatContext>,
    path: String, isPaced: Bool
  ) throws(SendError) {
    guard let parameters = unsafe stream.pointee.codecpar else { throw .noVideo(path: path) }
    let identifier = unsafe parameters.pointee.codec_id
    switch identifier {
    case AV_CODEC_ID_H264: codec = .h264
    case AV_CODEC_ID_HEVC: codec = .h265
    default:
      let name = unsafe String(cString: avcodec_get_name(identifier))
      throw .unsupportedCodec(path: path, codec: name)
    }
    let header = unsafe UnsafeRawBufferPointer(
      start: parameters.pointee.extradata, count: max(0, Int(parameters.pointee.extradata_size)))
    let read = unsafe DecoderConfiguration(header: ByteBuffer(bytes: header), of: codec)
    guard let read else {
      throw .cannotOpen(
        path: path, reason: "its \(codec == .h264 ? "avcC" : "hvcC") header is malformed")
    }
    configuration = read
    known = KnownVideo(codec, read)
    reader = codec.pictureReader
    let format = unsafe input.pointee.iformat.map { unsafe String(cString: $0.pointee.name) }
    mayTellPresentation = format != "avi"
    let rate = unsafe av_guess_frame_rate(input, stream, nil)
    frameRate = rate.num > 0 && rate.den > 0 ? Double(rate.num) / Double(rate.den) : nil
    unsafe timeBase = stream.pointee.time_base
    if isPaced, mayTellPresentation { compositionDelay = CompositionDelay() }
  }

  /// Takes a packet of the stream; pull with ``next()`` afterwards.
  ///
  /// One that is malformed is left out.
  func take(_ packet: UnsafeMutablePointer<AVPacket>) {
    let header = unsafe header(of: packet)
    if let header { configuration = header }
    let sample = unsafe UnsafeRawBufferPointer(
      start: packet.pointee.data, count: max(0, Int(packet.pointee.size)))
    let units = unsafe configuration.units(of: ByteBuffer(bytes: sample)) ?? []
    guard !units.isEmpty else { return }
    let (flags, decoding) = unsafe (packet.pointee.flags, ticks(packet.pointee.dts))
    let presentation = unsafe mayTellPresentation ? ticks(packet.pointee.pts) : nil
    // libavformat looks only at the lengths, and sees no key picture in one of Samsung's slow
    // motion, which has start codes in it.
    let isRandomAccess =
      flags & AV_PKT_FLAG_KEY != 0 || units.contains(where: codec.isRandomAccess)
    compositionDelay?.note(presentation: presentation, decoding: decoding)
    waiting.append(
      ReadPicture(
        units: units, isRandomAccess: isRandomAccess, presentation: presentation,
        decoding: decoding, header: header))
  }

  /// Says that no packet follows.
  func finish() {
    hasEnded = true
    compositionDelay?.settle()
  }

  /// The header that holds from a packet on: an MP4 may have several (`stsd`), and FLV repeats its
  /// own.
  private func header(of packet: UnsafeMutablePointer<AVPacket>) -> DecoderConfiguration? {
    var size = 0
    let bytes = unsafe av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size)
    guard let bytes = unsafe bytes, size > 0 else { return nil }
    let header = unsafe ByteBuffer(bytes: UnsafeRawBufferPointer(start: bytes, count: size))
    return DecoderConfiguration(header: header, of: codec)
  }

  private func ticks(_ time: Int64) -> Int64? {
    time == cffmpeg_no_timestamp() ? nil : av_rescale_q(time, timeBase, Self.ticksPerSecond)
  }

  /// Has `input`, whose stream of this index it reads, go on at `ticks` or before.
  func seek(
    to ticks: Int64, in input: UnsafeMutablePointer<AVFormatContext>, _ index: Int32
  ) {
    let time = av_rescale_q(ticks, Self.ticksPerSecond, timeBase)
    // A file without an index is read from its beginning where it cannot be read from there.
    if unsafe av_seek_frame(input, index, time, AVSEEK_FLAG_BACKWARD) < 0 {
      _ = unsafe av_seek_frame(input, index, 0, AVSEEK_FLAG_BACKWARD | AVSEEK_FLAG_BYTE)
    }
    waiting.removeAll()
    (lastTicks, hasSentHeader, hasEnded) = (nil, false, false)
    known = KnownVideo(codec, configuration)
    reader.restart()
    delay = DisplayDelay()
  }

  /// What the packets so far have; nothing yet until more come.
  func next() -> Supply<SourceAccessUnit> {
    guard compositionDelay?.isKnown ?? true, let picture = waiting.popFirst() else {
      return hasEnded ? .end : .nothingYet
    }
    return .next(accessUnit(picture))
  }

  private func accessUnit(_ picture: ReadPicture) -> SourceAccessUnit {
    if let header = picture.header {
      known.take(header)
      hasSentHeader = false
    }
    for unit in picture.units { known.take(unit) }
    var units = picture.units
    // A stream without key pictures needs the sets too.
    if picture.isRandomAccess || lastTicks == nil {
      units = known.completed(units, isFirst: !hasSentHeader)
      hasSentHeader = true
    }
    if picture.presentation != nil { tellsPresentation = true }
    let decoding = decoding(picture)
    lastTicks = decoding
    return SourceAccessUnit(
      units: units, presentationTicks: picture.presentation ?? shown(units, decodedAt: decoding),
      decodingTicks: decoding, isRandomAccess: picture.isRandomAccess)
  }

  /// When a picture is shown whose packet does not say it.
  private func shown(_ units: [ByteBuffer], decodedAt decoding: Int64) -> Int64 {
    guard !tellsPresentation else { return decoding }
    let order = reader.order(of: units)
    let fields = delay.next(order, fields: order?.field == nil ? 2 : 1)
    return decoding.addingSaturating(Int64(fields) * interval / 2)
  }

  /// When a picture is sent: its decoding time if the file has one, as late as all pictures allow,
  /// and never decreasing.
  private func decoding(_ picture: ReadPicture) -> Int64 {
    let read = picture.decoding?.addingSaturating(compositionDelay?.ticks ?? 0)
    guard let lastTicks else { return read ?? picture.presentation ?? 0 }
    // Matroska has no decoding times, and libavformat does not guess those of the first pictures.
    guard let read else { return lastTicks.addingSaturating(interval) }
    return max(lastTicks, read)
  }
}
