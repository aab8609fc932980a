import Bitstream
import NIOCore

/// Finds the access units in a sequence of NAL units, from their headers alone: the whole rule of
/// H.264 §7.4.1.2.3 and §7.4.1.2.4, and of H.265 §7.4.2.4.4 and §7.4.2.4.5.
///
/// A field is an access unit of its own. An access unit is known to be whole when the first NAL
/// unit of the next one comes, or one that ends a sequence.
struct AccessUnitGrouper {
  /// The longest access unit; the rest of one that is longer is left out.
  static let longestAccessUnit = 64 << 20
  /// The most NAL units in one; level 6.2 allows 600 slices, and some streams have more.
  static let mostUnits = 1 << 14

  /// One access unit.
  struct Group {
    var units: [ByteBuffer] = []
    /// Where its first NAL unit begins, as far as that was told.
    var offset: Int64 = 0
    /// Its place in the order of display; `nil` when no slice header can be read.
    var order: PictureOrder?
    /// Whether decoding can begin here: an IDR or IRAP picture, or a recovery point at once.
    var isRandomAccess = false
    /// It is the rest of the picture that ``settle()`` gave.
    var isContinued = false
    /// How many fields it lasts: 2 for a frame.
    var fields: Int64 { order?.field == nil ? 2 : 1 }
    fileprivate var bytes = 0
    fileprivate var hasPicture = false
  }

  private let codec: Codec
  private var boundary: any PictureBoundary
  private var reader: any PictureReading
  private var group = Group()
  private var lastOrder: PictureOrder?
  /// Prefix NAL units, which belong to the slice that follows them.
  private var held: [(unit: ByteBuffer, offset: Int64)] = []
  private var heldBytes = 0

  init(_ codec: Codec) {
    self.codec = codec
    reader = codec.pictureReader
    switch codec {
    case .h264: boundary = H264PictureBoundary()
    case .h265: boundary = H265PictureBoundary()
    }
  }

  /// Takes a parameter set that is no part of the stream.
  mutating func learn(_ set: ByteBuffer) {
    boundary.learn(set)
    reader.take(parameterSet: set)
  }

  /// Takes the next NAL unit, which begins at `offset` in a file, and gives the access unit that
  /// ended before it.
  mutating func take(_ unit: ByteBuffer, at offset: Int64 = 0) -> Group? {
    guard unit.readableBytes > codec.headerLength || isEnd(unit) else {
      // All but the header is cut off, as where a writer died; nothing tells what it belongs to.
      return nil
    }
    let place = boundary.place(of: unit)
    if case .unknownYet = place {
      // A stream of nothing else would be kept forever.
      if held.count < Self.mostUnits,
        heldBytes + unit.readableBytes <= Self.longestAccessUnit
      {
        held.append((unit, offset))
        heldBytes += unit.readableBytes
      }
      return nil
    }
    let waiting = takeHeld()
    var ended: Group?
    if case .beginsAccessUnit = place {
      if group.hasPicture { ended = end() }
      group.isContinued = false
    }
    for (unit, offset) in waiting { append(unit, at: offset, isPicture: false) }
    append(unit, at: offset, isPicture: boundary.isPicture(unit))
    return ended
  }

  /// The last access unit, at the end of the stream; what follows has to stand for itself.
  ///
  /// NAL units behind the last picture, such as a delimiter whose picture never came, are dropped.
  mutating func finish() -> Group? {
    for (unit, offset) in takeHeld() { append(unit, at: offset, isPicture: false) }
    defer { group = Group() }
    return group.hasPicture ? end() : nil
  }

  /// The present access unit, where there is reason to believe that it is whole; if it was not, the
  /// rest comes as a group that is continued.
  mutating func settle() -> Group? {
    guard group.hasPicture else { return nil }
    let ended = end()
    (group.isContinued, lastOrder) = (true, ended.order)
    return ended
  }

  /// Forgets what is not whole, where the stream breaks off and begins again.
  mutating func restart() {
    _ = takeHeld()
    group = Group()
    boundary.restart()
    reader.restart()
  }

  private mutating func takeHeld() -> [(unit: ByteBuffer, offset: Int64)] {
    defer { (held, heldBytes) = ([], 0) }
    return held
  }

  private mutating func append(_ unit: ByteBuffer, at offset: Int64, isPicture: Bool) {
    guard group.units.count < Self.mostUnits,
      group.bytes + unit.readableBytes <= Self.longestAccessUnit
    else { return }
    if group.units.isEmpty { group.offset = offset }
    group.units.append(unit)
    group.bytes += unit.readableBytes
    if isPicture {
      group.hasPicture = true
      group.isRandomAccess = group.isRandomAccess || codec.isRandomAccess(unit)
    }
  }

  private mutating func end() -> Group {
    var ended = group
    group = Group()
    ended.order = ended.isContinued ? lastOrder : reader.order(of: ended.units)
    ended.isRandomAccess = ended.isRandomAccess || ended.units.contains(where: isRecoveryPoint)
    return ended
  }

  /// Whether `unit` ends a sequence or the stream, for which a header is enough.
  private func isEnd(_ unit: ByteBuffer) -> Bool {
    switch (codec, codec.type(of: unit)) {
    case (.h264, 10), (.h264, 11), (.h265, 36), (.h265, 37): true
    default: false
    }
  }

  /// Whether `unit` says that pictures are right from here on (H.264 §D.2.8), as encoders with open
  /// groups of pictures do, which have one IDR picture or none.
  private func isRecoveryPoint(_ unit: ByteBuffer) -> Bool {
    guard codec == .h264, codec.type(of: unit) == 6,
      var message = SupplementalInformation.recoveryPoint(in: unit.dropping(bytes: 1))
    else { return false }
    return (try? message.unsigned()) == 0
  }
}

extension Codec {
  /// Reads the slice headers of a stream from its beginning.
  var pictureReader: any PictureReading {
    switch self {
    case .h264: H264.PictureReader()
    case .h265: H265.PictureReader()
    }
  }
}

/// Where a NAL unit stands to the access unit before it.
enum UnitPlace: Equatable {
  /// It is the first of another one, if the one before has a picture.
  case beginsAccessUnit
  case continuesAccessUnit
  /// What follows decides.
  case unknownYet
}

/// Knows the last slice of one codec, and compares the next one with it.
protocol PictureBoundary {
  /// Takes the next NAL unit in decoding order.
  mutating func place(of unit: ByteBuffer) -> UnitPlace
  /// Takes a parameter set that is no part of the stream.
  mutating func learn(_ set: ByteBuffer)
  /// Whether it is a slice of the base layer's picture.
  func isPicture(_ unit: ByteBuffer) -> Bool
  mutating func restart()
}
