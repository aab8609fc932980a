internal import NIOCore
internal import RTPWire

/// A capture that comes through a pipe, for example from tcpdump on another machine.
///
/// Until the flow to play is chosen, packets that may belong to it are kept. From then on, packets
/// go out as they come in.
struct CaptureDelivery {
  enum Event: Sendable {
    case described([MediaDescription])
    case packet(Datagram)
    /// A read has been processed.
    case readCompleted(at: Instant)
  }

  /// Bytes expanded at a time.
  private static let expandedLength = 256 << 10

  /// What was chosen and left out, a sentence each.
  private(set) var remarks: [TransportDiagnostic] = []
  private let wish: FlowSurvey.Wish
  private let expansion: GzipReader?
  /// The first bytes, until the format is recognized.
  private var beginning = ByteBuffer()
  private var reader: (any RecordingReader)?
  private var dissection: Dissection
  private var origins = FlowOrigins()
  private var clock = TransitClock()
  private var stage = Stage.surveying(CaptureSurvey())
  private var waiting = CircularBuffer<(bytes: ByteBuffer, arrival: Instant)>()
  private var events = CircularBuffer<Event>()
  /// When the current read arrived.
  private var arrival: Instant?
  private var hasEnded = false
  private var isDrained = false

  private enum Stage {
    case surveying(CaptureSurvey)
    case playing(FlowChoice)
  }

  init(_ configuration: ReplayConfiguration, isCompressed: Bool) {
    wish = configuration.wish
    dissection = Dissection(said: configuration.description)
    expansion = isCompressed ? GzipReader() : nil
  }

  /// How the media that is played was carried, once that is chosen.
  var carriage: TransportCounters.Carriage? {
    if case .playing(let choice) = stage { choice.carriage } else { nil }
  }

  /// Whether the capture lacks something that came.
  var isIncomplete: Bool { dissection.statistics.isIncomplete }

  mutating func append(_ bytes: ByteBuffer, at arrival: Instant) {
    waiting.append((bytes, arrival))
  }

  /// Ends the input; call ``next()`` for what is left.
  mutating func finish() { hasEnded = true }

  /// The next event; `nil` when more bytes are needed, or at the end.
  ///
  /// - Throws: ``ReplayError``: why the rest, or all of it, cannot be played.
  mutating func next() throws -> Event? {
    do {
      while true {
        if let event = events.popFirst() { return event }
        if let recording = try reader?.next() {
          take(recording)
        } else if try !expandMore() {
          if let arrival {
            self.arrival = nil
            return .readCompleted(at: arrival)
          }
          guard try readOn() else { return nil }
        }
      }
    } catch let damage as DamagedRecording {
      throw ReplayError.damaged("\(damage)")
    }
  }

  // MARK: Bytes

  /// Continues with the next read, or with what follows the last one; `false` if there is neither.
  private mutating func readOn() throws -> Bool {
    guard let read = waiting.popFirst() else {
      guard hasEnded, !isDrained else { return false }
      isDrained = true
      try drain()
      return true
    }
    arrival = read.arrival
    if let expansion {
      expansion.append(read.bytes)
    } else {
      try feed(read.bytes)
    }
    return true
  }

  private mutating func expandMore() throws -> Bool {
    guard let expansion else { return false }
    var bytes = ByteBuffer()
    guard try expansion.read(atMost: Self.expandedLength, into: &bytes) > 0 else { return false }
    try feed(bytes)
    return true
  }

  private mutating func feed(_ bytes: ByteBuffer) throws {
    guard reader == nil else { return reader?.append(bytes) ?? () }
    beginning.writeImmutableBuffer(bytes)
    guard let format = RecordingFormat(beginning: beginning, name: "") else {
      guard beginning.readableBytes < ForeignContent.signatureLength else { throw unknownContent }
      return
    }
    reader = format.makeReader()
    reader?.append(beginning)
    beginning = ByteBuffer()
  }

  private var unknownContent: ReplayError {
    ForeignContent(beginning: beginning).map { .foreign($0) } ?? .unknownFormat
  }

  /// Gives up what is missing at the end.
  private mutating func drain() throws {
    guard let reader else {
      throw beginning.readableBytes == 0 ? ReplayError.empty : unknownContent
    }
    var packets: [CarriedPacket] = []
    dissection.finish { packets.append($0) }
    let now = latest
    for packet in packets { take(packet, readAt: now) }
    if case .surveying(let survey) = stage {
      guard dissection.statistics.packets > 0 || reader.unfinished == 0 else {
        throw ReplayError.endsInHeader
      }
      guard choose(survey) else {
        throw survey.flows.missing(
          for: wish, in: dissection.statistics,
          isCut: reader.unfinished > 0 || expansion?.isInsideMember == true)
      }
    }
    remarks +=
      dissection.statistics.losses + origins.order.remarks
      + reader.oddities.map { .warning("\($0)") }
    if reader.unfinished > 0 || expansion?.isInsideMember == true {
      remarks.append(.warning("the capture ends in the middle of a packet"))
    }
  }

  // MARK: Packets

  private var latest: Instant { clock.latest }

  private mutating func take(_ recording: Recording) {
    var packets: [CarriedPacket] = []
    dissection.receive(recording) { packets.append($0) }
    for packet in packets { take(packet, readAt: arrival ?? latest) }
  }

  private mutating func take(_ packet: CarriedPacket, readAt now: Instant) {
    let arrival = clock.arrival(ofRecorded: packet.time, readAt: now)
    guard case .surveying(var survey) = stage else { return play(packet, at: arrival) }
    // So that nothing else references it while it changes.
    stage = .surveying(CaptureSurvey())
    survey.observe(packet, at: arrival)
    let isEnough = survey.isEnough(for: wish, at: packet.time)
    stage = .surveying(survey)
    if isEnough { choose(survey) }
  }

  @discardableResult
  private mutating func choose(_ survey: CaptureSurvey) -> Bool {
    guard let choice = FlowChoice(from: survey.flows, for: wish, in: dissection) else {
      return false
    }
    stage = .playing(choice)
    remarks.append(choice.remark(among: survey.flows, for: wish))
    if !choice.descriptions.isEmpty { events.append(.described(choice.descriptions)) }
    for (packet, arrival) in survey.kept { play(packet, at: arrival) }
    return true
  }

  private mutating func play(_ packet: CarriedPacket, at arrival: Instant) {
    guard case .playing(let choice) = stage,
      let datagram = origins.datagram(of: packet, in: choice, at: arrival)
    else { return }
    events.append(.packet(datagram))
  }
}
