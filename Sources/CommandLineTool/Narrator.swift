import Bitstream
import Defragment
import Outputs
import RTPProcessor
import RTPWire
import Receiver
import Reception
import Transports

/// Reports news once, by comparing each status with the previous one.
struct Narrator {
  let isVerbose: Bool
  let isQuiet: Bool
  private let saysAttempts: Bool
  private let isAsking: Bool
  private let isCodecChosen: Bool
  private let isDescribed: Bool
  private let canAskForKeyPictures: Bool
  private let countsFrames: Bool
  private let recordsSound: Bool
  private let isSoundAsked: Bool
  private let hints: SourceHints
  /// The hints that were given, by their places.
  private var warningsGiven: Set<Int> = []
  private var newsGiven: [Int: String] = [:]
  private var phase: VideoStream.Phase?
  private var format: String?
  private var sourceChanges: UInt64 = 0
  private var sequenceRestarts: UInt64 = 0
  private var address: String?
  private var carriage: TransportCounters.Carriage?
  private var diagnosticsSaid: Set<TransportDiagnostic> = []
  private var rareKeysSaid = false
  private var paceSaid = false
  private var soundChangesSaid: Set<SoundChange> = []
  private var failureSaid: String?
  private var attemptsSaid: UInt64 = 0
  private var recoveriesSaid: UInt64 = 0
  private var boxLackSaid: DeliveryStatistics.BoxLack?
  private var restartsSaid: UInt64 = 0
  private var hasSaidScrambled = false
  private var hasSaidSets = false
  /// When the latest media had come at the first look that found no parameter sets.
  private var firstWithoutSets: Instant?
  private var hasSaidSoundAlone = false
  private var hasSaidSoundLeftOut = false
  private var hasSaidNoSound = false
  private var hasSaidSoundUnchosen = false
  private var readersAwaited: Set<String> = []
  /// How many events of each output were told, by its place.
  private var eventsTold: [Int: Int] = [:]
  private var fileNews = FileNews()
  /// The outputs that an error has ended.
  private var failed: Set<Int> = []
  /// The outputs whose file does not take what is written.
  private var stalled: Set<Int> = []

  /// After this many seconds of sound, pictures are not expected any more.
  private static let soundAlone = 2.0

  /// `saysAttempts` is true if each attempt to connect is told, `isAsking` if the source is a
  /// server that is asked for its stream, `isCodecChosen` if the user named the codec,
  /// `isDescribed` if the user gave a session description, `countsFrames` if a number of frames
  /// ends the run, `recordsSound` if recordings of pictures take their sound too, and
  /// `isSoundAsked` if an output is of sound alone; `hints` are those of the source's transport.
  init(
    isVerbose: Bool, isQuiet: Bool, saysAttempts: Bool, isAsking: Bool, isCodecChosen: Bool,
    isDescribed: Bool, canAskForKeyPictures: Bool, countsFrames: Bool,
    recordsSound: Bool, isSoundAsked: Bool, hints: SourceHints
  ) {
    self.hints = hints
    self.isSoundAsked = isSoundAsked
    self.countsFrames = countsFrames
    self.recordsSound = recordsSound
    self.isCodecChosen = isCodecChosen
    self.isDescribed = isDescribed
    self.canAskForKeyPictures = canAskForKeyPictures
    self.isVerbose = isVerbose
    self.saysAttempts = saysAttempts
    self.isAsking = isAsking
    self.isQuiet = isQuiet
  }

  /// The news in `status` at `now`, one line each.
  mutating func remarks(on status: Receiver.Status, at now: Instant) -> [Remark] {
    guard !isQuiet else { return [] }
    var remarks: [Remark] = []
    if let local = status.transport.localAddress, local != address {
      address = local
      // Only a listener's sender has to know the port.
      if status.transport.carriage == nil, !isAsking { remarks.append("listening on \(local)") }
    }
    remarks += self.remarks(on: status.connection)
    for (place, words) in hints.all(.warning, status) where warningsGiven.insert(place).inserted {
      remarks.append(.warning(words))
    }
    // Tolerated faults concern the operator of the server; warnings concern everybody.
    for diagnostic in status.transport.diagnostics where isVerbose || diagnostic.isWarning {
      guard diagnosticsSaid.insert(diagnostic).inserted else { continue }
      remarks.append(Remark(diagnostic.words, level: diagnostic.isWarning ? .warning : .notice))
    }
    if !hasSaidScrambled,
      let words = Verdict.scrambled(status, hints, isCodecChosen: isCodecChosen)
    {
      hasSaidScrambled = true
      remarks.append(.warning(words))
    }
    if let words = lackOfSets(status) { remarks.append(.warning(words)) }
    remarks += self.remarks(on: status.delivery)
    if countsFrames, !hasSaidSoundAlone, status.delivery.accessUnits == 0,
      status.delivery.soundSeconds >= Self.soundAlone
    {
      hasSaidSoundAlone = true
      remarks.append(
        .warning("only sound comes, in which --frames has nothing to count; --duration ends it"))
    }
    if recordsSound, !hasSaidSoundLeftOut, let words = Verdict.soundLeftOut(status) {
      hasSaidSoundLeftOut = true
      remarks.append(.warning(words))
    }
    if recordsSound || isSoundAsked, !hasSaidSoundUnchosen, status.transport.leavesSoundOut {
      hasSaidSoundUnchosen = true
      remarks.append(Remark(Verdict.soundUnchosen))
    }
    if isSoundAsked, !hasSaidNoSound, Verdict.describesNoSound(status) {
      hasSaidNoSound = true
      remarks.append(.warning("the source describes no sound"))
    }
    for output in status.outputs where output.awaitsReader {
      guard readersAwaited.insert(output.name).inserted else { continue }
      remarks.append("waiting for a reader of \(output.name)")
    }
    if let remark = fileNews.remark(at: now) { remarks.append(remark) }
    for (place, output) in status.outputs.enumerated() {
      remarks += self.remarks(on: output, in: place, at: now)
      // The end of the run says it where nothing else goes on.
      if let fault = output.fault, status.outputs.contains(where: { !$0.hasFailed }),
        failed.insert(place).inserted
      {
        let words = Verdict.explanation(of: fault, about: output.name.shownPath)
        remarks.append(.warning(words))
      }
    }
    guard isVerbose, let stream = status.stream else { return remarks }
    if let way = status.transport.carriage, way != carriage {
      carriage = way
      remarks.append("the media comes over \(way.rawValue)")
    }
    if phase != stream.phase, case .receiving(let codec, let payloadType) = stream.phase {
      phase = stream.phase
      let type = payloadType.map { ", payload type \($0)" } ?? ""
      remarks.append("receiving \(codec.encodingName)\(type)")
    }
    if let now = stream.format?.summary, now != format {
      format = now
      remarks.append("pictures are \(now)")
    }
    if stream.reception.sourceChanges > sourceChanges {
      sourceChanges = stream.reception.sourceChanges
      remarks.append("the source changed its SSRC (\(sourceChanges.times) so far)")
    }
    if stream.reception.sequenceRestarts > sequenceRestarts {
      sequenceRestarts = stream.reception.sequenceRestarts
      remarks.append("the source restarted its packet numbers (\(sequenceRestarts.times) so far)")
    }
    for (place, words) in hints.all(.news, status) where newsGiven[place] != words {
      newsGiven[place] = words
      remarks.append(Remark(words))
    }
    return remarks
  }

  /// That pictures come which nobody can decode; `nil` where that is said already.
  private mutating func lackOfSets(_ status: Receiver.Status) -> String? {
    guard !hasSaidSets, status.lacksParameterSets, let latest = status.stream?.lastMedia else {
      return nil
    }
    let first = firstWithoutSets ?? latest
    firstWithoutSets = first
    let words = Verdict.setsAwaited(
      status, for: first.duration(to: latest), isDescribed: isDescribed,
      canAskForKeyPictures: canAskForKeyPictures)
    hasSaidSets = words != nil
    return words
  }

  /// Whether another output has not said the same of the stream.
  private mutating func isNews(_ event: OutputEvent) -> Bool {
    switch event {
    case .keyPicturesRare:
      defer { rareKeysSaid = true }
      return !rareKeysSaid
    case .clockRunsWrong:
      defer { paceSaid = true }
      return !paceSaid
    case .soundConverted(let change): return soundChangesSaid.insert(change).inserted
    default: return true
    }
  }

  /// What was left out and has not been said, at the end of the run.
  mutating func remarkAtEnd() -> Remark? { fileNews.takeRemark() }

  /// News about the files of the output in `place`.
  private mutating func remarks(
    on output: OutputStatus, in place: Int, at now: Instant
  ) -> [Remark] {
    var remarks: [Remark] = []
    for event in output.events.after(eventsTold[place] ?? 0) {
      guard isNews(event), fileNews.admits(event, ofOutput: place, at: now) else { continue }
      if let remark = Remark(event, isVerbose: isVerbose) { remarks.append(remark) }
    }
    eventsTold[place] = output.events.count
    if let stall = output.stall {
      if stalled.insert(place).inserted {
        remarks.append(
          .warning(
            "the disk has not taken what is written to \(output.name) for "
              + "\(stall.seconds.formatted(digits: 0)) s"))
      }
    } else {
      stalled.remove(place)
    }
    return remarks
  }

  /// News about the decoder's process.
  ///
  /// A stream that ends each one is told of ever more rarely: when there were twice as many.
  private mutating func remarks(on delivery: DeliveryStatistics) -> [Remark] {
    var remarks: [Remark] = []
    if let lack = delivery.boxLack, lack != boxLackSaid {
      boxLackSaid = lack
      switch lack {
      case .walls(let reason):
        remarks.append(.warning("the decoder's sandbox is incomplete: \(reason)"))
      case .process(let reason):
        remarks.append(.warning("pictures are decoded without a sandbox: \(reason)"))
      }
    }
    if delivery.decoderRestarts >= max(1, 2 * restartsSaid), let cause = delivery.lastDecoderLoss {
      restartsSaid = delivery.decoderRestarts
      let count = restartsSaid > 1 ? " (\(restartsSaid.times) so far)" : ""
      remarks.append(
        .warning(
          "the decoder's process was lost: \(cause); decoding goes on at the next key picture"
            + count))
    }
    return remarks
  }

  /// News about the connection.
  ///
  /// A cause is told once while it stays the same.
  private mutating func remarks(on connection: ConnectionStatus) -> [Remark] {
    var remarks: [Remark] = []
    let statistics = connection.statistics
    if saysAttempts, statistics.attempts > attemptsSaid {
      remarks.append("connecting again (attempt \(statistics.attempts))")
    }
    attemptsSaid = statistics.attempts
    if statistics.recoveries > recoveriesSaid {
      recoveriesSaid = statistics.recoveries
      failureSaid = nil
      let length = statistics.outages.last { $0.hasEnded }?.length.seconds ?? 0
      remarks.append("media comes again, after \(length.formatted(digits: 1)) s without")
    }
    if let failure = connection.failure.map(Verdict.words), failure != failureSaid {
      failureSaid = failure
      let wait = if case .waiting(let time) = connection.phase { time.seconds } else { 0.0 }
      let time = wait >= 5 ? " in \(wait.formatted(digits: 0)) s" : ""
      remarks.append("\(failure); connecting again\(time)")
    }
    return remarks
  }
}
