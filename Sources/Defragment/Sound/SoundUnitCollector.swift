public import Bitstream
public import NIOCore
import RTPProcessor
public import RTPWire

/// Takes the units that a ``SoundPayloadFormat`` finds in the payloads, and gives them their times.
///
/// What spans several packets is kept with ``keep(_:)`` until it is whole.
public struct SoundUnitCollector: Sendable {
  /// The most bytes of a unit: several times the longest packet of 8 channels.
  public static let maximumUnitBytes = 128 << 10
  /// The most units of a packet: 64 subframes of LATM, or what a jumbo frame has of low-rate AAC.
  public static let maximumUnitsPerPacket = 512
  /// A longer step of the timestamps is a leap, which says nothing about what is missing.
  static let longestGap: Duration = .seconds(10)

  /// What becomes of a packet.
  enum PacketOutcome: Sendable, Hashable {
    case unpacked, malformed, orphan
  }

  var statistics = SoundStatistics()
  private var ready = CircularBuffer<SoundUnit>()
  private var interleaved = InterleavedSound()
  private var outcome = PacketOutcome.unpacked
  /// The current packet.
  private var packetTime = MediaTime(ticks: 0, timescale: 1)
  private var arrival = Instant(nanoseconds: 0)
  private var unitsOfPacket = 0
  /// Where the units of the current packet begin: with the packet, or with what was kept before it.
  private var begun = (time: MediaTime(ticks: 0, timescale: 1), arrival: Instant(nanoseconds: 0))
  private var kept: Kept?
  /// To be told with the next unit.
  private var lostBefore = 0
  private var isDiscontinuity = false
  /// Where the last unit ended.
  private var end: MediaTime?

  /// The beginning of something that ends in a later packet.
  private struct Kept: Sendable {
    var bytes: ByteBuffer
    var time: MediaTime
    var arrival: Instant
  }

  // MARK: - For the format

  /// The timestamp of the current packet.
  public var time: MediaTime { packetTime }

  /// Packets that are missing before the next unit.
  public var lostPackets: Int { lostBefore }

  /// How many bytes are kept from earlier packets; `nil` if there are none.
  public var keptByteCount: Int? { kept?.bytes.readableBytes }

  /// The timestamp of what is kept from earlier packets.
  public var keptTime: MediaTime? { kept?.time }

  /// Adds a whole unit.
  ///
  /// - Parameters:
  ///   - bytes: the unit; an empty one is ignored.
  ///   - format: what its decoder has to know.
  ///   - ticks: by how many ticks of the packet's clock it begins later than the packet, or than
  ///     what ``takeKept()`` gave back.
  ///   - samples: how many samples of each channel it decodes to, at the format's rate.
  ///   - isInterleaved: whether later packets may hold earlier units.
  public mutating func append(
    _ bytes: ByteBuffer, format: SoundFormat, at ticks: Int64 = 0, samples: Int,
    isInterleaved: Bool = false
  ) {
    guard bytes.readableBytes > 0 else { return }
    guard unitsOfPacket < Self.maximumUnitsPerPacket, bytes.readableBytes <= Self.maximumUnitBytes
    else {
      statistics.excessUnits += 1
      return
    }
    unitsOfPacket += 1
    // The bytes may be a slice of a whole read, all of which would stay in memory with the unit.
    var own = ByteBufferAllocator().buffer(capacity: bytes.readableBytes)
    own.writeBytes(bytes.readableBytesView)
    let unit = SoundUnit(
      format: format, bytes: own,
      time: MediaTime(
        ticks: begun.time.ticks.addingSaturating(ticks), timescale: begun.time.timescale),
      sampleCount: max(samples, 0), firstArrival: begun.arrival, lastArrival: arrival)
    guard isInterleaved || interleaved.isInUse else { return emit(unit) }
    // Where so many would wait that some have to go on, those after them would come too late.
    let longest = Self.longestGap.components.seconds * Int64(unit.time.timescale)
    guard unit.time.ticks.subtractingSaturating(packetTime.ticks).magnitude <= UInt64(longest)
    else { return noteMalformed() }
    // No packet comes so late; what waits is from before the sender's clock was set back. What is
    // not interleaved from here on does not wait either.
    if interleaved.isBefore(unit, byMoreThan: longest) {
      flush()
      guard isInterleaved else { return emit(unit) }
    }
    switch interleaved.insert(unit) {
    case .waiting: break
    case .late: statistics.lateUnits += 1
    }
  }

  /// Keeps a part of something that ends in a later packet; `false` if it has become too long.
  @discardableResult
  public mutating func keep(_ piece: ByteBuffer) -> Bool {
    var piece = piece
    if kept == nil {
      kept = Kept(bytes: ByteBuffer(), time: packetTime, arrival: arrival)
    }
    guard (keptByteCount ?? 0) + piece.readableBytes <= Self.maximumUnitBytes else {
      kept = nil
      statistics.excessUnits += 1
      return false
    }
    kept?.bytes.writeBuffer(&piece)
    return true
  }

  /// Gives back what was kept; units that are appended from then on begin where that did.
  public mutating func takeKept() -> ByteBuffer? {
    guard let kept else { return nil }
    begun = (kept.time, kept.arrival)
    self.kept = nil
    return kept.bytes
  }

  /// Units that are appended from now on begin with the packet again.
  public mutating func beginAtPacket() { begun = (packetTime, arrival) }

  /// Drops what was kept, because its end is missing.
  public mutating func dropKept() {
    guard kept != nil else { return }
    kept = nil
    statistics.cutUnits += 1
  }

  /// Notes that the payload makes no sense.
  public mutating func noteMalformed() { outcome = .malformed }

  /// Notes that the payload continues something whose beginning is missing.
  public mutating func noteOrphan() { if outcome == .unpacked { outcome = .orphan } }

  // MARK: - For the defragmenter

  /// Begins a packet.
  mutating func begin(_ packet: OrderedPacket) {
    (packetTime, arrival) = (packet.time, packet.arrival)
    begun = (packet.time, packet.arrival)
    unitsOfPacket = 0
    outcome = .unpacked
  }

  /// Ends the packet, and says what became of it.
  mutating func endPacket() -> PacketOutcome {
    while let unit = interleaved.pop(upTo: packetTime) { emit(unit) }
    return outcome
  }

  /// Notes packets that are missing before the next one.
  mutating func noteLoss(of packets: Int) {
    statistics.lostPackets += UInt64(clamping: packets)
    lostBefore = lostBefore.addingSaturating(packets)
    dropKept()
  }

  /// Notes a restart of the sender's numbering.
  mutating func restart() {
    dropKept()
    flush()
    isDiscontinuity = true
    end = nil
  }

  /// Releases everything that waits for its turn.
  mutating func flush() {
    while let unit = interleaved.popAll() { emit(unit) }
    interleaved = InterleavedSound()
  }

  mutating func next() -> SoundUnit? { ready.popFirst() }

  // MARK: - Inside

  private mutating func emit(_ unit: SoundUnit) {
    noteGap(before: unit)
    statistics.units += 1
    statistics.samples &+= UInt64(clamping: unit.sampleCount)
    ready.append(
      SoundUnit(
        format: unit.format, bytes: unit.bytes, time: unit.time, sampleCount: unit.sampleCount,
        firstArrival: unit.firstArrival, lastArrival: unit.lastArrival, lostBefore: lostBefore,
        isDiscontinuity: isDiscontinuity))
    (lostBefore, isDiscontinuity) = (0, false)
  }

  /// Counts what is missing between the last unit and `unit`.
  private mutating func noteGap(before unit: SoundUnit) {
    let rate = Int64(clamping: unit.format.sampleRate)
    let scale = Int64(unit.time.timescale)
    // A unit has fewer samples than bytes times 64, so that this stays far from the limits.
    let length = Int64(clamping: unit.sampleCount).multipliedReportingOverflow(by: scale)
    let ticks = length.overflow ? 0 : length.partialValue / max(rate, 1)
    defer {
      end = MediaTime(
        ticks: unit.time.ticks.addingSaturating(ticks), timescale: unit.time.timescale)
    }
    guard let end, end.timescale == unit.time.timescale else { return }
    let gap = unit.time.ticks.subtractingSaturating(end.ticks)
    let longest = Self.longestGap.components.seconds * scale
    guard gap.magnitude <= UInt64(longest) else {
      statistics.leaps += 1
      return
    }
    guard gap > 0 else { return }
    // At most ten seconds of at most 2^32 ticks, times at most 2^31 samples a second.
    let product = gap.multipliedReportingOverflow(by: rate)
    let samples = UInt64(clamping: product.overflow ? 0 : product.partialValue / scale)
    if lostBefore > 0 {
      statistics.missingSamples &+= samples
    } else {
      statistics.silentSamples &+= samples
    }
  }
}
