import Bitstream
import NIOCore

/// What is known of the video of a file before its first picture: from its own index, or from
/// another file of the same writer.
struct KnownVideo: Sendable, Equatable {
  var codec: Codec
  /// Bytes of the length before each NAL unit in MP4.
  var lengthSize = LengthPrefixed.LengthSize.four
  /// The last one of each identifier, in the order in which they were given.
  private(set) var sets: [ByteBuffer] = []
  private var keys: [Key] = []
  /// Messages of a file's header that hold for the whole stream, such as the mastering display.
  private var messages: [ByteBuffer] = []

  /// Sets of the same kind and identifier replace each other.
  private struct Key: Equatable {
    var kind: Codec.ParameterSet
    var identifier: Int
  }

  /// More than the standards' identifiers allow of any one kind in use.
  private static let mostSets = 512

  init(_ codec: Codec) { self.codec = codec }

  /// What the header of a file says.
  init(_ codec: Codec, _ header: DecoderConfiguration) {
    self.init(codec)
    take(header)
  }

  /// Adds a parameter set; ignores anything else.
  ///
  /// - Returns: whether it was not known.
  @discardableResult mutating func take(_ unit: ByteBuffer) -> Bool {
    // Most streams repeat their sets, which need not be read again.
    guard codec.parameterSet(unit) != nil, !sets.contains(unit), let key = key(of: unit) else {
      return false
    }
    if let place = keys.firstIndex(of: key) {
      sets[place] = unit
    } else if sets.count < Self.mostSets {
      keys.append(key)
      sets.append(unit)
    }
    return true
  }

  /// Adds what the header of a file says.
  mutating func take(_ header: DecoderConfiguration) {
    if let size = header.lengthSize { lengthSize = size }
    for unit in header.units { take(unit) }
    // Only H.265 has other units there; those that follow the picture (40) have no place here.
    messages = header.units.filter { codec == .h265 && codec.type(of: $0) == 39 }
  }

  /// Whether a picture can be decoded with these.
  var isDecodable: Bool {
    let kinds = keys.map(\.kind)
    return kinds.contains(.sequence) && kinds.contains(.picture)
  }

  /// The sets in the order in which they must be sent.
  var ordered: [ByteBuffer] {
    Codec.ParameterSet.allCases.flatMap { kind in
      zip(keys, sets).filter { $0.0.kind == kind }.map(\.1)
    }
  }

  var byKind: [Codec.ParameterSet: [ByteBuffer]] {
    Dictionary(grouping: zip(keys, sets), by: \.0.kind).mapValues { $0.map(\.1) }
  }

  /// The units of a picture at which decoding begins, with these sets before them if it lacks any
  /// kind; where it `isFirst`, if it lacks any of these.
  ///
  /// Its own sets win: a file's header may have others of the same identifiers, for the pictures
  /// before. A delimiter stays the first (H.264 §7.4.1.2.3).
  func completed(_ units: [ByteBuffer], isFirst: Bool) -> [ByteBuffer] {
    var all = KnownVideo(codec)
    for unit in units { all.take(unit) }
    let lacksKind = !all.isDecodable
    let lacksAny = isFirst && keys.contains { !all.keys.contains($0) }
    guard lacksKind || lacksAny else { return units }
    all = self
    for unit in units { all.take(unit) }
    let delimiter: UInt8 = codec == .h264 ? 9 : 35
    let place = units.first.map { codec.type(of: $0) == delimiter } ?? false ? 1 : 0
    var completed = Array(units[..<place])
    completed += all.ordered
    completed += messages.filter { !units.contains($0) }
    completed += units[place...].filter { codec.parameterSet($0) == nil }
    return completed
  }

  /// The rate that a sequence parameter set says, if one does.
  var framesPerSecond: Double? {
    for set in byKind[.sequence] ?? [] {
      let rate = codec.format(of: set)?.frameRate?.value
      if let rate, (1...1000).contains(rate) { return rate }
    }
    return nil
  }

  /// The identifier follows other fields in sequence parameter sets, so the parsed one is used.
  ///
  /// Sets of one kind that cannot be parsed replace each other.
  private func key(of unit: ByteBuffer) -> Key? {
    guard let kind = codec.parameterSet(unit) else { return nil }
    let identifier: Int? =
      switch (codec, kind) {
      case (.h264, .sequence): (try? H264.SequenceParameterSet(parsing: unit))?.identifier
      case (.h264, .picture): (try? H264.PictureParameterSet(parsing: unit))?.identifier
      case (.h265, .sequence): (try? H265.SequenceParameterSet(parsing: unit))?.identifier
      case (.h265, .picture): (try? H265.PictureParameterSet(parsing: unit))?.identifier
      case (.h265, .video):
        unit.getInteger(at: unit.readerIndex + 2, as: UInt8.self).map { Int($0 >> 4) }
      default: 0
      }
    return Key(kind: kind, identifier: identifier ?? -1)
  }
}

extension Codec {
  /// What a sequence parameter set says of the pictures.
  func format(of set: ByteBuffer) -> FormatDescription? {
    switch self {
    case .h264: (try? H264.SequenceParameterSet(parsing: set))?.format
    case .h265: (try? H265.SequenceParameterSet(parsing: set))?.format
    }
  }
}
