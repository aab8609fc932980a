import Bitstream
import Defragment
import NIOCore

/// Pictures and slices made here, which libavcodec's H.265 decoder gets in place of lost ones.
///
/// The substitute that libavcodec makes for a missing reference carries the motion of some older
/// picture. Later pictures predict their motion from it and go wrong, although they came whole.
struct StandIns {
  /// How many pictures ahead motion is expected to continue.
  private static let reach = 16
  /// The coding tree blocks of a 1080p picture in blocks of 16 × 16; more would take too long.
  private static let maximumBlocks = 8192

  /// The most stand-ins in a row: after a longer loss the viewer sees a jump in any case.
  private static let maximumCount = 4

  private var sets = H265.CodingParameterSets()
  private var pictures = H265.ReferencePictures()

  /// What a unit needs to be decoded.
  struct Additions {
    /// Pictures to decode before the unit, each as a list of NAL units; they are not shown.
    var pictures: [[ByteBuffer]] = []
    /// The NAL unit to put before the unit's first slice, which that is, and the side of its block
    /// in luma samples.
    var beginning: (bytes: ByteBuffer, slice: NALUnit, side: Int)?
  }

  /// What to add to `unit`, which is decoded next.
  mutating func additions(to unit: AccessUnit) -> Additions {
    var first: (type: H265.NALUnitType, level: UInt8, header: H265.SliceHeader)?
    // It may be one whose header cannot be read.
    var firstSlice: NALUnit?
    for entry in unit.units where first == nil {
      let bytes = unit.bytes(of: entry)
      guard entry.type < H265.NALUnitType.videoParameterSet.rawValue else {
        sets.take(bytes)
        continue
      }
      firstSlice = firstSlice ?? entry
      if let type = H265.NALUnitType(rawValue: entry.type),
        let header = try? H265.SliceHeader(parsing: bytes, with: sets)
      {
        first = (type, bytes.temporalLevel, header)
      }
    }
    guard let (type, level, header) = first, let slice = firstSlice,
      let picture = sets.picture(header.pictureSet),
      let sequence = sets.sequence(picture.sequenceIdentifier), sequence.hasUsualTrees
    else { return Additions() }
    let count = pictures.orderCount(header.orderCount, bits: sequence.orderBits, type: type)
    var additions = Additions()
    // RASL pictures refer past their random-access point. A decoder that began there drops them.
    if type.rawValue < 16, type != .raslN, type != .raslR, !header.hasLongTermReferences,
      sequence.blockCount <= Self.maximumBlocks
    {
      additions.pictures = missing(
        header.references.entries, of: count, level: level, sequence,
        sequenceIdentifier: picture.sequenceIdentifier)
    }
    if !header.isFirst, unit.integrity == .damaged, !header.hasLongTermReferences,
      let made = PictureBeginning(
        type: type, temporalLevel: level, isShown: header.isShown, picture: picture,
        sequence: sequence, orderAndReferences: order(count, header.references, sequence)
      ).unit()
    {
      additions.beginning = (bytes: made.bytes, slice: slice, side: made.side)
    }
    pictures.decoded(count, type: type, temporalLevel: level, keeping: header.references.entries)
    return additions
  }

  /// Takes a parameter set that came by itself.
  mutating func take(parameterSet unit: ByteBuffer) { sets.take(unit) }

  /// Must be called when the decoder no longer holds any pictures.
  mutating func forgetPictures() { pictures = H265.ReferencePictures() }

  /// Stand-ins for the missing pictures among `entries`, whose distances count from `count`.
  private mutating func missing(
    _ entries: [H265.ReferencePictureSet.Entry], of count: Int, level: UInt8,
    _ sequence: H265.CodingParameters, sequenceIdentifier: Int
  ) -> [[ByteBuffer]] {
    let lost = pictures.missing(entries, from: count)
    guard !lost.isEmpty, let identifier = sets.freePictureIdentifier else { return [] }
    let set = StandInPicture.parameterSet(
      identifier, sequence: sequenceIdentifier, log2TreeBlock: sequence.log2TreeBlock)
    var result: [[ByteBuffer]] = []
    for missing in lost.suffix(Self.maximumCount) {
      guard let source = pictures.nearest(before: missing), missing - source <= Self.reach else {
        continue
      }
      let kept = entries.map { count + $0.distance } + [source]
      let references = H265.ReferencePictureSet(
        entries: pictures.held.intersection(kept).map {
          H265.ReferencePictureSet.Entry(distance: $0 - missing, isUsed: $0 == source)
        })
      guard references.entries.count < H265.ReferencePictureSet.maximumCount else { continue }
      let picture = StandInPicture(
        parameterSet: identifier, sequence: sequence, temporalLevel: level,
        orderAndReferences: order(missing, references, sequence))
      result.append([set] + picture.slices())
      pictures.insert(missing)
    }
    return result
  }

  /// The part of a slice header that names its picture and the pictures to keep for reference.
  private func order(
    _ count: Int, _ references: H265.ReferencePictureSet, _ sequence: H265.CodingParameters
  ) -> BitWriter {
    var writer = BitWriter()
    writer.append(UInt32(truncatingIfNeeded: count), bits: sequence.orderBits)
    writer.append(false)
    references.write(to: &writer, hasSets: !sequence.referencePictureSets.isEmpty)
    if let signalled = sequence.longTermReferenceCount {
      if signalled > 0 { writer.append(unsigned: 0) }
      writer.append(unsigned: 0)
    }
    return writer
  }
}

extension ByteBuffer {
  /// `TemporalId`.
  fileprivate var temporalLevel: UInt8 {
    max((getInteger(at: readerIndex + 1, as: UInt8.self) ?? 1) & 0x07, 1) - 1
  }
}
