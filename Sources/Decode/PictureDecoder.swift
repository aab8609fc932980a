import Bitstream
import CFFmpeg
import Defragment
import NIOCore
import RTPWire

/// libavcodec, opened for one codec and used by one thread: access units in, frames and failures out.
///
/// Nothing is held back that the stream does not reorder: one thread or slice threads (frame threads
/// would each add a frame of delay), and every packet is followed by taking out all that is ready.
@safe final class PictureDecoder {
  /// How far encoders reorder in practice: B pictures that refer to one another in two layers.
  private static let pyramidDepth: Int32 = 2

  /// `nal_unit_type` of coded slices in H.264 (§7.4.1), all that a second field consists of.
  private static let sliceTypes: ClosedRange<UInt8> = 1...5

  /// What stands behind a slice of H.265 that is cut, so that decoding ends there.
  ///
  /// libavcodec would go on with zeros, which are the likeliest symbols of all, to the end of the picture.
  /// Ones are the unlikeliest: some value soon makes no sense, if not before then where a row of coding
  /// tree blocks begins with an arithmetic codeword of its own.
  private static let cutSliceEnd = [0] + [UInt8](repeating: 0xFF, count: 4095)

  let codec: VideoCodec
  private let configuration: VideoDecoder.Configuration
  private let context: UnsafeMutablePointer<AVCodecContext>
  private let packet: UnsafeMutablePointer<AVPacket>
  private let pictures: TrackedPictures
  /// libavcodec's H.264 decoder gives one frame for two fields that come in two access units (H.264
  /// §7.4.1.2.4); in H.265 every field is a frame of its own.
  private let joinsFields: Bool
  /// libavcodec's H.265 decoder does not notice that a slice ends early.
  private let endsCutSlices: Bool
  private var conceals: Bool { configuration.lossTreatment == .conceal }
  private let pool = FramePool()
  private let onFrame: @Sendable (RawFrame) -> Void
  private let onFailure: @Sendable (DecodeFailure) -> Void
  private var format: FormatDescription?
  private var awaitsRandomAccess = true
  private var trail = DamageTrail()
  /// The same where about right is right.
  private var approximateTrail = DamageTrail(acceptsApproximation: true)
  /// `nil` where nothing is made up, or libavcodec does it well.
  private var standIns: StandIns?
  /// The last one that came out, where it may have to come again.
  private var lastIntact: RawFrame?
  /// Pictures are shown that libavcodec keeps back.
  private var isInPlaceOfDecoder = false {
    didSet { pictures.ledger.holdsPictures = isInPlaceOfDecoder }
  }
  /// False until the first unit after the start, a flush or a change of format.
  private var hasDecoded = false

  /// Opens the decoder that `codec` names.
  ///
  /// - Throws: ``DecoderError``.
  init(
    codec: VideoCodec, configuration: VideoDecoder.Configuration,
    onFrame: @escaping @Sendable (RawFrame) -> Void,
    onFailure: @escaping @Sendable (DecodeFailure) -> Void
  ) throws(DecoderError) {
    // libav would write to standard error, from a place that no caller can reach.
    av_log_set_level(AV_LOG_QUIET)
    guard VideoDecoder.allowedDecoders.contains(codec.decoderName),
      let decoder = unsafe avcodec_find_decoder_by_name(codec.decoderName)
    else { throw .unsupportedCodec(codec) }
    guard let context = unsafe avcodec_alloc_context3(decoder) else { throw .outOfMemory }
    let conceals = configuration.lossTreatment == .conceal
    let prediction = conceals ? PicturePrediction() : nil
    guard let packet = unsafe av_packet_alloc(), !conceals || prediction != nil else {
      var context: UnsafeMutablePointer<AVCodecContext>? = unsafe context
      unsafe avcodec_free_context(&context)
      throw .outOfMemory
    }
    self.codec = codec
    self.configuration = configuration
    unsafe self.context = context
    unsafe self.packet = packet
    let isH264 = unsafe decoder.pointee.id == AV_CODEC_ID_H264
    pictures = TrackedPictures(prediction: prediction, allocatesMissing: !isH264)
    self.onFrame = onFrame
    self.onFailure = onFailure
    joinsFields = isH264
    endsCutSlices = !isH264 && conceals
    standIns = !isH264 && conceals ? StandIns() : nil

    unsafe context.pointee.thread_type = FF_THREAD_SLICE
    unsafe context.pointee.thread_count = Int32(clamping: max(1, configuration.sliceThreads))
    unsafe context.pointee.max_pixels = Int64(configuration.maximumPixels)
    // Pictures with missing parts come out as decoded and marked; withholding them is the caller's.
    unsafe context.pointee.flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT
    // Without this, a left crop that is not a multiple of the SIMD alignment is rounded down and the
    // picture comes out wider than the stream says.
    unsafe context.pointee.flags |= AV_CODEC_FLAG_UNALIGNED
    unsafe context.pointee.export_side_data = 0
    unsafe pictures.attach(to: context)
    let code = unsafe avcodec_open2(context, decoder, nil)
    guard code >= 0 else { throw .cannotOpen(code: code, text: libavErrorText(code)) }
    unsafe pictures.interpose(in: context)
  }

  deinit {
    var packet: UnsafeMutablePointer<AVPacket>? = unsafe packet
    unsafe av_packet_free(&packet)
    var context: UnsafeMutablePointer<AVCodecContext>? = unsafe context
    unsafe avcodec_free_context(&context)
  }

  /// Decodes one access unit; every callback it leads to comes before this returns.
  func decode(_ unit: AccessUnit) {
    if let format = unit.format {
      guard format.width <= configuration.maximumPixels / max(1, format.height) else {
        awaitRandomAccess()
        return fail(unit, .rejectedSize(width: format.width, height: format.height))
      }
      if unit.isRandomAccess, format != self.format { begin(format) }
    }
    guard unit.isRandomAccess || !awaitsRandomAccess else {
      return fail(unit, .noRandomAccessPoint)
    }
    let additions = standIns?.additions(to: unit) ?? StandIns.Additions()
    for picture in additions.pictures { decode(standIn: picture) }
    guard fillPacket(from: unit, beginning: additions.beginning?.bytes) else {
      awaitRandomAccess()
      return fail(unit, .outOfMemory)
    }
    awaitsRandomAccess = false
    var condition = trail.condition(of: unit)
    if condition == .concealed, !conceals { condition = .damaged }
    var record = UnitRecord(unit, condition: condition)
    record.isGood = approximateTrail.condition(of: unit) == .intact

    let depth = unsafe context.pointee.has_b_frames
    let hasSlices = unit.units.contains { Self.sliceTypes.contains($0.type) }
    let index = pictures.ledger.begin(
      record, canCompleteFrame: joinsFields && hasSlices)
    unsafe packet.pointee.pts = index
    let isDamaged = unit.integrity == .damaged
    pictures.begin(isDamaged: isDamaged, madeUpBlock: additions.beginning?.side)
    // libavcodec's own concealment spreads the motion of what moves over what stands still, so it is
    // left to what nobody saw coming: bits that are wrong.
    unsafe context.pointee.error_concealment =
      isDamaged && conceals ? 0 : FF_EC_GUESS_MVS | FF_EC_DEBLOCK
    let sent = unsafe avcodec_send_packet(context, packet)
    unsafe av_packet_unref(packet)
    pictures.restoreBlock()
    let received = receiveAll()
    deliverWithheld(isIntact: condition == .intact)
    let code = sent < 0 ? sent : received
    let error: DecodeFailure.Reason? =
      code < 0 ? .decoder(code: code, text: libavErrorText(code)) : nil
    if error != nil { noteError(in: record.dependency) }
    pictures.ledger.end(error: error).forEach(onFailure)
    deepenReordering(from: depth)
  }

  /// Shows what libavcodec would not, behind an IDR picture that did not come; and then what it keeps
  /// until the next one, in its turn.
  private func deliverWithheld(isIntact: Bool) {
    guard !isIntact || isInPlaceOfDecoder else { return }
    deliverWithheld(beyond: unsafe Int(context.pointee.has_b_frames))
    if isIntact, pictures.isWaitingInDecoder { isInPlaceOfDecoder = false }
  }

  private func deliverWithheld(beyond depth: Int) {
    while let index = pictures.ledger.withheld(beyond: depth) {
      if let frame = unsafe pictures.take(index) {
        isInPlaceOfDecoder = true
        unsafe frame.pointee.pts = index
        unsafe deliver(frame, isTaken: true)
      } else {
        // Where that was not begun, libavcodec may give it out yet.
        guard isInPlaceOfDecoder else { return }
        pictures.ledger.giveUp(index)
      }
    }
  }

  /// Takes out every frame that is left, after which decoding begins anew at a random-access point.
  func flush() {
    drain()
    format = nil
    awaitRandomAccess()
  }

  private func awaitRandomAccess() {
    awaitsRandomAccess = true
    trail = DamageTrail()
    approximateTrail = DamageTrail(acceptsApproximation: true)
    standIns?.forgetPictures()
  }

  private func noteError(in dependency: PictureDependency) {
    trail.noteError(in: dependency)
    approximateTrail.noteError(in: dependency)
  }

  /// Decodes a picture that never came, from NAL units of our own making; it is not shown.
  private func decode(standIn units: [ByteBuffer]) {
    let stream = AnnexB.stream(of: units)
    guard let size = Int32(exactly: stream.readableBytes), unsafe av_new_packet(packet, size) >= 0
    else { return }
    unsafe stream.withUnsafeReadableBytes { bytes in
      unsafe UnsafeMutableRawBufferPointer(start: packet.pointee.data, count: bytes.count)
        .copyMemory(from: bytes)
    }
    unsafe packet.pointee.pts = cffmpeg_no_timestamp()
    pictures.ledger.beginStandIn()
    pictures.begin(isDamaged: false)
    unsafe avcodec_send_packet(context, packet)
    unsafe av_packet_unref(packet)
    _ = receiveAll()
  }

  /// Reports what is still inside as lost to closing.
  func close() { pictures.ledger.endAll(reason: .closed).forEach(onFailure) }

  func fail(_ unit: AccessUnit, _ reason: DecodeFailure.Reason) {
    onFailure(UnitRecord(unit, condition: .damaged).failure(reason))
  }

  /// Ends the pictures of the old format, if there was one, and expects those of `format`.
  private func begin(_ format: FormatDescription) {
    // Left to itself, libavcodec would carry the old stream's reorder depth over, and give the last
    // old pictures only when as many new ones have come.
    if self.format != nil { drain() }
    self.format = format
    if let depth = format.reorderDepth {
      unsafe context.pointee.has_b_frames = Int32(clamping: depth)
    }
  }

  /// Makes room for a B pyramid as soon as a stream that does not say how far it reorders turns out
  /// to reorder at all.
  ///
  /// Without `max_num_reorder_frames` (H.264 §E.2.1) libavcodec assumes none, and learns one step at
  /// a time; each step after the first would cost a picture that comes too late. What the stream does
  /// say is known after the first picture.
  private func deepenReordering(from before: Int32) {
    let after = unsafe context.pointee.has_b_frames
    if hasDecoded, format?.reorderDepth == nil, after > before {
      unsafe context.pointee.has_b_frames = max(after, Self.pyramidDepth)
    }
    hasDecoded = true
  }

  private func drain() {
    unsafe avcodec_send_packet(context, nil)
    _ = receiveAll()
    if isInPlaceOfDecoder { deliverWithheld(beyond: 0) }
    isInPlaceOfDecoder = false
    unsafe avcodec_flush_buffers(context)
    // The depth that libavcodec learnt belongs to the stream that has ended.
    unsafe context.pointee.has_b_frames = 0
    hasDecoded = false
    pictures.ledger.endAll(reason: .notShown).forEach(onFailure)
  }

  /// Copies the unit, with `beginning` before its first slice, to where libavcodec may read past its end.
  private func fillPacket(from unit: AccessUnit, beginning: ByteBuffer?) -> Bool {
    let cut = endsCutSlices ? unit.units.filter { !$0.isWhole } : []
    let beginning = beginning.map { AnnexB.stream(of: [$0]) } ?? ByteBuffer()
    let length =
      unit.bytes.readableBytes + beginning.readableBytes + cut.count * Self.cutSliceEnd.count
    guard let size = Int32(exactly: length), unsafe av_new_packet(packet, size) >= 0,
      let data = unsafe packet.pointee.data
    else { return false }
    let target = unsafe UnsafeMutableRawBufferPointer(start: data, count: length)
    unsafe unit.bytes.withUnsafeReadableBytes { source in
      var (read, written) = (0, 0)
      func copy(upTo end: Int) {
        let piece = unsafe UnsafeRawBufferPointer(rebasing: source[read..<end])
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[written...]).copyMemory(from: piece)
        (read, written) = (end, written + piece.count)
      }
      if beginning.readableBytes > 0, let first = unit.units.first(where: { $0.type < 32 }) {
        copy(upTo: min(max(first.offset - AnnexB.startCode.count, 0), source.count))
        unsafe beginning.withUnsafeReadableBytes { bytes in
          unsafe UnsafeMutableRawBufferPointer(rebasing: target[written...]).copyMemory(from: bytes)
          written += bytes.count
        }
      }
      for entry in cut {
        copy(upTo: min(max(entry.offset + entry.length, read), source.count))
        unsafe UnsafeMutableRawBufferPointer(rebasing: target[written...])
          .copyBytes(from: Self.cutSliceEnd)
        written += Self.cutSliceEnd.count
      }
      copy(upTo: source.count)
    }
    return true
  }

  /// - Returns: 0, or libav's error.
  private func receiveAll() -> Int32 {
    while true {
      guard let frame = unsafe pool.take() else { return cffmpeg_error_out_of_memory() }
      let code = unsafe avcodec_receive_frame(context, frame)
      guard code >= 0 else {
        unsafe pool.recycle(frame)
        let isEmpty = code == cffmpeg_error_again() || code == cffmpeg_error_end_of_file()
        return isEmpty ? 0 : code
      }
      unsafe deliver(frame)
    }
  }

  private func deliver(_ frame: UnsafeMutablePointer<AVFrame>, isTaken: Bool = false) {
    let index = unsafe frame.pointee.pts
    unsafe pictures.detach(from: frame)
    // What libavcodec gives out now may not be the next one to be shown.
    if isInPlaceOfDecoder, !isTaken, unsafe pictures.keep(frame, of: index) { return }
    let unit = isTaken ? pictures.ledger.take(index) : pictures.ledger.frameOut(index)
    unsafe pictures.prediction?.remember(frame)
    guard let unit else { return unsafe pool.recycle(frame) }
    let rate = Rational(unsafe context.pointee.framerate)
    guard let raw = unsafe RawFrame(taking: frame, from: pool, of: unit, codedFrameRate: rate)
    else {
      unsafe pool.recycle(frame)
      return pictures.ledger.frameRefused(index, .unknownPixelFormat)
    }
    if raw.condition == .concealed, unit.condition == .intact,
      pictures.ledger.spreadError(from: index, in: unit.dependency)
    {
      noteError(in: unit.dependency)
    }
    let isGood = raw.condition == .intact || unit.isGood && raw.condition == unit.condition
    switch configuration.lossTreatment {
    case .conceal, .corrupt: onFrame(raw)
    case .skip:
      guard isGood else { return pictures.ledger.frameRefused(index, .notIntact) }
      onFrame(raw)
    case .freeze:
      if isGood { lastIntact = raw }
      let shown = isGood ? raw : lastIntact.flatMap { RawFrame(repeating: $0, for: unit) }
      guard let shown else { return pictures.ledger.frameRefused(index, .notIntact) }
      onFrame(shown)
    }
  }
}

/// libav's words for one of its error codes.
func libavErrorText(_ code: Int32) -> String {
  var text = [CChar](repeating: 0, count: Int(AV_ERROR_MAX_STRING_SIZE))
  unsafe text.withUnsafeMutableBufferPointer { buffer in
    _ = unsafe av_strerror(code, buffer.baseAddress, buffer.count)
  }
  return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}
