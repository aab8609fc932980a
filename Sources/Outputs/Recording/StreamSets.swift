import Bitstream
import Defragment
import NIOCore

/// Parameter sets without start codes and trailing zeros, one of each name.
///
/// Each type precedes those that refer to it. Cameras repeat them, and some, as Reolink's do, add
/// zeros at the end.
struct StreamSets: Sendable, Hashable {
  let sets: [ByteBuffer]
  /// The same, to look them up.
  private let known: Set<ByteBuffer>

  init(_ sets: [ByteBuffer]) {
    self.sets = sets
    known = Set(sets)
  }

  /// Those of `codec` that have these names.
  init(_ named: [ParameterSetNames.Name: ByteBuffer], of codec: VideoCodec) {
    self.init(
      codec.parameterSetTypes.flatMap { type in
        named.filter { $0.key.type == type }.sorted { $0.key.identifier < $1.key.identifier }
          .map(\.value)
      })
  }

  /// The sets in `unit`; of those with one name the last, because it replaces the others.
  init(in unit: AccessUnit) { self.init(unit.parameterSets, of: unit.codec) }

  /// Whether all of `others` are among these.
  func contains(_ others: StreamSets) -> Bool { others.known.isSubset(of: known) }

  /// Those that stay the same within a sequence (H.264 §7.4.1.2.1, H.265 §7.4.2.4.2).
  func withoutPictureSets(of codec: VideoCodec) -> StreamSets {
    StreamSets(
      sets.filter { codec.type(of: NALUnitHead(of: $0)) != codec.parameterSetTypes.last })
  }

  func contains(_ set: ByteBuffer) -> Bool { known.contains(set) }

  /// Whether every type that decoding needs is there.
  func isComplete(for codec: VideoCodec) -> Bool {
    codec.parameterSetTypes.allSatisfy { type in
      sets.contains { codec.type(of: NALUnitHead(of: $0)) == type }
    }
  }

  /// All of them with start codes.
  var withStartCodes: ByteBuffer { AnnexB.stream(of: sets) }
}

extension AccessUnit {
  /// What has to come before its own units, so that a decoder that knows `header` knows all of
  /// `sets`: all of them if any is missing, because one that refers to another follows it.
  private func missing(of sets: StreamSets, besides header: StreamSets? = nil) -> [ByteBuffer] {
    let own = Set(units.filter(isParameterSet).map(bytes(ofSet:)))
    let isComplete = sets.sets.allSatisfy { own.contains($0) || header?.contains($0) == true }
    return isComplete ? [] : sets.sets
  }

  /// Writes its units into `sample`, each behind its length (ISO/IEC 14496-15 §4.3.3).
  ///
  /// - Parameters:
  ///   - sample: where to.
  ///   - sets: what a decoder has to know, where the unit begins a file: what it lacks of them
  ///     comes first.
  ///   - header: the sets that are in the header alone, its own among them.
  func write(
    lengthPrefixed sample: inout ByteBuffer, with sets: StreamSets?, without header: StreamSets?
  ) {
    let added = sets.map { missing(of: $0, besides: header) } ?? []
    let place = units.first?.type == codec.accessUnitDelimiterType ? 1 : 0
    for (index, unit) in units.enumerated() {
      if index == place { for set in added { sample.write(behindLength: set) } }
      if header != nil, isParameterSet(unit),
        codec.parameterSetNames(of: bytes(ofSet: unit))?.own != nil
      {
        continue
      }
      sample.write(behindLength: bytes(of: unit))
    }
  }

  /// Its bytes with `sets`, which a decoder has to know: what it lacks of them follows the
  /// delimiter, if there is one.
  func bytes(with sets: StreamSets) -> ByteBuffer {
    let added = missing(of: sets)
    guard !added.isEmpty else { return bytes }
    let delimiter = units.first { $0.type == codec.accessUnitDelimiterType }
    let place = delimiter.map { $0.offset + $0.length } ?? 0
    var rest = bytes
    guard place <= rest.readableBytes, let start = rest.readSlice(length: place) else {
      return bytes
    }
    var whole = start
    whole.writeImmutableBuffer(AnnexB.stream(of: added))
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
