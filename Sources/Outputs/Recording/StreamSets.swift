import Bitstream
import Defragment
import NIOCore

/// The parameter sets that come with a key picture, without start codes and trailing zeros.
///
/// Each type precedes those that refer to it. Cameras repeat them, and some, as Reolink's do, add
/// zeros at the end.
struct StreamSets: Sendable, Hashable {
  let sets: [ByteBuffer]
  /// The same, to look them up: a picture may have a thousand.
  private let known: Set<ByteBuffer>

  /// The sets in `unit`, each once.
  init(in unit: AccessUnit) {
    let types = unit.codec.parameterSetTypes
    var sets: [ByteBuffer] = []
    var known: Set<ByteBuffer> = []
    for type in types {
      for part in unit.units where part.type == type && part.isWhole {
        var bytes = unit.bytes(of: part)
        while bytes.readableBytesView.last == 0 { bytes.moveWriterIndex(to: bytes.writerIndex - 1) }
        if known.insert(bytes).inserted { sets.append(bytes) }
      }
    }
    self.sets = sets
    self.known = known
    isComplete = types.allSatisfy { type in unit.units.contains { $0.type == type && $0.isWhole } }
  }

  /// Whether every type that decoding needs is there.
  let isComplete: Bool

  /// Whether all of `others` are among these.
  func contains(_ others: StreamSets) -> Bool { others.known.isSubset(of: known) }

  /// All of them with start codes.
  var withStartCodes: ByteBuffer {
    var bytes = ByteBuffer()
    for set in sets {
      bytes.writeBytes(AnnexB.startCode)
      bytes.writeImmutableBuffer(set)
    }
    return bytes
  }
}

extension AccessUnit {
  /// Writes its units into `sample`, each behind its length (ISO/IEC 14496-15 §4.3.3).
  ///
  /// Units of `types` are left out. A key picture whose stream does not repeat them gets `sets`.
  func write(
    lengthPrefixed sample: inout ByteBuffer, with sets: StreamSets?, without types: [UInt8]
  ) {
    let added = sets.map { StreamSets(in: self).isComplete ? [] : $0.sets } ?? []
    let place = units.first?.type == codec.accessUnitDelimiterType ? 1 : 0
    for (index, unit) in units.enumerated() {
      if index == place { for set in added { sample.write(behindLength: set) } }
      if !types.contains(unit.type) { sample.write(behindLength: bytes(of: unit)) }
    }
  }

  /// The bytes of a key picture with the parameter sets that it needs, which its stream may not
  /// repeat: they follow the delimiter, if there is one.
  func bytes(with sets: StreamSets) -> ByteBuffer {
    guard !StreamSets(in: self).isComplete else { return bytes }
    let delimiter = units.first { $0.type == codec.accessUnitDelimiterType }
    let place = delimiter.map { $0.offset + $0.length } ?? 0
    var rest = bytes
    guard place <= rest.readableBytes, let start = rest.readSlice(length: place) else {
      return bytes
    }
    var whole = start
    whole.writeImmutableBuffer(sets.withStartCodes)
    whole.writeImmutableBuffer(rest)
    return whole
  }
}

extension ByteBuffer {
  fileprivate mutating func write(behindLength unit: ByteBuffer) {
    writeInteger(UInt32(clamping: unit.readableBytes))
    writeImmutableBuffer(unit)
  }
}
