import Bitstream
public import NIOCore

/// The parameter sets of a stream, from its description and from the packets.
///
/// An in-band set replaces one with the same type and identifier; a signalled set never replaces an
/// in-band one.
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
    /// Parsed once: otherwise a stream of tiny pictures would have it parsed for every few bytes.
    let format: FormatDescription?
  }

  /// The longest set that is kept: real ones with all scaling lists stay below 1 KiB, and there can
  /// be 304.
  package static let maximumLength = 16 << 10
  /// The most bytes of all sets together.
  package static let maximumTotal = 512 << 10
  /// Sequence parameter set identifiers are below this (H.264 §7.4.2.1.1; 16 in H.265).
  private static let maximumSequences = 32

  private let format: any PayloadFormat.Type
  private var sets: [Key: Entry] = [:]
  /// The bytes of all sets.
  private(set) var total = 0

  init(format: any PayloadFormat.Type) { self.format = format }

  /// Whether every type that decoding needs has at least one set.
  public var isComplete: Bool {
    format.parameterSetTypes.allSatisfy { type in sets.keys.contains { $0.type == type } }
  }

  /// All sets without start codes; each type precedes those that refer to it.
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

  /// The picture format of `slice`, or of any slice when that is `nil`.
  func format(of slice: ByteBuffer?) -> FormatDescription? {
    func entry(_ identifier: Int) -> Entry? {
      format.sequenceParameterSetType.flatMap { sets[Key(type: $0, identifier: identifier)] }
    }
    let referred = slice.flatMap { format.sequenceParameterSetIdentifier(for: $0, with: self) }
    let first = { (0..<Self.maximumSequences).lazy.compactMap(entry).first }
    return (referred.flatMap(entry) ?? first())?.format
  }

  /// What became of an inserted NAL unit.
  enum Insertion: Sendable, Hashable {
    /// Not a parameter set, or one that cannot be parsed.
    case malformed
    /// Already known.
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
    // A copy, because the set outlives the access unit.
    sets[key] = Entry(bytes: ByteBuffer(buffer: unit), origin: origin, format: content.format)
    return .new
  }
}
