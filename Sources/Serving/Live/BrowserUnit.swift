import Bitstream
import Defragment
import NIOCore
import Synchronization

/// An access unit as browsers and decoders that begin with it need it; made once for all of them,
/// and only if one wants it.
final class BrowserUnit: Sendable {
  let sent: AccessUnit
  /// That of a key picture; `nil` before parameter sets have come.
  let format: BrowserFormat?
  private let made = Mutex<AccessUnit?>(nil)

  init(_ unit: AccessUnit, format: BrowserFormat?) { (sent, self.format) = (unit, format) }

  /// Whether decoding can begin here.
  var isKey: Bool { format != nil }
  var size: Int { sent.bytes.readableBytes }

  /// With all parameter sets before a key picture.
  var unit: AccessUnit {
    guard let format else { return sent }
    return made.withLock { made in
      let unit = made ?? sent.with(format.sets)
      made = unit
      return unit
    }
  }
}

extension AccessUnit {
  /// With `sets` instead of its own parameter sets, behind the delimiter, if there is one.
  fileprivate func with(_ sets: [ByteBuffer]) -> AccessUnit {
    let room = bytes.readableBytes + sets.reduce(0) { $0 + $1.readableBytes + 4 }
    var bytes = ByteBufferAllocator().buffer(capacity: room)
    var units: [NALUnit] = []
    // Where each unit is now; of one that is left out, what follows it.
    var places: [Int: Int] = [:]
    func write(_ part: ByteBuffer, isWhole: Bool = true) {
      bytes.writeBytes(AnnexB.startCode)
      units.append(
        NALUnit(
          offset: bytes.writerIndex, length: part.readableBytes,
          type: codec.type(of: NALUnitHead(of: part)), isWhole: isWhole))
      bytes.writeImmutableBuffer(part)
    }
    let delimiter = codec.accessUnitDelimiterType
    for part in self.units where part.type == delimiter { write(self.bytes(of: part)) }
    for set in sets { write(set) }
    for (index, part) in self.units.enumerated() where part.type != delimiter {
      places[index] = units.count
      guard !codec.parameterSetTypes.contains(part.type) else { continue }
      write(self.bytes(of: part), isWhole: part.isWhole)
    }
    // What is missing before all else stays there.
    let gaps = self.gaps.map { gap in
      let place = gap.unitIndex == 0 ? 0 : places[gap.unitIndex] ?? units.count
      return Gap(unitIndex: place, packets: gap.packets)
    }
    var unit = AccessUnit(
      codec: codec, bytes: bytes, units: units, time: time, firstArrival: firstArrival,
      lastArrival: lastArrival, integrity: integrity, damage: damage, gaps: gaps, packets: packets,
      isRandomAccess: isRandomAccess, dependency: dependency, recoveryPoint: recoveryPoint,
      format: format)
    unit.captureTime = captureTime
    return unit
  }
}
