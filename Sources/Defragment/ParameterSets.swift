import Bitstream
public import NIOCore

/// The parameter sets of a stream, from its description and from the stream itself.
///
/// A set that comes in-band replaces one of the same type and number; a signalled one never
/// replaces one that came in-band.
public struct ParameterSets: Sendable {
  enum Origin: Sendable, Hashable {
    case signalled
    case inBand
  }

  private struct Key: Sendable, Hashable {
    let type: UInt8
    let identifier: Int
  }

  private struct Entry: Sendable {
    let bytes: ByteBuffer
    let origin: Origin
    /// Read once, since short pictures could have it read again with every few bytes.
    let format: FormatDescription?
  }

  /// The longest set that is kept: real ones with all scaling lists stay below 1 KiB, and there can
  /// be 304 of them.
  static let maximumLength = 16 << 10
  /// The most bytes of all of them.
  static let maximumTotal = 512 << 10
  /// Sequence parameter sets are numbered below this (H.264 §7.4.2.1.1; H.265 has 16).
  private static let maximumSequences = 32

  private let format: any PayloadFormat.Type
  private var sets: [Key: Entry] = [:]
  private var total = 0

  init(format: any PayloadFormat.Type) { self.format = format }

  /// Whether there is at least one set of every type that decoding needs.
  public var isComplete: Bool {
    format.parameterSetTypes.allSatisfy { type in sets.keys.contains { $0.type == type } }
  }

  /// All sets, each type before those that refer to it, without start codes.
  public var inNaturalOrder: [ByteBuffer] {
    format.parameterSetTypes.flatMap { type in
      sets.filter { $0.key.type == type }.sorted { $0.key.identifier < $1.key.identifier }
        .map(\.value.bytes)
    }
  }

  /// The set of `type` with number `identifier`.
  public func set(ofType type: UInt8, identifier: Int) -> ByteBuffer? {
    sets[Key(type: type, identifier: identifier)]?.bytes
  }

  /// The picture format that applies to `slice`, or to any slice when that is `nil`.
  func format(of slice: ByteBuffer?) -> FormatDescription? {
    func entry(_ identifier: Int) -> Entry? {
      format.sequenceParameterSetType.flatMap { sets[Key(type: $0, identifier: identifier)] }
    }
    let referred = slice.flatMap { format.sequenceParameterSetIdentifier(for: $0, with: self) }
    let first = { (0..<Self.maximumSequences).lazy.compactMap(entry).first }
    return (referred.flatMap(entry) ?? first())?.format
  }

  /// Bytes of all sets with start codes.
  var streamLength: Int {
    sets.values.reduce(0) { $0 + AnnexB.startCode.count + $1.bytes.readableBytes }
  }

  /// What a NAL unit turned out to be that was taken in.
  enum Insertion: Sendable, Hashable {
    /// No parameter set, or one that does not parse.
    case malformed
    /// One that was there already.
    case repeated
    case new
  }

  /// Takes in `unit`.
  mutating func insert(_ unit: ByteBuffer, origin: Origin) -> Insertion {
    let type = format.type(of: NALUnitHead(of: unit))
    guard unit.readableBytes > format.headerLength, unit.readableBytes <= Self.maximumLength,
      format.parameterSetTypes.contains(type),
      let content = format.content(ofParameterSet: unit, type: type)
    else { return .malformed }
    let key = Key(type: type, identifier: content.identifier)
    if origin == .signalled, sets[key]?.origin == .inBand { return .repeated }
    if sets[key]?.bytes == unit, sets[key]?.origin == origin { return .repeated }
    let growth = unit.readableBytes - (sets[key]?.bytes.readableBytes ?? 0)
    guard total + growth <= Self.maximumTotal else { return .malformed }
    total += growth
    // A copy of its own, since it outlives the access unit.
    sets[key] = Entry(bytes: ByteBuffer(buffer: unit), origin: origin, format: content.format)
    return .new
  }
}
