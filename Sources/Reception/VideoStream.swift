public import Bitstream
public import Defragment
import NIOCore
public import RTPProcessor
public import RTPWire

/// The track of the pictures: datagrams and `now` go in, access units and a deadline come out.
///
/// If the codec or the payload type is unknown, the first packets are kept until it is recognized.
/// They then take the normal path, with their original arrival times.
public struct VideoStream: Sendable {
  /// What is known of the stream, and how long packets may wait.
  public struct Configuration: Sendable {
    /// What the signalling or the user says; `nil` values are recognized from the packets.
    public var media = MediaDescription()
    /// The sound on the same channel, if the user describes it; its payload type tells it apart.
    public var sound: MediaDescription?
    /// How long a packet may wait for an earlier one.
    public var reorderWindow: Duration = .milliseconds(200)
    /// The known payload formats.
    public var formats = FormatCatalogue.standard
    /// Whether payloads may contradict the codec that was said; where packets are only recorded, it
    /// does not matter what they carry.
    public var doubtsCodec = true

    public init() {}
  }

  /// The state of the stream.
  public enum Phase: Sendable, Hashable {
    /// Collecting packets to recognize the codec and the payload type.
    case recognizing
    case receiving(VideoCodec, payloadType: UInt8?)
    /// Packets came for long enough, and none looked like a known codec.
    case unrecognized(payloadTypes: [UInt8])
  }

  public internal(set) var phase: Phase
  let configuration: Configuration
  /// The static payload types of sound that is known, where nothing was said of the codec.
  private let soundTypes: Set<UInt8>
  private let hasFeedback: Bool
  private var preroll: Preroll
  var processor: RTPProcessor
  var defragmenter: VideoDefragmenter?
  /// The totals of previous streams.
  var formerTotals: DefragmentStatistics?
  private var formerUnrecognized: UInt64 = 0
  /// Whether decoding can begin with a key picture alone.
  ///
  /// Kept here, because reading it from the defragmenter for each packet would copy that.
  private var parameterSetsKnown = false
  /// Whether an access unit may be complete.
  var mayHaveUnit = false
  /// How long a picture waits for what shows that its marker is its end: half of the time from one
  /// picture to the next at 25 pictures a second, so that two slices that are sent as they are
  /// encoded stay together.
  private static let markerPatience: Duration = .milliseconds(20)
  private var markerWait = MarkerWait.none

  /// Whether a picture waits for that.
  private enum MarkerWait: Sendable, Hashable {
    case none
    /// Packets have come since it was known for how long.
    case begun
    case until(Instant)

    var end: Instant? { if case .until(let end) = self { end } else { nil } }
  }

  /// Whether an intact picture at which decoding can begin has come.
  var hasBegun = false
  /// Whether the codec is the one that was said; `nil` if it was recognized.
  private var doubt: CodecDoubt?
  /// What may change the codec, where none was said.
  var turn: CodecTurn?
  /// The time of the last packet that was unpacked, where the codec may change.
  var lastUnpacked: MediaTime?
  /// What may change the payload type, where none was said or several are listed.
  var successor: Successor?
  /// Access units from before such a change.
  var formerUnits = CircularBuffer<AccessUnit>()
  /// Datagrams of other payload types that came with the last one; the next ``receive(_:)`` removes
  /// them.
  private(set) var passedOver: [Datagram] = []

  /// Makes a stream that waits for its first datagram.
  ///
  /// The totals and the media time of `former`, which is over, continue; nothing else does, because
  /// another connection may have another sender.
  ///
  /// - Throws: `UnsupportedFormat` when the media is described as something other than video of a
  ///   known codec.
  public init(configuration: Configuration, after former: VideoStream? = nil) throws {
    self.configuration = configuration
    hasFeedback = !configuration.media.feedback.requests.isEmpty
    soundTypes =
      configuration.media.encodingName != nil
      ? []
      : configuration.formats.staticSoundTypes.filter {
        $0 == configuration.media.payloadType ?? $0
      }
    phase = .recognizing
    preroll = Preroll(configuration.formats)
    let processing = Self.processing(of: configuration.media, configuration)
    if let former {
      processor = RTPProcessor(configuration: processing, after: former.processor)
      formerTotals = former.defragmentation
      formerUnrecognized = former.unrecognizedDatagrams
    } else {
      processor = RTPProcessor(configuration: processing)
    }
    if configuration.media.encodingName != nil, configuration.media.payloadType != nil {
      try begin(with: configuration.media)
    }
  }

  /// The totals of its packets.
  public var reception: ReceptionStatistics { processor.statistics }

  /// The totals of their payloads; `nil` until the codec is known.
  public var defragmentation: DefragmentStatistics? { defragmenter?.statistics ?? formerTotals }

  /// Media time to wall-clock time, from sender reports.
  public var clock: ClockMapping { processor.clock }

  /// The format of the pictures by the active parameter sets.
  public var format: FormatDescription? { defragmenter?.formatDescription }

  /// The report block about the source; `nil` without one.
  public var sourceReception: SourceReception? { processor.reception }

  /// `true` once the source has sent an RTCP BYE and nothing since.
  public var hasSaidGoodbye: Bool { processor.hasSaidGoodbye }

  /// Whether the codec is known.
  var isReceiving: Bool { if case .receiving = phase { true } else { false } }

  /// Datagrams that were kept for recognition and belong to no stream.
  public var unrecognizedDatagrams: UInt64 {
    formerUnrecognized + preroll.discarded + UInt64(preroll.count)
  }

  /// Whether nothing but RTCP has come.
  var hasReportsAlone: Bool {
    let (reports, all) =
      isReceiving
      ? (reception.control, reception.received)
      : (preroll.reports, preroll.discarded + UInt64(preroll.count))
    return reports > 0 && reports == all
  }

  /// The description, as far as it is known.
  var media: MediaDescription { configuration.media }

  /// The source of the packets, once one has proved itself.
  var ssrc: UInt32? { processor.ssrc }

  /// Packets handed on in order so far.
  var delivered: UInt64 { processor.statistics.delivered }

  /// How often another source has taken over, or the source its SSRC.
  var sourceChanges: UInt64 { processor.statistics.sourceChanges }

  /// Packets per payload type that is not the stream's.
  var ignoredPayloadTypes: [UInt8: UInt64] { processor.statistics.ignoredPayloadTypes }

  /// The payload types that came before the codec was recognized.
  var unrecognizedPayloadTypes: [UInt8] { preroll.payloadTypes }

  /// Whether what came of each of them speaks against each known codec.
  var unrecognizedTypesAreRuledOut: Bool { preroll.payloadTypes.allSatisfy(preroll.rulesOut) }

  /// The codec of the media, where it certainly is not the one that was stated.
  public var otherCodec: VideoCodec? { doubt?.other }

  /// When to call ``next(at:)`` if nothing arrives.
  public var deadline: Instant? {
    // What is missing may belong to the picture that waits, as may what a turn keeps.
    let waiting = processor.deadline ?? (turn == nil ? markerWait.end : nil)
    guard turn != nil || successor != nil else { return waiting }
    let due = successor == nil ? nil : successionDeadline
    return [waiting, turn?.deadline, due].lazy.compactMap(\.self).min()
  }

  /// Which feedback the sender accepts.
  var feedback: FeedbackOffer { configuration.media.feedback }

  /// When to call ``nextFeedback(at:)`` if nothing arrives.
  public var feedbackDeadline: Instant? { hasFeedback ? processor.feedbackDeadline : nil }

  /// The next feedback to send at `now`; call until it returns `nil`.
  public mutating func nextFeedback(at now: Instant) -> RTCPFeedback? {
    hasFeedback ? processor.nextFeedback(at: now) : nil
  }

  /// Notes that decoding cannot continue although nothing is missing, so that a key picture is
  /// requested.
  public mutating func wantKeyPicture(at now: Instant) {
    if hasFeedback { processor.wantKeyPicture(at: now) }
  }

  /// Processes one datagram; call ``next(at:)`` until `nil` afterwards.
  public mutating func receive(_ datagram: Datagram) {
    if !passedOver.isEmpty { passedOver = [] }
    if case .receiving = phase { return process(datagram) }
    if datagram.channel == .media, let type = datagram.payloadType, soundTypes.contains(type) {
      return passOver(datagram)
    }
    take(preroll.keep(datagram, media: configuration.media))
  }

  /// Goes on with what the first packets have shown.
  private mutating func take(_ outcome: Preroll.Outcome) {
    switch outcome {
    case .undecided:
      break
    case .unrecognized(let payloadTypes):
      phase = .unrecognized(payloadTypes: payloadTypes)
    case .recognized(let codec, let payloadType):
      var media = configuration.media
      media.encodingName = codec.encodingName
      media.payloadType = payloadType
      // A recognized codec is in the catalogue, so this does not throw.
      guard (try? begin(with: media)) != nil else { return }
      for datagram in preroll.takeAll() { process(datagram) }
    }
  }

  /// Whether an access unit is complete at `now`; cheaper than to take out nothing.
  mutating func isReady(at now: Instant) -> Bool {
    goOnIfDue(at: now)
    if let due = turn?.deadline, due <= now { endTurn() }
    while !mayHaveUnit {
      guard let packet = processor.next(at: now) else { return releaseIfDue(at: now) }
      unpack(packet)
    }
    return true
  }

  /// Ends the access unit that waits, if it has waited long enough.
  private mutating func releaseIfDue(at now: Instant) -> Bool {
    switch markerWait {
    case .none: return false
    case .begun:
      markerWait = .until(now.advanced(by: Self.markerPatience))
      return false
    case .until(let due):
      guard due <= now, processor.deadline == nil, turn == nil else { return false }
      markerWait = .none
      defragmenter?.release()
      mayHaveUnit = true
      return true
    }
  }

  /// The next access unit complete at `now`.
  public mutating func next(at now: Instant) -> AccessUnit? {
    while isReady(at: now) {
      if let unit = formerUnits.popFirst() ?? assembled(at: now) { return unit }
      mayHaveUnit = false
    }
    return nil
  }

  /// The next access unit of the defragmenter.
  mutating func assembled(at now: Instant) -> AccessUnit? {
    guard var unit = defragmenter?.next() else { return nil }
    if !parameterSetsKnown { noteParameterSets() }
    if parameterSetsKnown, unit.integrity == .whole, unit.dependency != nil,
      doubt?.isSettledByPicture == true
    {
      doubt = nil
    }
    if hasFeedback {
      noteNeed(of: unit, at: now)
      unit.unansweredKeyPictureRequests = processor.unansweredKeyPictureRequests(at: now)
    }
    unit.captureTime = processor.clock.captureTime(of: unit.time)
    return unit
  }

  /// Ends the stream: what is incomplete becomes an access unit for ``next(at:)``.
  ///
  /// - Parameters:
  ///   - now: the time.
  ///   - isLeft: whether the sender goes on, so that the picture it is sending is not damaged, but
  ///     left out.
  ///   - isWhole: whether the sender has certainly sent no more, so that a single packet may be all
  ///     of the stream.
  public mutating func finish(at now: Instant, isLeft: Bool = false, isWhole: Bool = false) {
    if isWhole, case .recognizing = phase {
      take(preroll.conclude(media: configuration.media, at: now))
    }
    // Of two listed types that are sent at once, the other one does not follow at the end.
    if media.otherFormats.isEmpty || processor.pausesUnusually(at: now) {
      goOnWithSuccessor(at: now)
    }
    processor.finish(at: now, isWhole: isWhole)
    while let packet = processor.next(at: now) { unpack(packet) }
    endTurn()
    defragmenter?.flush(isLeft: isLeft)
    markerWait = .none
    mayHaveUnit = true
  }

  /// Takes a packet for the current codec.
  mutating func push(_ packet: OrderedPacket) {
    if doubt?.observe(packet.packet.payload) == .confirmed { doubt = nil }
    if defragmenter?.push(packet) == true { mayHaveUnit = true }
    // Seldom asked, because reading it copies the defragmenter.
    if packet.packet.marker || markerWait != .none {
      markerWait = defragmenter?.isWaiting == true ? .begun : .none
    }
  }

  private mutating func begin(with media: MediaDescription) throws {
    try setUp(media)
    processor = RTPProcessor(
      configuration: Self.processing(of: media, configuration), after: processor)
  }

  /// Takes the payloads that come next for those of `media`.
  mutating func setUp(_ media: MediaDescription) throws {
    let defragmenter = try VideoDefragmenter(
      media: media, formats: configuration.formats,
      continuing: formerTotals ?? DefragmentStatistics())
    phase = .receiving(defragmenter.codec, payloadType: media.payloadType)
    if configuration.doubtsCodec, configuration.media.encodingName != nil {
      doubt = CodecDoubt(defragmenter.codec, among: configuration.formats)
    }
    self.defragmenter = defragmenter
    markerWait = .none
    noteParameterSets()
  }

  private static func processing(
    of media: MediaDescription, _ configuration: Configuration
  ) -> RTPProcessor.Configuration {
    var processing = RTPProcessor.Configuration(of: media, window: configuration.reorderWindow)
    processing.payloadType = media.payloadType
    processing.hasMatrixCorrection = media.hasMatrixCorrection
    processing.retransmissionSession = media.retransmissionSession
    processing.feedback = media.feedback.requests
    return processing
  }

  /// Notes whether decoding continues after `unit` or needs a key picture: at the start, while the
  /// parameter sets are unknown, and after a loss, because later pictures refer to what was lost.
  private mutating func noteNeed(of unit: AccessUnit, at now: Instant) {
    let isIntact = unit.integrity == .whole && parameterSetsKnown
    if isIntact, unit.isRandomAccess {
      hasBegun = true
      processor.noteKeyPicture()
    } else if !isIntact || !hasBegun {
      processor.wantKeyPicture(at: now)
    }
  }

  private mutating func noteParameterSets() {
    parameterSetsKnown = defragmenter?.parameterSets.isComplete ?? false
  }

  mutating func process(_ datagram: Datagram) {
    // Behind a restart it may be another codec, whose sets are not known.
    let setsAreKnown = parameterSetsKnown && lastUnpacked == nil
    let outcome = processor.receive(datagram) {
      [setsAreKnown, formats = configuration.formats] packet in
      formats.isEntryPoint(packet.payload, parameterSetsKnown: setsAreKnown)
    }
    // What a session of retransmissions brings is no other source, and no other codec.
    if outcome == .ignoredPayloadType, datagram.channel == .media {
      let isListed = datagram.payloadType.flatMap { listedFormat($0) } != nil
      // Until there are pictures, what is listed for them is no other medium.
      if !isListed || ssrc != nil { passOver(datagram) }
      if isListed || configuration.media.payloadType == nil { considerSuccession(by: datagram) }
    } else if let successor, outcome == .inOrder || outcome == .parked,
      successor.isBeside(datagram.arrival, window: configuration.reorderWindow)
    {
      self.successor = nil
    }
  }

  private mutating func passOver(_ datagram: Datagram) {
    if passedOver.count < Preroll.maximumDatagrams { passedOver.append(datagram) }
  }

  mutating func takePassedOver() -> [Datagram] {
    defer { passedOver = [] }
    return passedOver
  }

  /// Whether the description assigns `payloadType` to this track.
  func describes(_ payloadType: UInt8) -> Bool { media.assigns(payloadType) }
}
