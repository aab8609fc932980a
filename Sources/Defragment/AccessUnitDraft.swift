import Bitstream
import NIOCore
import RTPWire

/// An access unit under assembly.
struct AccessUnitDraft: Sendable {
  var bytes: ByteBuffer
  var units: [NALUnit] = []
  /// The unit being written; `nil` between units and while one is dropped.
  var writing: Writing?
  /// How many units the assembler has examined.
  var examined = 0
  var time: MediaTime
  var firstArrival: Instant
  var lastArrival: Instant
  /// The packets that its parts came in.
  private(set) var packets: UnitPackets?
  /// What the timestamps that were sent differ from the unwrapped ones by, modulo 2^32.
  private var timestampOffset: UInt32 = 0
  /// A picture has begun, even if none of it was usable.
  var hasPicture = false
  /// One bit per type of parameter set.
  var parameterSetTypes: UInt64 = 0
  var isRandomAccess = false
  /// The cause of damage, if any (``noteDamage(_:)``).
  private(set) var damage: PictureDamage?
  /// The first slice of the picture is among the units, also where it came inside of another unit
  /// (``Slices/hasFirst`` knows those that came by themselves).
  var hasBeginning = false
  /// Packets are missing before the picture, which may have belonged to it.
  var isBehindLoss = false
  /// A limit was reached.
  var isFull = false
  var gaps: [AccessUnit.Gap] = []
  var dependency: PictureDependency?
  var recoveryPoint: RecoveryPoint?
  /// The first slice.
  var slice: NALUnit?
  var slices = Slices()
  /// Indices of parameter sets that were already known.
  var repeatedSets: [Int] = []
  /// Units that came between the slices and belong before them.
  private(set) var strays: [ByteBuffer] = []
  /// How many bytes these will take.
  private(set) var strayBytes = 0

  /// What is known of its picture's slices.
  struct Slices: Sendable {
    /// What they identify the picture by, if they do.
    var identity: PictureIdentity?
    /// The first slice of the picture has come.
    var hasFirst = false
  }

  init(bytes: ByteBuffer, time: MediaTime, arrival: Instant) {
    self.bytes = bytes
    self.time = time
    firstArrival = arrival
    lastArrival = arrival
  }

  /// Notes that a part came in `other`, packets whose time is `time`.
  mutating func note(_ other: UnitPackets?, at time: MediaTime) {
    guard let other else { return }
    timestampOffset = other.timestamp &- UInt32(truncatingIfNeeded: time.ticks)
    if packets == nil { packets = other } else { packets?.add(other) }
  }

  /// Notes the cause, if none is known: missing packets also explain a unit that is cut and a piece
  /// without its beginning, which are noticed first.
  mutating func noteDamage(_ cause: PictureDamage) {
    let isExplained = cause == .lostPackets && [.cutUnit, .uselessPiece].contains(damage)
    if damage == nil || isExplained { damage = cause }
  }

  /// The number of units it will have.
  var unitCount: Int { units.count + strays.count }

  var lostPackets: Int { gaps.reduce(0) { $0 + ($1.packets ?? 0) } }

  /// The finished access unit.
  func accessUnit(codec: VideoCodec, format: FormatDescription?) -> AccessUnit {
    var packets = packets
    packets?.timestamp = UInt32(truncatingIfNeeded: time.ticks) &+ timestampOffset
    return AccessUnit(
      codec: codec, bytes: bytes, units: units, time: time, firstArrival: firstArrival,
      lastArrival: lastArrival,
      integrity: damage != nil ? .damaged : isBehindLoss ? .afterLoss : .whole, damage: damage,
      gaps: gaps, packets: packets, isRandomAccess: isRandomAccess, dependency: dependency,
      recoveryPoint: recoveryPoint, format: format)
  }

  /// Notes that `count` packets are missing after the units so far; `nil` means an unknown number.
  mutating func noteGap(of count: Int?) {
    if let last = gaps.indices.last, gaps[last].unitIndex == units.count {
      let known = [gaps[last].packets, count].compactMap(\.self)
      gaps[last] = AccessUnit.Gap(
        unitIndex: units.count, packets: known.isEmpty ? nil : known.reduce(0, +))
    } else {
      gaps.append(AccessUnit.Gap(unitIndex: units.count, packets: count))
    }
  }

  /// Puts `sets` before a picture whose stream does not carry them.
  mutating func prepend(_ sets: ParameterSets, format: any PayloadFormat.Type) {
    // A delimiter precedes everything else (H.264 §7.4.1.2.3, H.265 §7.4.2.4.4).
    let hasDelimiter = units.first.map { $0.type == format.accessUnitDelimiterType } ?? false
    insert(sets.inNaturalOrder, before: hasDelimiter ? 1 : 0, format: format)
  }

  /// The picture continues after `other`, which has none.
  ///
  /// `x264enc tune=zerolatency ! rtph264pay config-interval=-1` puts the parameter sets before each
  /// slice of a key picture. Repeated ones are left out, because libavcodec accepts no parameter
  /// sets within a picture; the rest is moved before the picture.
  ///
  /// - Returns: how many units had no room.
  mutating func goOn(
    behind other: AccessUnitDraft, within bounds: Bounds, format: any PayloadFormat.Type
  ) -> Int {
    var excess = 0
    for (index, unit) in other.units.enumerated() {
      let content =
        other.bytes.getSlice(
          at: other.bytes.readerIndex + unit.offset, length: unit.length) ?? ByteBuffer()
      let isKnown =
        other.repeatedSets.contains(index) && parameterSetTypes & (1 << UInt64(unit.type)) != 0
      if isKnown || unit.type == format.accessUnitDelimiterType || !unit.isWhole { continue }
      // Otherwise a sender that alternates slices and messages would fill the memory.
      let length = AnnexB.startCode.count + unit.length
      guard unitCount < bounds.units, bytes.readableBytes + strayBytes + length <= bounds.bytes
      else {
        excess += 1
        continue
      }
      if [.other, .prefix].contains(format.role(of: NALUnitHead(of: content))) {
        bytes.writeBytes(AnnexB.startCode)
        units.append(
          NALUnit(
            offset: bytes.writerIndex - bytes.readerIndex, length: unit.length, type: unit.type))
        bytes.writeImmutableBuffer(content)
      } else {
        strays.append(ByteBuffer(buffer: content))
        strayBytes += length
      }
    }
    if excess > 0 { noteDamage(.overLimit) }
    examined = units.count
    parameterSetTypes |= other.parameterSetTypes
    isRandomAccess = isRandomAccess || other.isRandomAccess
    recoveryPoint = recoveryPoint ?? other.recoveryPoint
    lastArrival = max(lastArrival, other.lastArrival)
    if let added = other.packets { packets?.add(added) }
    if other.isFull { isFull = true }
    if let cause = other.damage ?? (other.isBehindLoss ? .lostPackets : nil) { noteDamage(cause) }
    for gap in other.gaps { noteGap(of: gap.packets) }
    return excess
  }

  /// Puts what came between the slices before the first of them.
  mutating func placeStrays(format: any PayloadFormat.Type) {
    guard !strays.isEmpty, let slice, let index = units.firstIndex(of: slice) else { return }
    insert(strays, before: index, format: format)
    self.slice = units[index + strays.count]
    (strays, strayBytes) = ([], 0)
  }

  private mutating func insert(
    _ added: [ByteBuffer], before index: Int, format: any PayloadFormat.Type
  ) {
    var rest = bytes
    let length = added.reduce(0) { $0 + AnnexB.startCode.count + $1.readableBytes }
    let start =
      index < units.count ? units[index].offset - AnnexB.startCode.count : rest.readableBytes
    bytes = ByteBufferAllocator().buffer(capacity: rest.readableBytes + length)
    if let before = rest.readSlice(length: start) { bytes.writeImmutableBuffer(before) }
    var inserted: [NALUnit] = []
    for unit in added {
      bytes.writeBytes(AnnexB.startCode)
      inserted.append(
        NALUnit(
          offset: bytes.writerIndex, length: unit.readableBytes,
          type: format.type(of: NALUnitHead(of: unit))))
      bytes.writeImmutableBuffer(unit)
    }
    bytes.writeImmutableBuffer(rest)
    units =
      units[..<index] + inserted
      + units[index...].map {
        NALUnit(offset: $0.offset + length, length: $0.length, type: $0.type, isWhole: $0.isWhole)
      }
    gaps = gaps.map { gap in
      AccessUnit.Gap(
        unitIndex: gap.unitIndex > index ? gap.unitIndex + added.count : gap.unitIndex,
        packets: gap.packets)
    }
  }
}
