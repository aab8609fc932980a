import Bitstream
public import NIOCore
import RTPProcessor
import RTPWire

/// Takes NAL units, whole or in pieces, and writes them straight into their access unit.
///
/// This is the only copy of a payload between kernel and decoder. Units sent out of decoding order
/// first pass through a `DecodingOrderBuffer`.
public struct NALUnitCollector: Sendable {
  /// What was counted of the stream; payload formats count in it what they find in payloads.
  public var statistics: DefragmentStatistics {
    get { assembler.statistics }
    _modify { yield &assembler.statistics }
  }
  private(set) var assembler: AccessUnitAssembler
  /// The time and position of the current packet.
  private var time: MediaTime
  private var arrival: Instant
  /// The current packet, with what happened to it and to those before it that had no part in a
  /// unit.
  private var packets: UnitPackets?
  private var reordering: DecodingOrderBuffer?
  /// How many of the next units may follow a lost one.
  private var unitsNearLoss = 0
  private var state = State.between
  private let endsUnitsAtMarker: Bool
  /// Pieces of the current unit.
  private var pieces = 0
  /// Markers have been seen where no unit can end.
  private var ignoresMarkers = false

  private enum State: Sendable {
    case between
    /// Written into the access unit as it arrives.
    case direct
    /// Kept apart until it is whole and its turn comes.
    case apart(
      ByteBuffer, number: UInt16, time: MediaTime, packets: UnitPackets?, isCut: Bool)
  }

  init(format: any PayloadFormat.Type, limits: VideoDefragmenter.Limits) {
    assembler = AccessUnitAssembler(format: format, limits: limits)
    endsUnitsAtMarker = format.endsUnitsAtMarker
    time = MediaTime(ticks: 0, timescale: 1)
    arrival = Instant(nanoseconds: 0)
  }

  /// Expects units out of decoding order from now on, within `bounds`.
  mutating func expectInterleaving(_ bounds: InterleavingBounds) {
    reordering = DecodingOrderBuffer(bounds: bounds)
    assembler.markers.refute()
  }

  /// Begins a packet, which gives the following units their time.
  ///
  /// All fragments of a unit have the same timestamp (RFC 6184 §5.8), so a new one ends the unit.
  mutating func begin(_ packet: OrderedPacket) {
    if isInUnit, packet.time != time { endUnmarked() }
    time = packet.time
    arrival = packet.arrival
    var current = UnitPackets(packet)
    if let former = packets { current.addCounts(of: former) }
    packets = current
  }

  private mutating func takePackets() -> UnitPackets? { packets?.take() }

  /// Whether a unit is open.
  public var isInUnit: Bool { if case .between = state { false } else { true } }

  /// Adds a whole unit of at least one byte.
  public mutating func add(_ unit: ByteBuffer, number: UInt16? = nil, ticksLater: UInt32 = 0) {
    guard unit.readableBytes > 0 else {
      statistics.emptyEntries += 1
      return
    }
    let time = MediaTime(
      ticks: self.time.ticks.addingSaturating(Int64(ticksLater)), timescale: self.time.timescale)
    var packets = takePackets()
    packets?.timestamp &+= ticksLater
    guard let number, reordering != nil else {
      write(unit, time: time, arrival: arrival, packets: packets, isWhole: true)
      return
    }
    reorder(unit, number: number, time: time, packets: packets, isWhole: true)
  }

  /// Begins a unit in pieces, with a header rebuilt from the fragment's, and its first piece.
  public mutating func begin(header: [UInt8], piece: ByteBuffer, number: UInt16? = nil) {
    if let number, reordering != nil {
      var unit = ByteBufferAllocator().buffer(capacity: header.count + piece.readableBytes)
      unit.writeBytes(header)
      unit.writeImmutableBuffer(piece)
      state = .apart(unit, number: number, time: time, packets: takePackets(), isCut: false)
    } else {
      assembler.begin(
        NALUnitHead(header: header, body: piece), body: piece, time: time, arrival: arrival,
        packets: takePackets())
      assembler.append(header: header)
      assembler.append(piece)
      state = .direct
    }
    pieces = 1
  }

  /// Adds the next piece of the open unit.
  public mutating func append(_ piece: ByteBuffer) {
    pieces += 1
    // Most pieces; to look at all cases would copy the unit of the last one.
    if case .direct = state {
      assembler.note(takePackets(), at: time)
      assembler.append(piece)
      return
    }
    switch state {
    case .between, .direct:
      noteOrphan()
    case .apart(var unit, let number, let time, var packets, var isCut):
      state = .between
      if let more = takePackets() { packets?.add(more) }
      if !isCut {
        if unit.readableBytes + piece.readableBytes <= assembler.limits.accessUnitBytes {
          unit.writeImmutableBuffer(piece)
        } else {
          statistics.oversizedUnits += 1
          isCut = true
        }
      }
      state = .apart(unit, number: number, time: time, packets: packets, isCut: isCut)
    }
  }

  /// Ends the open unit, if any; it is cut when `isWhole` is `false`.
  public mutating func end(isWhole: Bool) {
    if !isWhole, isInUnit { statistics.cutUnits += 1 }
    switch state {
    case .between: break
    case .direct:
      assembler.end(isWhole: isWhole, arrival: arrival)
    case .apart(let unit, let number, let time, let packets, let isCut):
      reorder(
        unit, number: number, time: time, packets: packets, isWhole: isWhole && !isCut)
    }
    state = .between
  }

  /// Ends the open unit, if any, whose end bit did not come although no packet is missing.
  ///
  /// Some payloaders never set it. A fragmented unit has at least two fragments (RFC 6184 §5.8), so
  /// one with a single fragment is cut.
  public mutating func endUnmarked() {
    guard isInUnit else { return }
    let isWhole = pieces > 1
    if isWhole { statistics.unmarkedEnds += 1 }
    end(isWhole: isWhole)
  }

  /// Ends the packet; with `marker`, it is the last of its access unit.
  mutating func endOfPacket(marker: Bool) {
    guard marker else {
      if !isInUnit { assembler.markers.noteUnmarkedEnd() }
      return
    }
    if endsUnitsAtMarker {
      if isInUnit { end(isWhole: true) }
    } else if isInUnit, pieces == 1, !ignoresMarkers {
      // No fragmented unit ends with its first fragment (RFC 6184 §5.8), so the marker lies: some
      // senders set it on every packet.
      ignoresMarkers = true
      assembler.noteMisplacedMarker()
    }
    if ignoresMarkers { return }
    if !endsUnitsAtMarker {
      // A payloader that never sets the end bit still sets the marker.
      endUnmarked()
    }
    assembler.noteMarker()
  }

  /// Notes `count` packets missing before the next one.
  mutating func noteLoss(of count: Int?) {
    assembler.noteLoss(of: count)
    if let reordering { unitsNearLoss = reordering.reach + 1 }
  }

  /// Ends the stream, or restarts it: what is open becomes an access unit, or is left out with
  /// `isLeft`, because the sender goes on with it.
  mutating func flush(isLeft: Bool) {
    if isLeft, reordering == nil {
      // Its unit goes with it.
      state = .between
    } else {
      end(isWhole: false)
    }
    while let unit = reordering?.removeFirst() { write(unit) }
    reordering?.restart()
    if isLeft {
      assembler.leave()
    } else {
      assembler.flush()
    }
  }

  /// Whether a picture that a marker has ended waits for what shows that it is complete.
  var isWaiting: Bool { assembler.isWaiting }

  /// Ends the access unit that waits.
  mutating func release() { assembler.release() }

  /// Whether there is a complete access unit.
  var hasUnit: Bool { assembler.hasUnit }

  /// The next complete access unit.
  mutating func next() -> AccessUnit? { assembler.next() }

  /// Forgets which parameter sets came in-band: the decoder needs them again.
  mutating func restart() { assembler.restart() }

  /// Notes that what comes next is of another source, which may use markers as it should.
  mutating func noteOtherSource() {
    assembler.isBehindOtherSource = true
    guard reordering == nil else { return }
    ignoresMarkers = false
    assembler.markers = MarkerTrust()
  }

  /// Gives the assembler parameter sets from outside the stream.
  mutating func learn(_ set: ByteBuffer) -> Bool { assembler.learn(set) }

  private mutating func reorder(
    _ unit: ByteBuffer, number: UInt16, time: MediaTime, packets: UnitPackets?, isWhole: Bool
  ) {
    let entry = DecodingOrderBuffer.Unit(
      bytes: ByteBuffer(buffer: unit), time: time, arrival: arrival, packets: packets,
      isWhole: isWhole,
      isPicture: assembler.isPicture(unit))
    if reordering?.insert(entry, number: number) == false {
      statistics.lateUnits += 1
      assembler.noteUselessPiece(at: time)
    }
    while let unit = reordering?.removeNext() { write(unit) }
  }

  private mutating func write(_ unit: DecodingOrderBuffer.Unit) {
    // A lost unit may have been sent far from its place; but a number that was never used is no
    // loss (RFC 6184 §5.5).
    if unit.isBehindHole, unitsNearLoss > 0 { assembler.noteHole() }
    unitsNearLoss = max(0, unitsNearLoss - 1)
    write(
      unit.bytes, time: unit.time, arrival: unit.arrival, packets: unit.packets,
      isWhole: unit.isWhole)
  }

  private mutating func write(
    _ unit: ByteBuffer, time: MediaTime, arrival: Instant, packets: UnitPackets?, isWhole: Bool
  ) {
    assembler.begin(
      NALUnitHead(of: unit), body: unit.dropping(bytes: assembler.headerLength), time: time,
      arrival: arrival, packets: packets)
    assembler.append(unit)
    assembler.end(isWhole: isWhole, arrival: arrival)
  }
}

extension NALUnitCollector {
  /// Unpacks the entries of an aggregation packet, each preceded by a 16-bit length.
  ///
  /// Complete entries are kept when the last one is cut. Trailing zeros are padding, which some
  /// cameras add; a single trailing byte is ignored.
  public mutating func unpackEntries(
    _ rest: inout ByteBuffer, _ take: (ByteBuffer, inout NALUnitCollector) -> Void
  ) {
    var isEmpty = true
    let end = rest.endWithoutZeros(from: rest.readerIndex, to: rest.writerIndex)
    defer { if isEmpty { statistics.emptyPayloads += 1 } }
    while rest.readableBytes >= 2 {
      guard let length = rest.readInteger(as: UInt16.self) else { return }
      if length == 0 {
        if rest.readerIndex >= end { return }
        statistics.emptyEntries += 1
        continue
      }
      isEmpty = false
      guard let entry = rest.readSlice(length: Int(length)) else { return noteMalformed() }
      take(entry, &self)
    }
  }

  /// Notes that the rest of the payload has inconsistent lengths.
  public mutating func noteMalformed() {
    statistics.malformedPayloads += 1
    assembler.noteUselessPiece(at: time)
  }

  /// Notes a fragment of a unit whose beginning is missing.
  public mutating func noteOrphan() {
    statistics.orphanFragments += 1
    assembler.noteUselessPiece(at: time)
  }
}
