public import NIOCore
public import RTPWire
public import Transports

/// Turns a source into RTP packets: repeats, limits, strips, packetizes and numbers it.
public struct PacketFeed {
  public struct Configuration: Sendable {
    public var recipe: SourceRecipe
    /// How often the source is sent, at least once; `nil` means forever.
    public var repetitions: Int? = 1
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
  }

  /// The packets that one access unit completed.
  public struct Batch: Sendable {
    public var packets: [Packet]
    /// When they are due in real time, in 90 kHz ticks on the timeline of the first repetition.
    public var ticks: Int64
  }

  public private(set) var stream: RTPStream
  /// Access units taken from the source.
  public private(set) var frameCount = 0

  private let configuration: Configuration
  private let source: any AccessUnitSource
  private var packetizer: any Packetizer
  private var matrix: ParityMatrix?
  private var protector: SRTPProtector?
  private var answers: FeedbackAnswers
  private var lastTicks: Int64 = 0
  private var isFinished = false

  /// Opens the source.
  ///
  /// - Throws: ``SendError`` when it cannot be opened.
  public init(_ configuration: Configuration) throws {
    self.configuration = configuration
    source = try RepeatedSource(configuration.recipe, repetitions: configuration.repetitions)
    packetizer = configuration.packetization.packetizer(
      for: source.codec, payloadLimit: configuration.payloadLimit,
      aggregates: configuration.aggregates)
    stream = RTPStream(configuration.stream)
    matrix = configuration.matrix.map { ParityMatrix($0) }
    answers = FeedbackAnswers(configuration.feedback, of: configuration.stream)
    protector = try configuration.key.map {
      try SRTPProtector($0, rollover: configuration.rollover)
    }
  }

  /// The next packets, or `nil` at the end.
  ///
  /// - Throws: ``SendError`` when the source cannot be read on.
  public mutating func next() throws -> Batch? {
    while !isFinished {
      guard frameCount < configuration.frameLimit ?? .max, var unit = try source.next() else {
        isFinished = true
        let packets =
          try finished(stream.packets(with: packetizer.finish()) + stream.finish())
          + (matrix?.finish() ?? [])
        return packets.isEmpty ? nil : Batch(packets: packets, ticks: lastTicks)
      }
      frameCount += 1
      lastTicks = unit.decodingTicks
      if configuration.stripsParameterSets {
        let codec = source.codec
        unit.units.removeAll { codec.parameterSet($0) != nil }
      }
      if unit.isRandomAccess { stream.beginGroupOfPictures() }
      let packets = try finished(stream.packets(with: packetizer.packetize(unit)))
      if !packets.isEmpty { return Batch(packets: packets, ticks: unit.decodingTicks) }
    }
    return nil
  }

  /// A compound RTCP packet of the stream, in the form in which it is sent.
  public mutating func protected(_ compound: ByteBuffer) throws -> ByteBuffer {
    try protector?.protect(compound) ?? compound
  }

  /// Requests and answers so far.
  public var feedback: FeedbackCounters { answers.counters }

  /// Takes RTCP that a receiver sent back, and gives the packets that answer it, as they are sent.
  ///
  /// Unknown requests are ignored. A requested key picture is the source's next one, which a live
  /// source makes at once.
  public mutating func answer(_ datagram: ByteBuffer, at now: Instant) -> [Packet] {
    guard !configuration.feedback.requests.isEmpty, RTCPPacket.recognizes(datagram) else {
      return []
    }
    var compound: ByteBuffer? = datagram
    if protector != nil { compound = protector?.unprotect(control: datagram, at: now) }
    guard let compound, let messages = try? RTCPPacket.parse(compound: compound) else { return [] }
    answers.noteCompound()
    var packets: [ByteBuffer] = []
    for case .feedback(let message, let requester) in messages
    where packets.count < FeedbackAnswers.maximumAnswers {
      switch answers.take(message, from: requester) {
      case .asSent(let again): packets += again
      case .clear(let again): packets += again.compactMap { try? protected($0) }
      case .keyPicture: source.requestKeyPicture()
      }
    }
    let offset = configuration.feedback.portOffset
    return packets.map { Packet(bytes: $0, portOffset: offset) }
  }

  /// The packets in the form in which they are sent, with correction packets for other ports.
  private mutating func finished(_ packets: [ByteBuffer]) throws -> [Packet] {
    let isKept = configuration.feedback.requests.contains(.nack)
    var finished: [Packet] = []
    finished.reserveCapacity(packets.count)
    for packet in packets {
      let sent = try protected(packet)
      if isKept || protector != nil { answers.remember(packet, sentAs: sent) }
      finished.append(Packet(bytes: sent))
      if let correction = matrix?.add(packet) { finished += correction }
    }
    return finished
  }
}
