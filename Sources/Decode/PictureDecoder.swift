import Bitstream
import BlockingIO
import CFFmpeg
import Defragment
import Glibc
import NIOCore
import RTPWire

/// libavcodec, opened for one codec and used by one thread: access units in, frames and failures
/// out.
///
/// Nothing waits unless the stream reorders, or threads have a picture each
/// (``ThreadUse/pictures(_:)``). Each picture is taken where it was decoded (``PictureBuffers``)
/// and released when its turn is certain (``OutputOrder``).
@safe final class PictureDecoder {
  let codec: VideoCodec
  let threads: ThreadUse
  /// For how many nanoseconds it has worked, since any point in time.
  ///
  /// Without threads of libavcodec it is what this thread has computed: where a processor is shared
  /// with others, more threads would not help. Otherwise it is the time in libavcodec, which waits
  /// for its threads.
  var workingTime: Int64 { threads == .one ? computingTime() : libraryTime }
  private var libraryTime: Int64 = 0
  /// Whether parts of the pictures can be decoded at the same time.
  private(set) var hasParts = false
  /// Whether fields come in access units of their own.
  private(set) var hasFields = false
  private let configuration: VideoDecoder.Configuration
  private let context: CodecContext
  private let buffers: PictureBuffers
  /// What libavcodec's threads still have, in decoding order.
  private var inside = CircularBuffer<Inside>()
  /// `nil` when pictures are output in decoding order.
  private var reader: (any PictureReading)?
  private var order = OutputOrder<DecodedPicture>()
  private var timeline = PictureTimeline()
  /// The first field of a frame, until the second comes in the next access unit (H.264 §7.4.1.2.4);
  /// in H.265 every field is a frame.
  private var field: DecodedPicture?
  /// libavcodec's H.265 decoder does not notice that a slice ends early.
  private let endsCutSlices: Bool
  private var conceals: Bool { configuration.lossTreatment == .conceal }
  private let pool = FramePool()
  private let onFrame: @Sendable (RawFrame) -> Void
  private let onFailure: @Sendable (DecodeFailure) -> Void
  private var start: RandomAccessWait
  private var propagation: ErrorPropagation
  /// `nil` when nothing has to be made up, or libavcodec does it well.
  private var standIns: StandIns?
  /// The last intact frame, if it may have to be repeated.
  private var lastIntact: RawFrame?
  private var hashCheck = PictureHashCheck()

  /// An access unit that was given to libavcodec.
  private struct Inside {
    /// `nil` for what is decoded without output.
    var unit: AccessUnit?
    var order: PictureOrder?
    /// Its place in output order.
    var position = 0
    var picture: BegunPicture?
    var hash: PictureHash?
    /// Nanoseconds.
    var decodingTime: Int64 = 0
  }

  /// Opens the decoder that `codec` names.
  ///
  /// - Throws: ``DecoderError``.
  init(
    codec: VideoCodec, configuration: VideoDecoder.Configuration, threads: ThreadUse,
    memory: SharedPictures? = nil, onFrame: @escaping @Sendable (RawFrame) -> Void,
    onFailure: @escaping @Sendable (DecodeFailure) -> Void
  ) throws(DecoderError) {
    let conceals = configuration.lossTreatment == .conceal
    let prediction = conceals ? PicturePrediction() : nil
    guard !conceals || prediction != nil else { throw .outOfMemory }
    self.codec = codec
    self.threads = threads
    self.configuration = configuration
    start = RandomAccessWait(configuration)
    propagation = ErrorPropagation(conceals: conceals)
    buffers = PictureBuffers(
      prediction: prediction,
      allocatesMissing: codec.decoderTraits.contains(.allocatesMissingLater),
      fillsMissing: threads.delay == 0, memory: memory)
    context = try CodecContext(codec, configuration, threads, buffers)
    reader = codec.makeReader?()
    self.onFrame = onFrame
    self.onFailure = onFailure
    endsCutSlices = conceals && codec.decoderTraits.contains(.missesCutSlices)
    standIns =
      conceals && threads.delay == 0 && codec.decoderTraits.contains(.misplacesMotion)
      ? StandIns() : nil
  }

  /// Decodes one access unit.
  ///
  /// All resulting callbacks come before this returns, unless threads have a picture each: then
  /// those of an earlier unit do.
  func decode(_ unit: AccessUnit) {
    let place = reader?.order(of: unit.units.map { unit.bytes(of: $0) })
    hasParts = place?.hasParts ?? hasParts
    hasFields = hasFields || place?.field != nil
    if let format = unit.format,
      format.width > configuration.maximumPixels / max(1, format.height)
    {
      awaitRandomAccess()
      return fail(unit, .rejectedSize(width: format.width, height: format.height))
    }
    guard start.admits(unit, at: place) else {
      takeParameterSets(of: unit)
      return fail(unit, .noRandomAccessPoint)
    }
    let additions = standIns?.additions(to: unit) ?? StandIns.Additions()
    for picture in additions.pictures { decode(hidden: picture) }
    guard
      context.fill(
        from: unit, beginning: additions.beginning.map { (bytes: $0.bytes, slice: $0.slice) },
        endsCutSlices: endsCutSlices)
    else {
      awaitRandomAccess()
      return fail(unit, .outOfMemory)
    }
    start.noteDecoding(of: unit, at: place)
    let isDamaged = unit.integrity == .damaged
    let position = reader == nil || place != nil ? timeline.position(of: place) : 0
    buffers.begin(
      treatment(of: unit, place), at: position,
      isBehindLoss: unit.integrity != .whole || !unit.gaps.isEmpty,
      madeUpBlock: additions.beginning?.side)
    // libavcodec's own concealment follows neither shakes nor fades, and spreads the motion of
    // moving blocks over still ones. So it is used for unforeseen errors only: wrong bits.
    context.conceals = !(isDamaged && conceals)
    decodePacket(
      of: Inside(unit: unit, order: place, position: position, hash: hash(in: unit)))
  }

  /// What is done about parts of `unit` that are missing.
  private func treatment(of unit: AccessUnit, _ place: PictureOrder?) -> PictureBuffers.Treatment {
    guard conceals, unit.integrity == .damaged else { return .none }
    // A second field refers to the first one, and other threads to what this one has decoded.
    let isReferredTo =
      threads.delay > 0 || unit.format?.mayHaveFields == true || place?.field != nil
    return isReferredTo ? .fillBefore : .repair
  }

  /// Decodes `unit` without output, so that those behind its leading pictures can be decoded;
  /// `sets` are the parameter sets that came before.
  func adopt(_ unit: AccessUnit, behind sets: [ByteBuffer]) {
    note(sets)
    let units = unit.units.map { unit.bytes(of: $0) }
    let place = reader?.order(of: units)
    decode(hidden: sets + units)
    start.noteDecoding()
    // Those behind it refer to an intact picture.
    _ = propagation.record(of: unit, at: place, lacksKeyPicture: start.lacksKeyPicture)
  }

  /// Goes on where `former` ended.
  func inherit(from former: PictureDecoder) {
    lastIntact = former.lastIntact
    (hasParts, hasFields) = (former.hasParts, former.hasFields)
  }

  /// Takes parameter sets that came before the first access unit.
  func take(parameterSets units: [ByteBuffer]) {
    note(units)
    if !units.isEmpty { decode(hidden: units) }
  }

  private func note(_ sets: [ByteBuffer]) {
    for set in sets {
      reader?.take(parameterSet: set)
      standIns?.take(parameterSet: set)
    }
  }

  /// Gives the decoder the parameter sets of a unit that is not decoded; they may not come again.
  private func takeParameterSets(of unit: AccessUnit) {
    guard let reader else { return }
    let sets = unit.units.filter { reader.isParameterSet($0.type) }
    if !sets.isEmpty { decode(hidden: sets.map { unit.bytes(of: $0) }) }
  }

  /// Decodes the filled packet, and takes what is finished then: the same, or with threads that
  /// have a picture each an earlier one.
  private func decodePacket(of given: Inside) {
    let begin = Instant.now
    let code = context.decodePacket()
    buffers.finish()
    let time = begin.nanoseconds(to: .now)
    libraryTime = libraryTime.addingSaturating(time)
    var given = given
    given.picture = buffers.takeBegun()
    given.decodingTime = time
    inside.append(given)
    guard inside.count > threads.delay, let finished = inside.popFirst() else { return }
    take(finished, code: code)
  }

  /// Takes what libavcodec has finished.
  private func take(_ finished: Inside, code: Int32) {
    guard let unit = finished.unit else { return }
    var record = propagation.record(
      of: unit, at: finished.order, lacksKeyPicture: start.lacksKeyPicture)
    record.origin?.decodingTime = finished.decodingTime
    take(
      finished.picture, of: record, at: finished.order, position: finished.position, code: code,
      hash: finished.hash)
  }

  /// Takes the picture that was decoded for the unit of `record`, if any.
  private func take(
    _ begun: BegunPicture?, of record: UnitRecord, at place: PictureOrder?, position: Int,
    code: Int32, hash: PictureHash?
  ) {
    if let frame = unsafe begun?.take(from: pool) {
      finishField(isBehindLoss: record.isBehindLoss)
      let picture = unsafe DecodedPicture(frame, from: pool, of: record, order: place)
      noteErrors(in: picture, code: code)
      check(picture, against: hash)
      unsafe buffers.prediction?.remember(picture.frame, at: position)
      if place?.field != nil { field = picture } else { insert(picture) }
    } else if let first = field, let place, let parity = place.field,
      parity.opposite == first.order?.field
    {
      field = nil
      // With threads, the structure of the first field is another one's by now.
      if threads.delay == 0 { unsafe buffers.update(first.frame) }
      first.complete(with: record, order: place)
      noteErrors(in: first, code: code)
      insert(first)
    } else {
      if code < 0 { propagation.noteError(in: record.dependency) }
      onFailure(
        record.failure(
          code < 0 ? .decoder(code: code, text: libavErrorText(code)) : .noPicture))
    }
  }

  /// Notes decoding errors in `picture`, although all of its packets came.
  private func noteErrors(in picture: DecodedPicture, code: Int32) {
    let hasErrors = unsafe code < 0 || picture.frame.pointee.decode_error_flags != 0
    guard hasErrors else { return }
    if code < 0 || picture.unit.condition == .intact && picture.unit.dependency.isReference {
      propagation.noteError(in: picture.unit.dependency)
    }
    picture.unit.note(.concealed, .wrongBits)
  }

  /// The hash that came with the picture; `nil` if there is none or the picture is damaged anyway.
  private func hash(in unit: AccessUnit) -> PictureHash? {
    guard unit.integrity != .damaged else { return nil }
    return reader?.hash(of: unit.units.map { unit.bytes(of: $0) })
  }

  /// Notes wrong samples in a picture whose packets all came.
  private func check(_ picture: DecodedPicture, against hash: PictureHash?) {
    guard let hash, picture.unit.condition == .intact,
      unsafe hashCheck.differs(picture.frame, from: hash, at: picture.unit.lastArrival)
    else { return }
    propagation.noteError(in: picture.unit.dependency)
    picture.unit.note(.concealed, .wrongHash)
  }

  /// Completes a frame whose second field did not come.
  private func finishField(isBehindLoss: Bool) {
    guard let first = field else { return }
    field = nil
    first.fillMissingField()
    if isBehindLoss { first.unit.note(.concealed, .lostField) }
    insert(first)
  }

  private func insert(_ picture: DecodedPicture) {
    let unit = picture.unit
    order.insert(
      picture,
      at: picture.order.map {
        OutputOrder.Place(order: $0, time: unit.time.ticks, isBehindLoss: unit.isBehindLoss)
      })
    while let next = order.next() { show(next) }
  }

  /// Outputs every remaining picture; decoding restarts at a random-access point.
  func flush() {
    finishThreads()
    finishField(isBehindLoss: false)
    order.close()
    while let next = order.next() { show(next) }
    context.flush()
    awaitRandomAccess()
  }

  /// Waits for libavcodec's threads, and takes what they have.
  ///
  /// A packet without a picture takes the place of each, so that errors are told one by one.
  private func finishThreads() {
    let delimiter = ByteBuffer(bytes: codec.accessUnitDelimiter)
    while inside.contains(where: { $0.unit != nil }), decode(hidden: [delimiter]) {}
    for unit in inside.compactMap(\.unit) { fail(unit, .outOfMemory) }
    inside.removeAll()
  }

  private func awaitRandomAccess() {
    finishThreads()
    start.restart()
    propagation.restart()
    standIns?.forgetPictures()
    reader?.restart()
  }

  /// Decodes NAL units without output: pictures of our own making, or parameter sets.
  ///
  /// - Returns: whether there was memory for them.
  @discardableResult
  private func decode(hidden units: [ByteBuffer]) -> Bool {
    guard context.fill(from: units) else { return false }
    buffers.begin(.none)
    decodePacket(of: Inside())
    return true
  }

  /// Reports what is still inside as discarded by closing.
  func close() {
    for unit in inside.compactMap(\.unit) { fail(unit, .closed) }
    inside.removeAll()
    if let field { onFailure(field.unit.failure(.closed)) }
    field = nil
    order.close()
    while let next = order.next() { onFailure(next.unit.failure(.closed)) }
  }

  func fail(_ unit: AccessUnit, _ reason: DecodeFailure.Reason) {
    onFailure(UnitRecord(unit, condition: .damaged).failure(reason))
  }

  private func show(_ picture: DecodedPicture) {
    let unit = picture.unit
    guard picture.order?.isShown != false else { return onFailure(unit.failure(.notShown)) }
    let frame = unsafe picture.takeFrame()
    if unsafe frame.pointee.sample_aspect_ratio.num == 0 {
      unsafe frame.pointee.sample_aspect_ratio = context.sampleAspectRatio
    }
    guard
      let raw = unsafe RawFrame(
        taking: frame, from: pool, of: unit, codedFrameRate: context.frameRate)
    else {
      unsafe pool.recycle(frame)
      return onFailure(unit.failure(.unknownPixelFormat))
    }
    let isGood = raw.condition == .intact || unit.isGood
    switch configuration.lossTreatment {
    case .conceal, .corrupt: onFrame(raw)
    case .skip:
      guard isGood else { return onFailure(unit.failure(.notIntact)) }
      onFrame(raw)
    case .freeze:
      if isGood { lastIntact = raw }
      let shown = isGood ? raw : lastIntact.flatMap { RawFrame(repeating: $0, for: unit) }
      guard let shown else { return onFailure(unit.failure(.notIntact)) }
      onFrame(shown)
    }
  }
}

/// How many nanoseconds this thread has computed.
private func computingTime() -> Int64 {
  var time = timespec()
  unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// libav's text for one of its error codes.
package func libavErrorText(_ code: Int32) -> String {
  var text = [CChar](repeating: 0, count: Int(AV_ERROR_MAX_STRING_SIZE))
  unsafe text.withUnsafeMutableBufferPointer { buffer in
    _ = unsafe av_strerror(code, buffer.baseAddress, buffer.count)
  }
  return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}
