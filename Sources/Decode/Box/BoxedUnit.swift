import Bitstream
import Defragment
import NIOCore
import RTPWire

/// What a decoder has to know of an access unit beside its bytes.
enum BoxedUnit {
  static func head(of unit: AccessUnit) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.put(unit.codec.name)
    bytes.put(unit.time.ticks)
    bytes.put(unit.time.timescale)
    bytes.put(unit.firstArrival.nanoseconds)
    bytes.put(unit.lastArrival.nanoseconds)
    bytes.put(caseOf: unit.integrity)
    bytes.put(unit.damage) { $0.put(caseOf: $1) }
    bytes.put(unit.gaps) { bytes, gap in
      bytes.put(gap.unitIndex)
      bytes.put(gap.packets) { $0.put($1) }
    }
    bytes.put(unit.isRandomAccess)
    bytes.put(unit.dependency) { bytes, dependency in
      bytes.put(caseOf: dependency.references)
      bytes.put(dependency.temporalLevel)
      bytes.put(dependency.isReference)
      bytes.put(dependency.isBidirectional)
    }
    bytes.put(unit.recoveryPoint) { bytes, point in
      bytes.put(point.distance)
      bytes.put(point.isExact)
    }
    bytes.put(unit.format) { $0.put($1) }
    bytes.put(unit.unansweredKeyPictureRequests)
    bytes.put(unit.units) { bytes, entry in
      bytes.put(entry.offset)
      bytes.put(entry.length)
      bytes.put(entry.type)
      bytes.put(entry.isWhole)
    }
    return bytes
  }

  /// The access unit of a `head` and its bytes, which counts as the only packet, with `number` as
  /// its number; `nil` if its codec is not one of `codecs`.
  static func unit(
    number: Int64, head: ByteBuffer, bytes: ByteBuffer, codecs: [VideoCodec]
  ) throws(BoxFault) -> AccessUnit? {
    var reader = BoxReader(head)
    let name = try reader.text()
    guard let codec = codecs.first(where: { $0.name == name }) else { return nil }
    let time = MediaTime(ticks: try reader.integer(), timescale: try reader.integer())
    let firstArrival = Instant(nanoseconds: try reader.integer())
    let lastArrival = Instant(nanoseconds: try reader.integer())
    let integrity: AccessUnit.Integrity = try reader.oneCase()
    let damage: PictureDamage? = try reader.optional { reader throws(BoxFault) in
      try reader.oneCase()
    }
    let gaps = try reader.list { reader throws(BoxFault) in
      AccessUnit.Gap(
        unitIndex: try reader.count(),
        packets: try reader.optional { reader throws(BoxFault) in try reader.count() })
    }
    let isRandomAccess = try reader.flag()
    let dependency = try reader.optional { reader throws(BoxFault) in
      PictureDependency(
        references: try reader.oneCase(), temporalLevel: try reader.integer(),
        isReference: try reader.flag(), isBidirectional: try reader.flag())
    }
    let recoveryPoint = try reader.optional { reader throws(BoxFault) in
      RecoveryPoint(distance: try reader.count(), isExact: try reader.flag())
    }
    let format = try reader.optional { reader throws(BoxFault) in
      try reader.format(of: codec)
    }
    let requests = try reader.count()
    let units = try reader.list { reader throws(BoxFault) in
      NALUnit(
        offset: try reader.count(), length: try reader.count(), type: try reader.integer(),
        isWhole: try reader.flag())
    }
    try reader.end()
    var unit = AccessUnit(
      codec: codec, bytes: bytes, units: units, time: time, firstArrival: firstArrival,
      lastArrival: lastArrival, integrity: integrity, damage: damage, gaps: gaps,
      packets: UnitPackets(onlyNumber: number), isRandomAccess: isRandomAccess,
      dependency: dependency, recoveryPoint: recoveryPoint, format: format)
    unit.unansweredKeyPictureRequests = requests
    return unit
  }
}

extension ByteBuffer {
  fileprivate mutating func put(_ format: FormatDescription) {
    put(format.width)
    put(format.height)
    put(format.profile)
    put(format.level)
    put(format.chroma.rawValue)
    put(format.lumaBitDepth)
    put(format.chromaBitDepth)
    put(format.frameRate) { $0.put($1) }
    put(format.sampleAspectRatio) { $0.put($1) }
    put(format.colour.primaries)
    put(format.colour.transfer)
    put(format.colour.matrix)
    put(format.colour.isFullRange)
    put(format.reorderDepth) { $0.put($1) }
    put(format.mayHaveFields)
  }
}

extension BoxReader {
  fileprivate mutating func format(of codec: VideoCodec) throws(BoxFault) -> FormatDescription {
    let size = (width: try count(), height: try count())
    let (profile, level) = (try integer(UInt8.self), try integer(UInt8.self))
    guard let chroma = FormatDescription.ChromaFormat(rawValue: try integer()) else {
      throw .breach("a case is unknown")
    }
    let depths = (luma: try count(), chroma: try count())
    let frameRate = try optional { reader throws(BoxFault) in try reader.rational() }
    let shape = try optional { reader throws(BoxFault) in try reader.rational() }
    let colour = FormatDescription.Colour(
      primaries: try integer(), transfer: try integer(), matrix: try integer(),
      isFullRange: try flag())
    let reorderDepth = try optional { reader throws(BoxFault) in try reader.count() }
    return FormatDescription(
      codec: codec, width: size.width, height: size.height, profile: profile, level: level,
      chroma: chroma, lumaBitDepth: depths.luma, chromaBitDepth: depths.chroma,
      frameRate: frameRate, sampleAspectRatio: shape, colour: colour, reorderDepth: reorderDepth,
      mayHaveFields: try flag())
  }
}
