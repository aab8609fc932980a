import NIOCore

extension AccessUnit {
  /// What there is of a frame that was coded as two fields.
  public enum Fields: Sendable, Hashable {
    case first
    /// The other one of the frame whose first field is the access unit before (H.264 §3.30).
    case second
    case both
  }

  /// How many access units came for its picture.
  package var accessUnitCount: Int { fields == .both ? 2 : 1 }

  /// The whole frame, at the time of its first field, which this is; `second` is the other one.
  package func joined(with second: AccessUnit) -> AccessUnit {
    var bytes = bytes
    bytes.writeImmutableBuffer(second.bytes)
    let start = self.bytes.readableBytes
    var packets = packets
    if let others = second.packets { packets?.add(others) }
    var unit = AccessUnit(
      codec: codec, bytes: bytes,
      units: units
        + second.units.map {
          NALUnit(
            offset: start + $0.offset, length: $0.length, type: $0.type, isWhole: $0.isWhole)
        },
      time: time, firstArrival: firstArrival, lastArrival: max(lastArrival, second.lastArrival),
      integrity: integrity == .damaged || second.integrity == .whole
        ? integrity : second.integrity,
      damage: damage ?? second.damage,
      gaps: gaps
        + second.gaps.map { Gap(unitIndex: units.count + $0.unitIndex, packets: $0.packets) },
      packets: packets, isRandomAccess: isRandomAccess, dependency: dependency,
      recoveryPoint: recoveryPoint, format: format)
    unit.fields = .both
    unit.captureTime = captureTime
    unit.beginsOtherSource = beginsOtherSource
    unit.unansweredKeyPictureRequests = second.unansweredKeyPictureRequests
    return unit
  }
}
