public import Impairment
public import NIOCore
public import RTPWire
public import Transports

/// Turns a source into the RTP packets of one track: repeats, limits, strips, packetizes and
/// numbers it.
public struct PacketFeed {
  /// A track of video.
  public struct Configuration: Sendable {
    public var recipe: SourceRecipe
    /// How often the source is sent, at least once; `nil` means forever.
    public var repetitions: Int? = 1
    /// Nanoseconds from one repetition to the next, where tracks of other lengths repeat too.
    public var period: Int64?
    /// Access units until the end, over all repetitions; `nil` means that the source decides.
    public var frameLimit: Int?
    /// Leaves VPS, SPS and PPS out of the stream.
    public var stripsParameterSets = false
    public var packetization = Packetization.nonInterleaved
    /// Whether NAL units that are small enough share packets.
    public var aggregates = true
    /// The longest RTP payload in bytes, at least 16.
    public var payloadLimit = 1400
    public var stream: RTPStream.Configuration
    /// The key to protect everything with (RFC 3711), before the network that is simulated.
    public var key: SRTPKeyMaterial?
    /// Correction packets beside the media, which cannot be protected by a key.
    public var matrix: MatrixCorrection?
    /// The roll-over counter that the first source begins with, as if it had sent for long.
    public var rollover: UInt32?
    /// What receivers may ask for.
    public var feedback = FeedbackConfiguration()

    public init(recipe: SourceRecipe, stream: RTPStream.Configuration) {
      self.recipe = recipe
      self.stream = stream
    }
  }

  /// A track of sound.
  public struct SoundConfiguration: Sendable {
    public var recipe: SoundRecipe
    /// How often the source is sent, at least once; `nil` means forever.
    public var repetitions: Int? = 1
    /// Nanoseconds from one repetition to the next, the same as for the video.
    public var period: Int64?
    /// How much faster than it should the clock is, in millionths.
    public var clockDeviation = 0.0
    public var packetization = SoundPacketization()
    public var stream: RTPStream.Configuration
    /// The key to protect everything with, as for video.
    public var key: SRTPKeyMaterial?
    public var rollover: UInt32?

    public init(recipe: SoundRecipe, stream: RTPStream.Configuration) {
      self.recipe = recipe
      self.stream = stream
    }
  }

  /// The matrix of SMPTE ST 2022-1: how many packets a row has, and how many a column.
  public struct MatrixCorrection: Sendable, Hashable {
    public let columns: Int
    public let rows: Int

    /// Both are 1 … 20, according to the standard.
    public init?(columns: Int, rows: Int) {
      guard (1...20).contains(columns), (1...20).contains(rows) else { return nil }
      self.columns = columns
      self.rows = rows
    }
  }

  /// A packet, and how far above the port of the media it goes.
  public struct Packet: Sendable, Equatable {
    public var bytes: ByteBuffer
    public var portOffset = 0
    /// The track that it belongs to, counted from 0.
    var track = 0
    var isControl = false
    /// Whether it goes where media go, though it is RTCP, as some cameras do.
    var isAmongMedia = false
    var goesToControlPort: Bool { isControl && !isAmongMedia }
    /// Whether a receiver asked for it.
    var isAnswer = false
    /// The time, in ticks, of the latest picture of which it holds anything and at which decoding
    /// can begin, if there is one.
    var key: Int64?
    var isKey: Bool { key != nil }
    /// Its bytes of payload, if sender reports count it.
    var octets: UInt32?
    /// The same in clear, if it is remembered once it is sent.
    var original: ByteBuffer?
  }

  /// The packets that one access unit completed.
  public struct Batch: Sendable {
    public var packets: [Packet]
    /// When they are due in real time, in ticks of the clock, on the timeline of the first
    /// repetition.
    public var ticks: Int64
  }

  /// Whether the track has pictures.
  let hasPictures: Bool
  public private(set) var stream: RTPStream
  /// Access units taken from the source.
  public var frameCount: Int { payloads.unitCount }
  /// NAL units of these that cannot be sent (``Codec/canSend(_:)``).
  var refusedUnits: Int { payloads.refusedUnits }
  /// What the ticks of batches and timestamps count.
  public var clock: MediaClock { payloads.clock }

  private var payloads: any PayloadSource
  private let requests: FeedbackConfiguration
  private var matrix: ParityMatrix?
  private var protector: SRTPProtector?
  private var answers: FeedbackAnswers
  private var keyPictures = KeyPictureRequests()
  private var reception: ReceptionReport?
  private var lastTicks: Int64 = 0
  private var isFinished = false
  private var quirky = QuirkyPackets()
  private let plan: Plan
  /// The media time of the first batch, and until when the events of the plan have happened.
  private var origin: Int64?
  private var eventsEnd: Int64 = 0

  /// Opens the source of video, to whose numbers the events of `plan` happen.
  ///
  /// - Throws: ``SendError`` when it cannot be opened.
  public init(_ configuration: Configuration, _ plan: Plan = Plan()) throws {
    try self.init(
      try VideoPayloads(configuration, plan), configuration.stream, plan, key: configuration.key,
      rollover: configuration.rollover, feedback: configuration.feedback, hasPictures: true)
    matrix = configuration.matrix.map { ParityMatrix($0) }
  }

  /// Opens the source of sound, to whose numbers the events of `plan` happen.
  ///
  /// - Throws: ``SendError`` when it cannot be opened.
  public init(_ configuration: SoundConfiguration, _ plan: Plan = Plan()) throws {
    try self.init(
      try SoundPayloads(configuration, plan), configuration.stream, plan, key: configuration.key,
      rollover: configuration.rollover, feedback: FeedbackConfiguration(), hasPictures: false)
  }

  private init(
    _ payloads: any PayloadSource, _ stream: RTPStream.Configuration, _ plan: Plan,
    key: SRTPKeyMaterial?, rollover: UInt32?, feedback: FeedbackConfiguration, hasPictures: Bool
  ) throws {
    self.hasPictures = hasPictures
    self.plan = plan
    self.payloads = payloads
    self.stream = RTPStream(stream)
    requests = feedback
    answers = FeedbackAnswers(feedback, of: stream)
    protector = try key.map { try SRTPProtector($0, rollover: rollover) }
  }

  /// Nanoseconds of the shared time at which the limit of access units ended the track.
  var cut: Int64? { payloads.cut.map { clock.nanoseconds(of: $0) } }

  /// Whether its packets are sent as they come, whatever their times say.
  public var isLive: Bool { payloads.isLive }

  /// Has `wake` called, on any thread, each time there is something again after ``next()`` gave
  /// nothing yet.
  public func notify(_ wake: @escaping @Sendable () -> Void) { payloads.notify(wake) }

  /// Leaves out what came since nothing was taken, up to the newest key picture.
  func rejoin() { payloads.rejoin() }

  /// The next packets, if they are due before a media time, in nanoseconds; otherwise, the end.
  ///
  /// - Throws: ``SendError`` when the source cannot be read on.
  public mutating func next(before end: Int64 = .max) throws -> Supply<Batch> {
    while true {
      let supply = try payloads.next()
      if case .nothingYet = supply { return .nothingYet }
      guard let batch = supply.element else { break }
      // What is not sent takes no numbers.
      guard clock.nanoseconds(of: batch.ticks) < end else { return .end }
      lastTicks = batch.ticks
      happen(until: clock.nanoseconds(of: batch.ticks))
      if batch.isRandomAccess {
        keyPictures.satisfy()
        stream.beginGroupOfPictures(changesSource: batch.quirks.contains(.ssrcPerGroup))
      }
      let packets = try packets(of: batch)
      if !packets.isEmpty { return .next(Batch(packets: packets, ticks: batch.ticks)) }
    }
    guard !isFinished else { return .end }
    isFinished = true
    var packets: [Packet] = []
    for packet in stream.finish() { packets += try finished(packet) }
    packets += matrix?.finish() ?? []
    return packets.isEmpty ? .end : .next(Batch(packets: packets, ticks: lastTicks))
  }

  /// The packets of payloads; what interleaving holds back has its packets later.
  private mutating func packets(of batch: PayloadBatch) throws -> [Packet] {
    // By timestamps, which correction packets share.
    var keys: [UInt32: Int64] = [:]
    for payload in batch.payloads {
      guard let key = payload.key else { continue }
      let timestamp = stream.timestamp(of: payload.ticks)
      keys[timestamp] = max(key, keys[timestamp] ?? key)
    }
    var packets: [Packet] = []
    packets.reserveCapacity(batch.payloads.count)
    for packet in stream.packets(with: batch.payloads) {
      packets += try finished(
        packet, batch.quirks, key: packet.rtpTimestamp.flatMap { keys[$0] })
    }
    return packets
  }

  /// Lets happen to the stream what the plan has up to a media time.
  private mutating func happen(until time: Int64) {
    let start = origin ?? time
    origin = start
    let end = max(eventsEnd, time.subtractingSaturating(start).addingSaturating(1))
    for event in plan.events(in: eventsEnd..<end) {
      switch event {
      case .restart: stream.restart()
      case .sequenceJump(let places): stream.leap(places: places)
      case .timestampJump(let ticks): stream.leap(ticks: ticks)
      // The reports and the pattern have these.
      case .clockJump, .parameterSets: break
      }
    }
    eventsEnd = end
  }

  /// Goes on elsewhere in the source, under the next numbers; see ``PayloadSource``.
  ///
  /// `unsent` is what this gave last and nobody has sent. Under a key its numbers are used up,
  /// because no number may encrypt two packets.
  mutating func seek(
    to time: Int64, in survey: FileSurvey, unsent: [ByteBuffer]
  ) throws -> Int64? {
    isFinished = false
    if protector == nil { stream.takeBack(unsent) }
    return try payloads.seek(to: time, in: survey)
  }

  mutating func follow(_ timeline: Timeline) { payloads.timeline = timeline }

  /// The parameter sets of the pictures that came last from the source, once they are known.
  var parameterSets: [Codec.ParameterSet: [ByteBuffer]]? { payloads.parameterSets }

  /// Has the source make a key picture, now or as soon as it may be asked again.
  mutating func requestKeyPicture(at now: Instant) {
    keyPictures.want()
    makeUpForRequests(at: now)
  }

  /// Asks the source for the key picture that came too soon after another.
  mutating func makeUpForRequests(at now: Instant) {
    if keyPictures.take(at: now) { payloads.requestKeyPicture() }
  }

  /// A compound RTCP packet of the stream, in the form in which it is sent.
  public mutating func protected(_ compound: ByteBuffer) throws -> ByteBuffer {
    try protector?.protect(compound) ?? compound
  }

  /// Requests and answers so far.
  public var feedback: FeedbackCounters { answers.counters }

  /// Remembers a packet, which is sent now, for receivers that ask for it.
  mutating func noteSent(_ packet: Packet) {
    if let original = packet.original { answers.remember(original, sentAs: packet.bytes) }
  }

  /// What the receivers' RTCP said last of the present source, since the last call.
  mutating func takeReception() -> ReceptionReport? { reception.take() }

  /// Takes RTCP that a receiver sent back, and gives the packets that answer it, as they are sent.
  ///
  /// Unknown requests are ignored. A requested key picture is the source's next one, which a live
  /// source makes at once.
  public mutating func answer(_ datagram: ByteBuffer, at now: Instant) -> [Packet] {
    guard RTCPPacket.recognizes(datagram) else { return [] }
    var compound: ByteBuffer? = datagram
    if protector != nil { compound = protector?.unprotect(control: datagram, at: now) }
    guard let compound else { return [] }
    let own = ReceptionReport.reports(in: compound).last { $0.ssrc == stream.ssrc }
    reception = own ?? reception
    guard !requests.requests.isEmpty, let messages = try? RTCPPacket.parse(compound: compound)
    else { return [] }
    answers.noteCompound()
    var packets: [ByteBuffer] = []
    for case .feedback(let message, let requester) in messages
    where packets.count < FeedbackAnswers.maximumAnswers {
      switch answers.take(message, from: requester) {
      case .asSent(let again): packets += again
      case .clear(let again): packets += again.compactMap { try? protected($0) }
      case .keyPicture: requestKeyPicture(at: now)
      }
    }
    let offset = requests.portOffset
    return packets.map { Packet(bytes: $0, portOffset: offset) }
  }

  /// A packet in the form in which it is sent, with those that quirks add, and correction packets
  /// for other ports.
  private mutating func finished(
    _ packet: ByteBuffer, _ quirks: Set<Quirk> = [], key: Int64? = nil
  ) throws -> [Packet] {
    // What quirks add is not counted: it has no number of its own.
    var octets = stream.octets(of: packet)
    var finished: [Packet] = []
    for packet in quirky.apply(quirks, to: packet) {
      let original = answers.remembers ? packet : nil
      finished.append(
        Packet(
          bytes: try protected(packet), key: key, octets: octets.take(), original: original))
      if let correction = matrix?.add(packet) { finished += correction }
    }
    return finished
  }
}
