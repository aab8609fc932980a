import NIOCore

/// Takes the pictures out of an Annex B file that is still being written.
struct AnnexBGrowth {
  /// Writers buffer by pages: a burst of whole ones is likely to go on.
  private static let page = 4096

  private(set) var known: KnownVideo?
  private(set) var position: UInt64 = 0
  private var splitter = AnnexBSplitter()
  private var grouper: AccessUnitGrouper?
  private var ready = CircularBuffer<GrowingPicture>()
  /// Bytes since the last pause.
  private var burst = 0
  private let wasPatient: Bool

  init(_ known: KnownVideo?, isPatient: Bool) {
    self.known = known
    wasPatient = isPatient
  }

  /// The writer went on with a NAL unit after a pause; since then one ends where the next begins.
  var isPatient: Bool { wasPatient || splitter.hasStrayBytes }

  mutating func take(_ bytes: ByteBuffer) throws(GrowingFault) {
    position += UInt64(bytes.readableBytes)
    burst += bytes.readableBytes
    splitter.append(bytes)
    while let unit = splitter.next() { try take(unit: unit) }
  }

  mutating func next() -> GrowingPicture? { ready.popFirst() }

  /// Takes it for whole that the bytes end with the last unit of a picture.
  ///
  /// The end of a unit is only known when the next one begins, and that is a picture later. With
  /// `isOver` the writer has gone, and nothing else can be waited for.
  mutating func settle(isOver: Bool) throws(GrowingFault) -> GrowingPicture? {
    let isLikely = !isPatient && !burst.isMultiple(of: Self.page) && splitter.mayBeWhole
    if isOver || isLikely {
      burst = 0
      if let unit = splitter.finish() { try take(unit: unit) }
    }
    guard splitter.waitingBytes == 0 else { return nil }
    return ready.popFirst() ?? Self.picture(grouper?.settle(), of: known)
  }

  mutating func finish() throws(GrowingFault) -> GrowingPicture? {
    if let unit = splitter.finish() { try take(unit: unit) }
    return ready.popFirst() ?? Self.picture(grouper?.finish(), of: known)
  }

  var waitingBytes: Int { splitter.waitingBytes }

  private mutating func take(unit: ByteBuffer) throws(GrowingFault) {
    if grouper == nil {
      let header = unit.getBytes(at: unit.readerIndex, length: min(2, unit.readableBytes)) ?? []
      try begin(with: header)
    }
    guard let codec = known?.codec, unit.readableBytes >= codec.headerLength else { return }
    // A parameter set that ends a picture belongs to the next one.
    let before = known
    known?.take(unit)
    if grouper == nil {
      grouper = AccessUnitGrouper(codec)
      for set in known?.ordered ?? [] { grouper?.learn(set) }
    }
    if let ended = Self.picture(grouper?.take(unit), of: before) { ready.append(ended) }
  }

  private static func picture(
    _ group: AccessUnitGrouper.Group?, of video: KnownVideo?
  ) -> GrowingPicture? {
    guard let group else { return nil }
    var picture = GrowingPicture(group)
    picture.video = video
    return picture
  }

  /// The codec is that of the writer's other files, unless the first unit can only be of another.
  private mutating func begin(with header: [UInt8]) throws(GrowingFault) {
    let first = Codec(firstUnit: header)
    if let known, first == nil || first == .h264 && known.codec.canBegin(with: header) { return }
    guard let first else { throw .unknownFormat }
    if known?.codec != first { known = KnownVideo(first) }
  }
}
