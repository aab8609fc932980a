import Bitstream
import NIOCore
import RTPWire

/// An access unit while it is put together.
struct AccessUnitDraft: Sendable {
  var bytes: ByteBuffer
  var units: [NALUnit] = []
  var time: MediaTime
  var firstArrival: Instant
  var lastArrival: Instant
  /// A picture has begun, even if what came of it was of no use.
  var hasPicture = false
  /// One bit for each type of parameter set.
  var parameterSetTypes: UInt64 = 0
  var isRandomAccess = false
  var isDamaged = false
  /// Packets are missing before the picture, which may or may not have been its.
  var isBehindLoss = false
  /// Something did not fit in any more.
  var isFull = false
  var gaps: [AccessUnit.Gap] = []
  var dependency: PictureDependency?
  var recoveryPoint: RecoveryPoint?
  /// The first unit of the picture.
  var slice: NALUnit?

  init(bytes: ByteBuffer, time: MediaTime, arrival: Instant, isDamaged: Bool) {
    self.bytes = bytes
    self.time = time
    firstArrival = arrival
    lastArrival = arrival
    self.isDamaged = isDamaged
  }

  var lostPackets: Int { gaps.reduce(0) { $0 + $1.packets } }

  /// What is handed on.
  func accessUnit(codec: VideoCodec, format: FormatDescription?) -> AccessUnit {
    AccessUnit(
      codec: codec, bytes: bytes, units: units, time: time, firstArrival: firstArrival,
      lastArrival: lastArrival,
      integrity: isDamaged ? .damaged : isBehindLoss ? .afterLoss : .whole, gaps: gaps,
      isRandomAccess: isRandomAccess, dependency: dependency, recoveryPoint: recoveryPoint,
      format: format)
  }

  /// Notes that `count` packets are missing behind the units so far, or 0 where nobody knows how many.
  mutating func noteGap(of count: Int) {
    if let last = gaps.indices.last, gaps[last].unitIndex == units.count {
      gaps[last] = AccessUnit.Gap(unitIndex: units.count, packets: gaps[last].packets + count)
    } else {
      gaps.append(AccessUnit.Gap(unitIndex: units.count, packets: count))
    }
  }

  /// Puts `sets` before a picture whose stream does not carry them.
  mutating func prepend(_ sets: ParameterSets, format: any PayloadFormat.Type) {
    let rest = bytes
    let pictureUnits = units
    units = []
    bytes = ByteBufferAllocator().buffer(capacity: rest.readableBytes + sets.streamLength)
    var behind = rest
    // A delimiter stands before all others (H.264 §7.4.1.2.3, H.265 §7.4.2.4.4).
    if let first = pictureUnits.first, first.type == format.accessUnitDelimiterType,
      let delimiter = behind.readSlice(length: first.offset + first.length)
    {
      units.append(first)
      bytes.writeImmutableBuffer(delimiter)
    }
    let start = bytes.writerIndex
    for set in sets.inNaturalOrder {
      bytes.writeBytes(AnnexB.startCode)
      units.append(
        NALUnit(
          offset: bytes.writerIndex, length: set.readableBytes,
          type: format.type(of: NALUnitHead(of: set))))
      bytes.writeImmutableBuffer(set)
    }
    let shift = bytes.writerIndex - start
    let added = sets.inNaturalOrder.count
    let delimiters = units.count - added
    gaps = gaps.map { gap in
      let index = gap.unitIndex
      return AccessUnit.Gap(
        unitIndex: index > delimiters ? index + added : index, packets: gap.packets)
    }
    bytes.writeImmutableBuffer(behind)
    units += pictureUnits.dropFirst(behind.readableBytes == rest.readableBytes ? 0 : 1).map {
      NALUnit(offset: $0.offset + shift, length: $0.length, type: $0.type, isWhole: $0.isWhole)
    }
  }
}
