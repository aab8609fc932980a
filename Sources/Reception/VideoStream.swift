public import Bitstream
public import Defragment
public import RTPProcessor
public import RTPWire

/// The track that is decoded: datagrams and `now` go in, access units and a deadline come out.
///
/// When the codec or the payload type is not known, the first packets are kept until their payloads
/// tell; then they go through the same path with the times at which they arrived.
public struct VideoStream: Sendable {
  /// What is known of the stream, and how long it may wait.
  public struct Configuration: Sendable {
    /// What the signalling or the user says; what is `nil` in it is recognized from the packets.
    public var media = MediaDescription()
    /// The longest that a packet waits for an earlier one.
    public var reorderWindow: Duration = .milliseconds(200)
    /// The payload formats that are known.
    public var formats = FormatCatalogue.standard

    public init() {}
  }

  /// Where the stream stands.
  public enum Phase: Sendable, Hashable {
    /// Waiting for enough packets to tell the codec and the payload type.
    case recognizing
    case receiving(VideoCodec, payloadType: UInt8?)
    /// Packets came for long enough, and none of them looked like a codec that is known here.
    case unrecognized(payloadTypes: [UInt8])
  }

  public private(set) var phase: Phase
  private let configuration: Configuration
  private let hasFeedback: Bool
  private var preroll: Preroll
  private var processor: RTPProcessor
  private var defragmenter: VideoDefragmenter?
  /// What streams before this one have counted.
  private var formerTotals: DefragmentStatistics?
  private var formerUnrecognized: UInt64 = 0
  /// Whether decoding can begin with a key picture alone.
  ///
  /// Kept apart, since reading it out of the defragmenter for each packet would copy that.
  private var parameterSetsKnown = false
  /// Whether there has been an intact picture at which decoding can begin.
  private var hasBegun = false
  /// Datagrams of other payload types, to be taken out after each ``receive(_:)``.
  private(set) var passedOver: [Datagram] = []

  /// Makes a stream that waits for its first datagram.
  ///
  /// After `former`, which is over, its totals go on and so does the time of its media; nothing
  /// else is taken along, since another connection may bring another sender.
  ///
  /// - Throws: `UnsupportedFormat` when the media is described as something that is not video of a
  ///   known codec.
  public init(configuration: Configuration, after former: VideoStream? = nil) throws {
    self.configuration = configuration
    hasFeedback = !configuration.media.feedback.requests.isEmpty
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

  /// What became of the packets.
  public var reception: ReceptionStatistics { processor.statistics }

  /// What became of their payloads; `nil` until the codec is known.
  public var defragmentation: DefragmentStatistics? { defragmenter?.statistics ?? formerTotals }

  /// Media time to wall-clock time, as far as sender reports have told.
  public var clock: ClockMapping { processor.clock }

  /// The format of the pictures by the active parameter sets.
  public var format: FormatDescription? { defragmenter?.formatDescription }

  /// What a receiver report tells of the source; `nil` without one.
  public var sourceReception: SourceReception? { processor.reception }

  /// True once the source has said goodbye and has sent nothing since.
  public var hasSaidGoodbye: Bool { processor.hasSaidGoodbye }

  /// Datagrams that are or were kept for recognition, and are no part of a stream.
  public var unrecognizedDatagrams: UInt64 {
    formerUnrecognized + preroll.discarded + UInt64(preroll.count)
  }

  /// The description, as far as it was given.
  var media: MediaDescription { configuration.media }

  /// The source of the packets, once one has proved itself.
  var ssrc: UInt32? { processor.ssrc }

  /// Packets handed on in order so far.
  var delivered: UInt64 { processor.statistics.delivered }

  /// How many packets came of each payload type that is not the stream's.
  var ignoredPayloadTypes: [UInt8: UInt64] { processor.statistics.ignoredPayloadTypes }

  /// The payload types of what came while the codec was not yet recognized.
  var unrecognizedPayloadTypes: [UInt8] { preroll.payloadTypes }

  /// When ``next(at:)`` has something to do although nothing arrives.
  public var deadline: Instant? { processor.deadline }

  /// What may be asked of the sender, and how.
  var feedback: FeedbackOffer { configuration.media.feedback }

  /// When ``nextFeedback(at:)`` has something to say although nothing arrives.
  public var feedbackDeadline: Instant? { hasFeedback ? processor.feedbackDeadline : nil }

  /// The next thing to ask of the sender at `now`; to be called until it returns `nil`.
  public mutating func nextFeedback(at now: Instant) -> RTCPFeedback? {
    hasFeedback ? processor.nextFeedback(at: now) : nil
  }

  /// Takes in that decoding cannot go on although nothing is missing, so that a key picture is
  /// asked for.
  public mutating func wantKeyPicture(at now: Instant) {
    if hasFeedback { processor.wantKeyPicture(at: now) }
  }

  /// Takes in one datagram; pull ``next(at:)`` until `nil` afterwards.
  public mutating func receive(_ datagram: Datagram) {
    if case .receiving = phase { return process(datagram) }
    switch preroll.keep(datagram, media: configuration.media) {
    case .undecided:
      break
    case .unrecognized(let payloadTypes):
      phase = .unrecognized(payloadTypes: payloadTypes)
    case .recognized(let codec, let payloadType):
      var media = configuration.media
      media.encodingName = codec.encodingName
      media.payloadType = payloadType
      // A codec that was recognized is in the catalogue, so this does not throw.
      guard (try? begin(with: media)) != nil else { return }
      for datagram in preroll.takeAll() { process(datagram) }
    }
  }

  /// The next access unit that is complete at `now`.
  public mutating func next(at now: Instant) -> AccessUnit? {
    while true {
      if var unit = defragmenter?.next() {
        if !parameterSetsKnown { noteParameterSets() }
        if hasFeedback { noteNeed(of: unit, at: now) }
        unit.captureTime = processor.clock.captureTime(of: unit.time)
        return unit
      }
      guard let packet = processor.next(at: now) else { return nil }
      defragmenter?.push(packet)
    }
  }

  /// Ends the stream: what is incomplete becomes an access unit, to be pulled by ``next(at:)``.
  public mutating func finish(at now: Instant) {
    processor.finish()
    while let packet = processor.next(at: now) { defragmenter?.push(packet) }
    defragmenter?.flush()
  }

  private mutating func begin(with media: MediaDescription) throws {
    let defragmenter = try VideoDefragmenter(
      media: media, formats: configuration.formats,
      continuing: formerTotals ?? DefragmentStatistics())
    processor = RTPProcessor(
      configuration: Self.processing(of: media, configuration), after: processor)
    phase = .receiving(defragmenter.codec, payloadType: media.payloadType)
    self.defragmenter = defragmenter
    noteParameterSets()
  }

  private static func processing(
    of media: MediaDescription, _ configuration: Configuration
  ) -> RTPProcessor.Configuration {
    var processing = RTPProcessor.Configuration()
    processing.reorderWindow = configuration.reorderWindow
    processing.clockRate = media.clockRate
    processing.payloadType = media.payloadType
    processing.correctionFormats = media.correctionFormats
    processing.hasMatrixCorrection = media.hasMatrixCorrection
    processing.redundancyPayloadType = media.redundancyPayloadType
    processing.retransmissionFormats = media.retransmissionFormats
    processing.retransmissionSession = media.retransmissionSession
    processing.feedback = media.feedback.requests
    return processing
  }

  /// Takes in whether decoding goes on behind `unit` or needs a picture at which it can begin:
  /// where there has been none yet, where the parameter sets are not known, and where something is
  /// lost for good, since the pictures that follow refer to it.
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

  private mutating func process(_ datagram: Datagram) {
    let outcome = processor.receive(datagram) {
      [parameterSetsKnown, formats = configuration.formats] packet in
      formats.isEntryPoint(packet.payload, parameterSetsKnown: parameterSetsKnown)
    }
    if outcome == .ignoredPayloadType, passedOver.count < Preroll.maximumDatagrams {
      passedOver.append(datagram)
    }
  }

  mutating func takePassedOver() -> [Datagram] {
    defer { passedOver = [] }
    return passedOver
  }

  /// Whether a packet of `payloadType` belongs here by the description.
  func describes(_ payloadType: UInt8) -> Bool {
    media.payloadType == payloadType || media.auxiliaryTypes.contains(payloadType)
  }
}
