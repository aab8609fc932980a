import Bitstream
import BlockingIO
import Decode
import Defragment
import Dispatch
import Outputs
import RTPWire
import Reception
import Synchronization
import Transports

/// Hands access units, sound and frames to outputs, the decoder and the program's closures, as
/// ``Allotment`` decides.
///
/// Access units come on the event loop, frames on the decoder's thread. Neither may wait for the
/// other, so the lock around shared state is held for bookkeeping only.
final class Distribution: Sendable {
  /// What may wait for the decoder: some seconds, so that a sender's burst is not dropped.
  static let decoderQueue = QueueLimits(count: 128, bytes: 16 << 20)

  private let outputs: [RunningOutput]
  private let configuration: Receiver.Configuration
  /// The clock of the source.
  private let clock: ArrivalClock
  private let playout: Playout?
  private let end: @Sendable (EndReason) -> Void
  /// Whether nothing is taken in behind the last frame that is wanted: what is taken in of a
  /// recording, and what is counted of it, does not depend on how fast it is decoded.
  private let endsExactly: Bool
  /// Told of each access unit that the decoder is done with.
  let decoding = Activity()
  private let state: Mutex<State>

  private struct State: Sendable {
    var allotment: Allotment
    var decoder: VideoDecoder?
    /// Why nothing can be decoded, which may be known only after all has come.
    var decoderFailure: DecoderError?
    /// A process that will be the decoder's.
    var prepared: PreparedDecoderBox?
    /// Whether one is still of use: until a decoder is opened, or nothing is decoded any more.
    var awaitsProcess = true
    /// Fills the frame intervals at a constant rate.
    var constantRate: ConstantRate?
    /// The loops over frames, over access units and over sound.
    var frameTakers: [Handover<RawFrame>] = []
    var unitTakers: [Handover<AccessUnit>] = []
    var soundTakers: [Handover<SoundUnit>] = []
    /// Whether the loops have been ended: another one gets nothing any more.
    var hasEnded = false
    /// Whether outputs wait for the end of a read.
    var gathers = false
    /// Access units that the decoder got, and up to which of them it is certainly done.
    var submitted: UInt64 = 0
    var decoded: UInt64 = 0
  }

  init(
    configuration: Receiver.Configuration, clock: ArrivalClock, outputs: [RunningOutput],
    playout: Playout? = nil, end: @escaping @Sendable (EndReason) -> Void
  ) {
    self.configuration = configuration
    self.clock = clock
    self.playout = playout
    self.outputs = outputs
    self.end = end
    endsExactly = clock.waitsForDecoder && configuration.frameLimit != nil
    state = Mutex(
      State(
        allotment: Allotment(configuration, measuresLatency: clock.measuresLatency),
        constantRate: configuration.constantRate ? ConstantRate() : nil))
  }

  /// Hands every frame to `handover` from now on.
  func deliver(framesTo handover: Handover<RawFrame>) {
    add(handover, to: \.frameTakers, noting: \.hasFrameTaker)
  }

  /// Hands every access unit to `handover` from now on.
  func deliver(unitsTo handover: Handover<AccessUnit>) {
    add(handover, to: \.unitTakers, noting: \.hasUnitTaker)
  }

  /// Hands every unit of the sound to `handover` from now on.
  func deliver(soundTo handover: Handover<SoundUnit>) {
    add(handover, to: \.soundTakers, noting: \.hasSoundTaker)
  }

  private func add<Element>(
    _ handover: Handover<Element>, to takers: WritableKeyPath<State, [Handover<Element>]>,
    noting hasTaker: WritableKeyPath<Allotment, Bool>
  ) {
    let hasEnded = state.withLock { state in
      state[keyPath: takers].append(handover)
      state.allotment[keyPath: hasTaker] = true
      return state.hasEnded
    }
    if hasEnded { handover.close() }
  }

  /// Ends the sequences, and those that are made from now on.
  func endSequences() {
    let (frames, units, sound) = state.withLock { state in
      state.hasEnded = true
      return (state.frameTakers, state.unitTakers, state.soundTakers)
    }
    for taker in frames { taker.close() }
    for taker in units { taker.close() }
    for taker in sound { taker.close() }
  }

  /// What has gone through so far.
  var statistics: DeliveryStatistics {
    var (statistics, decoder) = state.withLock { ($0.allotment.statistics, $0.decoder) }
    if let decoder {
      (statistics.decoderThreads, statistics.decoderLoad) = (decoder.threadCount, decoder.load)
      statistics.isDecoderAtLimit = clock.wantsFastDecoder && decoder.isAtLimit
    }
    return statistics
  }

  /// Takes an access unit on the event loop; returns whether decoding can continue with the next
  /// one.
  func deliver(_ unit: AccessUnit) -> Bool {
    let (share, takers) = state.withLock { ($0.allotment.take(unit), $0.unitTakers) }
    guard let share else { return true }
    guard share.isWanted else {
      end(.framesReached)
      return true
    }
    configuration.onAccessUnit?(unit)
    offer(unit, to: takers)
    if share.isForOutputs {
      for onlooker in configuration.onlookers { onlooker.onAccessUnit(unit) }
      outputs.write(unit)
    }
    let isTaken = share.isForDecoder ? decode(unit) : true
    if share.isLast { end(.framesReached) }
    return share.canContinue && isTaken
  }

  /// Takes a unit of the sound on the event loop.
  func deliver(_ unit: SoundUnit) {
    let takers = state.withLock { $0.allotment.take(unit) ? $0.soundTakers : nil }
    guard let takers else { return }
    let ticket = playout?.note(unit, at: .now)
    configuration.onSound?(unit)
    for onlooker in configuration.onlookers { onlooker.onSound(unit) }
    offer(unit, to: takers)
    outputs.write(unit, at: ticket)
  }

  private func offer<Element>(_ element: Element, to takers: [Handover<Element>]) {
    for taker in takers where !taker.offer(element) {
      state.withLock { $0.allotment.loopWasFull() }
    }
  }

  /// From now on, what comes in one read is written together once that is over, or at once.
  func gather(_ gathers: Bool) {
    let isChange = state.withLock { state in
      defer { state.gathers = gathers }
      return state.gathers != gathers
    }
    if isChange { outputs.gather(gathers) }
  }

  /// Notes the end of a read: nothing more comes for a while.
  func readCompleted() {
    if state.withLock(\.gathers) { outputs.release() }
  }

  /// Whether a lossless output has more waiting than it should.
  var isCrowded: Bool { waitForRoom != nil }

  /// Calls `body` once when the busy consumer has room again, or at once if none is busy.
  func whenRoom(_ body: @escaping @Sendable () -> Void) {
    guard let waitForRoom else { return body() }
    waitForRoom(body)
  }

  /// Whether a recording has brought all that is wanted.
  var hasEnough: Bool { endsExactly && state.withLock(\.allotment.hasEnough) }

  /// Up to which access unit the decoder is to be done before more is taken in, because the last
  /// frame that is wanted may be among its; `nil` if it need not be.
  private var awaitedUnit: UInt64? {
    guard endsExactly else { return nil }
    return state.withLock { state in
      guard state.decoded < state.submitted else { return nil }
      // At a constant rate, a unit may lead to any number of frames.
      let mayBeLast =
        configuration.constantRate || state.allotment.mayHaveEnough(of: state.submitted)
      return mayBeLast ? state.submitted : nil
    }
  }

  /// How to wait for the lossless consumer with too much waiting; `nil` if none has.
  private var waitForRoom: ((@escaping @Sendable () -> Void) -> Void)? {
    let (decoder, frameTakers, unitTakers, soundTakers) = state.withLock {
      ($0.decoder, $0.frameTakers, $0.unitTakers, $0.soundTakers)
    }
    if let decoder, let awaitedUnit {
      return { [self] body in
        decoder.whenDecoded { [self] in
          state.withLock { $0.decoded = max($0.decoded, awaitedUnit) }
          body()
        }
      }
    }
    let isDecoderWaitedFor =
      clock.waitsForDecoder
      || frameTakers.contains { $0.pressure == .everyOne }
      || outputs.holdFarEndForPictures
    if isDecoderWaitedFor, let decoder, decoder.isCrowded { return decoder.whenRoom }
    if let lane = outputs.crowdedLane { return lane.whenRoom }
    return unitTakers.first { $0.isCrowded }.map { $0.whenRoom }
      ?? soundTakers.first { $0.isCrowded }.map { $0.whenRoom }
  }

  /// Ends a connection that another will follow: its last frames come out, and nothing of the next
  /// one is taken for their continuation.
  func endConnection() {
    let decoder = state.withLock { state in
      state.allotment.connectionEnded()
      return state.decoder
    }
    gather(false)
    outputs.interrupt(decoded: false)
    let framesEnd: @Sendable () -> Void = { [outputs] in outputs.interrupt(decoded: true) }
    if let decoder { decoder.beginFlush(then: framesEnd) } else { framesEnd() }
  }

  /// Whether the wanted number of frames has come.
  var isComplete: Bool { state.withLock(\.allotment.isComplete) }

  /// Why nothing can be decoded, if that is so.
  var decoderFailure: DecoderError? { state.withLock(\.decoderFailure) }

  /// Drops what waits to be decoded.
  func abandonDecoding() { state.withLock(\.decoder)?.abandon() }

  /// Begins a run; FFmpeg's libraries are loaded, or the decoder's process is, while its connection
  /// is made.
  func begin() {
    let decodes = state.withLock {
      $0.allotment.begin(at: .now)
      return $0.allotment.decodes
    }
    guard decodes else { return }
    let box = configuration.decoderBox
    DispatchQueue(label: "rtp-recv.libraries").async { [self] in
      guard let box else {
        try? FFmpegLibraries.loadDecoding()
        return
      }
      take(box.prepare())
      try? FFmpegLibraries.loadFrames()
    }
  }

  /// Keeps a process for the decoder; one that is ready too late ends, outside of the lock.
  func take(_ prepared: PreparedDecoderBox) {
    state.withLock { state in
      if state.awaitsProcess, !state.allotment.isOver { state.prepared = prepared }
    }
  }

  /// Waits for the decoder's last frames and closes it; nothing more is received.
  ///
  /// `endsInGap` says that more could have come until now.
  func finishDecoding(endsInGap: Bool) async {
    let end = Instant.now
    // A process that nobody needed ends outside of the lock.
    withExtendedLifetime(takePrepared()) {}
    if let decoder = state.withLock(\.decoder) {
      await decoder.flush()
      await decoder.close()
      state.withLock { $0.constantRate?.finish() ?? [] }.forEach(show)
    }
    if endsInGap { state.withLock { $0.allotment.finish(receivedUntil: end) } }
  }

  /// Hands `unit` to the decoder; `false` if it was dropped, so that decoding awaits a
  /// random-access point.
  private func decode(_ unit: AccessUnit) -> Bool {
    let (isAdmitted, open) = state.withLock { ($0.allotment.admitToDecoder(unit), $0.decoder) }
    guard isAdmitted else { return false }
    guard let decoder = open ?? openDecoder(for: unit) else { return true }
    guard decoder.submit(unit) == .full else {
      state.withLock { $0.submitted += 1 }
      return true
    }
    state.withLock { $0.allotment.decoderWasFull() }
    // The dropped units are a loss, which later pictures that refer past the next key picture must
    // know about.
    decoder.beginFlush()
    return false
  }

  /// The process that was prepared, if any; none is taken afterwards.
  private func takePrepared() -> PreparedDecoderBox? {
    state.withLock { state in
      defer { (state.prepared, state.awaitsProcess) = (nil, false) }
      return state.prepared
    }
  }

  private func openDecoder(for unit: AccessUnit) -> VideoDecoder? {
    do {
      var setup = VideoDecoder.Configuration()
      setup.queueLimits = Self.decoderQueue
      setup.lossTreatment = configuration.lossTreatment
      setup.threads = configuration.decoderThreads
      setup.mustKeepUp = clock.wantsFastDecoder
      setup.box = configuration.decoderBox
      setup.allowedDecoders = Set(configuration.stream.formats.codecs.map(\.decoderName))
      let decoder = try VideoDecoder(
        codec: unit.codec, configuration: setup, prepared: takePrepared(),
        onFrame: { [weak self] frame in self?.deliver(frame) },
        onFailure: { [weak self] failure in self?.note(failure) },
        onEvent: { [weak self] event in self?.note(event) })
      state.withLock { $0.decoder = decoder }
      return decoder
    } catch {
      cannotDecode(error)
      return nil
    }
  }

  private func cannotDecode(_ error: DecoderError) {
    state.withLock { state in
      state.allotment.end()
      state.decoderFailure = error
    }
    end(.decoderFailed(error))
  }

  // MARK: - On the decoder's thread

  private func deliver(_ frame: RawFrame) {
    guard configuration.constantRate else { return show(frame) }
    state.withLock { $0.constantRate?.place(frame) ?? [] }.forEach(show)
  }

  private func show(_ placement: ConstantRate.Placement) {
    if let repeated = placement.repeated {
      for time in placement.times where !state.withLock(\.allotment.isOver) {
        if let again = RawFrame(repeating: repeated, at: time) { show(again) }
      }
    }
    if let frame = placement.frame {
      show(frame)
    } else {
      state.withLock { $0.allotment.dropSurplus() }
    }
  }

  private func show(_ frame: RawFrame) {
    let (share, takers) = state.withLock { ($0.allotment.take(frame, at: .now), $0.frameTakers) }
    guard let share else { return }
    decoding.note()
    configuration.onFrame?(frame)
    for taker in takers { taker.put(frame) }
    let ticket = playout?.note(frame, at: .now)
    outputs.write(frame, at: ticket)
    outputs.report {
      PictureReport(
        of: frame, number: share.number, withSamples: configuration.reportsSamples)
    }
    guard share.isLast else { return }
    // What came meanwhile would be decoded for nobody, and the outputs need the processor.
    abandonDecoding()
    end(.framesReached)
  }

  private func note(_ event: DecoderBoxEvent) {
    state.withLock { $0.allotment.note(event) }
    if case .failed(let error) = event { cannotDecode(error) }
  }

  private func note(_ failure: DecodeFailure) {
    if !state.withLock(\.allotment.isOver) { outputs.report { PictureReport(of: failure) } }
    state.withLock { state in
      state.allotment.note(failure.reason)
      if case .notIntact = failure.reason {
        state.allotment.noteSkipped(failure.time, arrival: failure.lastArrival)
      }
    }
    decoding.note()
  }
}
