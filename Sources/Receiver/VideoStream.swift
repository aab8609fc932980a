public import Defragment
public import RTPProcessor
public import RTPWire

/// The whole core as one value: datagrams and `now` go in, access units and a deadline come out.
///
/// When the codec or the payload type is not known, the first packets are kept until their payloads
/// tell; then they go through the same path with the times at which they arrived.
public struct VideoStream: Sendable {
  /// What is known of the stream, and how long it may wait.
  public struct Configuration: Sendable {
    /// What the signalling or the user says; what is `nil` in it is recognised from the packets.
    public var media = MediaDescription()
    /// The longest that a packet waits for an earlier one.
    public var reorderWindow: Duration = .milliseconds(200)

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
  private var preroll = Preroll()
  private var processor: RTPProcessor
  private var defragmenter: VideoDefragmenter?
  /// Whether decoding can begin with a key picture alone.
  ///
  /// Kept apart, since reading it out of the defragmenter for each packet would copy that.
  private var parameterSetsKnown = false

  /// Makes a stream that waits for its first datagram.
  ///
  /// - Throws: `UnsupportedFormat` when the media is described as something that is not video of a
  ///   known codec.
  public init(configuration: Configuration) throws {
    self.configuration = configuration
    phase = .recognizing
    processor = RTPProcessor()
    if configuration.media.encodingName != nil, configuration.media.payloadType != nil {
      try begin(with: configuration.media)
    }
  }

  /// What became of the packets.
  public var reception: ReceptionStatistics { processor.statistics }

  /// What became of their payloads; `nil` until the codec is known.
  public var defragmentation: DefragmentStatistics? { defragmenter?.statistics }

  /// Media time to wall-clock time, as far as sender reports have told.
  public var clock: ClockMapping { processor.clock }

  /// The format of the pictures by the active parameter sets.
  public var format: FormatDescription? { defragmenter?.formatDescription }

  /// True once the source has said goodbye and has sent nothing since.
  public var hasSaidGoodbye: Bool { processor.hasSaidGoodbye }

  /// Datagrams that were kept for recognition and had to be let go.
  public var unrecognizedDatagrams: UInt64 { preroll.discarded }

  /// When ``next(at:)`` has something to do although nothing arrives.
  public var deadline: Instant? { processor.deadline }

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
      // A codec that was recognised is in the catalogue, so this does not throw.
      guard (try? begin(with: media)) != nil else { return }
      for datagram in preroll.takeAll() { process(datagram) }
    }
  }

  /// The next access unit that is complete at `now`.
  public mutating func next(at now: Instant) -> AccessUnit? {
    while true {
      if let unit = defragmenter?.next() {
        if !parameterSetsKnown { noteParameterSets() }
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
    let defragmenter = try VideoDefragmenter(media: media)
    var configuration = RTPProcessor.Configuration()
    configuration.reorderWindow = self.configuration.reorderWindow
    configuration.clockRate = media.clockRate
    configuration.payloadType = media.payloadType
    processor = RTPProcessor(configuration: configuration)
    phase = .receiving(defragmenter.codec, payloadType: media.payloadType)
    self.defragmenter = defragmenter
    noteParameterSets()
  }

  /// Whether a source described as `later` goes on with a stream described as `earlier`; parameter
  /// sets that are new are learned then.
  mutating func continues(_ earlier: MediaDescription, as later: MediaDescription) -> Bool {
    guard earlier.encodingName?.lowercased() == later.encodingName?.lowercased(),
      earlier.payloadType == later.payloadType, earlier.clockRate == later.clockRate
    else { return false }
    if earlier != later { defragmenter?.learnParameterSets(of: later) }
    return true
  }

  private mutating func noteParameterSets() {
    parameterSetsKnown = defragmenter?.parameterSets.isComplete ?? false
  }

  private mutating func process(_ datagram: Datagram) {
    _ = processor.receive(datagram) { [parameterSetsKnown] packet in
      FormatCatalogue.isEntryPoint(packet.payload, parameterSetsKnown: parameterSetsKnown)
    }
  }
}

/// A source came back with something else than it had before, which the run can not go on with.
public struct ChangedMedia: Error, Sendable, Hashable, CustomStringConvertible {
  public let from: String?
  public let to: String?

  public var description: String {
    "the source came back with another kind of media (\(from ?? "?") before, \(to ?? "?") now); "
      + "start again"
  }
}
