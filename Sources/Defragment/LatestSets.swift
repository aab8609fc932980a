package import Bitstream
package import NIOCore

/// The latest parameter set of each name, which the pictures to come may refer to.
///
/// A stream need not repeat what is still valid (H.264 §7.4.1.2.1, H.265 §7.4.2.4.2), but a decoder
/// or a file may begin in its middle.
package struct LatestSets: Sendable {
  private typealias Name = ParameterSetNames.Name

  private struct Entry {
    let bytes: ByteBuffer
    /// The set that it refers to.
    let referred: Name?
  }

  /// The header of an MP4 or Matroska file of H.264 has room for so many picture parameter sets.
  private static let most = 255

  private var codec: VideoCodec?
  private var entries: [Name: Entry] = [:]
  /// Bytes of all.
  private var total = 0

  package init() {}

  /// Takes those of `unit`, and returns them.
  @discardableResult
  package mutating func take(_ unit: AccessUnit) -> [ParameterSetNames.Name: ByteBuffer] {
    let own = unit.parameterSets
    take(own, of: unit.codec)
    return own
  }

  /// Takes those among `units`, which came beside the pictures.
  package mutating func take(_ units: [ByteBuffer], of codec: VideoCodec) {
    take(codec.parameterSets(among: units), of: codec)
  }

  private mutating func take(_ sets: [Name: ByteBuffer], of codec: VideoCodec) {
    if self.codec != codec, !sets.isEmpty {
      self = LatestSets()
      self.codec = codec
    }
    for (name, set) in sets where entries[name]?.bytes != set {
      let growth = set.readableBytes - (entries[name]?.bytes.readableBytes ?? 0)
      guard total + growth <= ParameterSets.maximumTotal else { continue }
      total += growth
      // A copy, because the set outlives the access unit.
      entries[name] = Entry(
        bytes: ByteBuffer(bytes: set.readableBytesView),
        referred: codec.parameterSetNames(of: set)?.referred)
    }
  }

  /// All of them, each type before those that refer to it.
  package var all: [ByteBuffer] { sets(where: { _ in true }) }

  /// What `unit` is decoded with: the sets that its slices name and those that these refer to, and
  /// behind them the other picture parameter sets that its sequence may use.
  ///
  /// Others are left out: decoders that meet one in a header that they cannot read, as FFmpeg does,
  /// do not read on.
  ///
  /// - Returns: `nil` if a set that is named did not come.
  package func sets(for unit: AccessUnit) -> [ByteBuffer]? {
    guard let last = unit.codec.parameterSetTypes.last else { return [] }
    guard unit.codec == codec else { return nil }
    let pictureSets = entries.keys.filter { $0.type == last }
      .sorted { $0.identifier < $1.identifier }
    var named: [Name] = []
    for part in unit.units where !unit.codec.parameterSetTypes.contains(part.type) {
      let name = unit.codec.parameterSetNames(of: unit.bytes(of: part))
      if let set = name?.referred, !named.contains(set) { named.append(set) }
    }
    // A slice that cannot be read may name any.
    if named.isEmpty { named = Array(pictureSets.filter { chain(of: $0) != nil }.prefix(1)) }
    var needed: Set<Name> = []
    for name in named {
      guard let chain = chain(of: name) else { return nil }
      needed.formUnion(chain)
    }
    guard !needed.isEmpty else { return nil }
    let others = pictureSets.filter { name in
      !needed.contains(name) && entries[name]?.referred.map(needed.contains) == true
    }
    let room = Set(others.prefix(max(0, Self.most - named.count)))
    return sets(where: needed.contains) + sets(where: room.contains)
  }

  /// `name` and those that it refers to, directly or not; `nil` if one is missing.
  private func chain(of name: Name) -> [Name]? {
    guard let entry = entries[name] else { return nil }
    guard let referred = entry.referred else { return [name] }
    return chain(of: referred).map { $0 + [name] }
  }

  /// Those that `isWanted`, each type before those that refer to it.
  private func sets(where isWanted: (Name) -> Bool) -> [ByteBuffer] {
    (codec?.parameterSetTypes ?? []).flatMap { type in
      entries.filter { $0.key.type == type && isWanted($0.key) }
        .sorted { $0.key.identifier < $1.key.identifier }.map(\.value.bytes)
    }
  }
}
