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

  private let path: String
  private let timeBase: AVRational
  /// What the index of the file says.
  private let indexed: KnownVideo
  /// The same, and what the pictures so far have.
  private var known: KnownVideo
  private var filter: UnsafeMutablePointer<AVBSFContext>?
  private var packet: UnsafeMutablePointer<AVPacket>?
  private var lastTicks: Int64?
  /// Whether the times of the file say when pictures are shown, as those of AVI never do, whatever
  /// libavformat makes of them.
  private let mayTellPresentation: Bool
  /// Whether any time did.
  private var tellsPresentation = false
  /// Otherwise the pictures themselves say it.
  private var reader: any PictureReading
  private var delay = DisplayDelay()

  /// The time of one picture in 90 kHz ticks.
  private var interval: Int64 { Int64(90_000 / max(1, guessedRate)) }

  /// Reads `stream` of `input`, which people know as `path`.
  init(
    _ stream: UnsafeMutablePointer<AVStream>, of input: UnsafeMutablePointer<AVFormatContext>,
    path: String
  ) throws(SendError) {
    self.path = path
    guard let parameters = unsafe stream.pointee.codecpar else { throw .noVideo(path: path) }
    let identifier = unsafe parameters.pointee.codec_id
    switch identifier {
    case AV_CODEC_ID_H264: codec = .h264
    case AV_CODEC_ID_HEVC: codec = .h265
    default:
      let name = unsafe String(cString: avcodec_get_name(identifier))
      throw .unsupportedCodec(path: path, codec: name)
    }
    known = KnownVideo(codec)
    reader = codec.pictureReader
    let format = unsafe input.pointee.iformat.map { unsafe String(cString: $0.pointee.name) }
    mayTellPresentation = format != "avi"
    let rate = unsafe av_guess_frame_rate(input, stream, nil)
    frameRate = rate.num > 0 && rate.den > 0 ? Double(rate.num) / Double(rate.den) : nil
    unsafe timeBase = stream.pointee.time_base

    let filterName = codec == .h264 ? "h264_mp4toannexb" : "hevc_mp4toannexb"
    var code = unsafe av_bsf_alloc(av_bsf_get_by_name(filterName), &filter)
    guard code >= 0, let filter = unsafe filter else {
      throw .cannotOpen(path: path, reason: Libav.reason(code))
    }
    code = unsafe avcodec_parameters_copy(filter.pointee.par_in, parameters)
    unsafe filter.pointee.time_base_in = stream.pointee.time_base
    if code >= 0 { code = unsafe av_bsf_init(filter) }
    guard code >= 0, let described = unsafe filter.pointee.par_out else {
      throw .cannotOpen(path: path, reason: Libav.reason(code))
    }
    let sets = unsafe UnsafeRawBufferPointer(
      start: described.pointee.extradata, count: max(0, Int(described.pointee.extradata_size)))
    for set in unsafe AnnexB.units(in: ByteBuffer(bytes: sets)) { known.take(set) }
    indexed = known
    unsafe packet = av_packet_alloc()
    guard unsafe packet != nil else { throw .cannotOpen(path: path, reason: "out of memory") }
  }

  deinit {
    unsafe av_packet_free(&packet)
    unsafe av_bsf_free(&filter)
  }

  /// Takes a packet of the stream, or the end; pull with ``next()`` afterwards.
  ///
  /// A malformed packet is refused, and false is returned.
  func take(_ packet: UnsafeMutablePointer<AVPacket>?) -> Bool {
    unsafe av_bsf_send_packet(filter, packet) >= 0
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
    unsafe av_bsf_flush(filter)
    (lastTicks, known) = (nil, indexed)
    reader.restart()
    delay = DisplayDelay()
  }

  /// What the packets so far have; nothing yet until more come.
  func next() throws(SendError) -> Supply<SourceAccessUnit> {
    while let filter = unsafe filter, let packet = unsafe packet {
      let received = unsafe av_bsf_receive_packet(filter, packet)
      if received == cffmpeg_error_end_of_file() { return .end }
      if received == cffmpeg_error_again() { return .nothingYet }
      if received >= 0 {
        defer { unsafe av_packet_unref(packet) }
        if let unit = unsafe accessUnit(packet.pointee, filter.pointee.time_base_out) {
          return .next(unit)
        }
      } else if received != cffmpeg_error_invalid_data() {
        throw .unreadable(path: path, reason: Libav.reason(received))
      }
    }
    return .end
  }

  private func accessUnit(_ packet: AVPacket, _ timeBase: AVRational) -> SourceAccessUnit? {
    let bytes = unsafe UnsafeRawBufferPointer(start: packet.data, count: max(0, Int(packet.size)))
    var units = unsafe AnnexB.units(in: ByteBuffer(bytes: bytes))
    guard !units.isEmpty else { return nil }
    for unit in units { known.take(unit) }
    let isKey = unsafe packet.flags & AV_PKT_FLAG_KEY != 0
    let isRandomAccess = isKey || units.contains(where: codec.isRandomAccess)
    // The filter looks only at the lengths. Samsung's slow motion has one length for a whole
    // picture, with start codes in it, and a key picture in it stays without the sets of the index.
    // A stream without key pictures needs the sets too.
    if isRandomAccess || lastTicks == nil { units = known.completed(units) }
    func ticks(_ time: Int64) -> Int64? {
      time == cffmpeg_no_timestamp()
        ? nil : av_rescale_q(time, timeBase, Self.ticksPerSecond)
    }
    let presentation = unsafe mayTellPresentation ? ticks(packet.pts) : nil
    if presentation != nil { tellsPresentation = true }
    let decoding = self.decoding(unsafe ticks(packet.dts), presentation)
    lastTicks = decoding
    return SourceAccessUnit(
      units: units, presentationTicks: presentation ?? shown(units, decodedAt: decoding),
      decodingTicks: decoding, isRandomAccess: isRandomAccess)
  }

  /// When a picture is shown whose packet does not say it.
  private func shown(_ units: [ByteBuffer], decodedAt decoding: Int64) -> Int64 {
    guard !tellsPresentation else { return decoding }
    let order = reader.order(of: units)
    let fields = delay.next(order, fields: order?.field == nil ? 2 : 1)
    return decoding.addingSaturating(Int64(fields) * interval / 2)
  }

  /// When the picture is sent: its decoding time if the file has one, and never decreasing.
  private func decoding(_ read: Int64?, _ presentation: Int64?) -> Int64 {
    guard let lastTicks else { return read ?? presentation ?? 0 }
    // Matroska has no decoding times, and libavformat does not guess those of the first pictures.
    guard let read else { return lastTicks.addingSaturating(interval) }
    return max(lastTicks, read)
  }
}
