import NIOCore

/// One file that is still being written: bytes come in, pieces cut anywhere, and pictures go out as
/// soon as they are whole.
struct GrowingFile {
  /// What tells one format from another.
  private static let beginning = 8

  private var form: Form
  private var known: KnownVideo?
  private var first = ByteBuffer()
  private let wasPatient: Bool

  private enum Form {
    case unknown
    case annexB(AnnexBGrowth)
    case mp4(MP4Growth)
  }

  /// A file of the video that is known from elsewhere, if it is; `isPatient` when another file of
  /// the writer was.
  init(_ known: KnownVideo?, isPatient: Bool = false) {
    self.known = known
    wasPatient = isPatient
    form = .unknown
  }

  /// What is known of the video; what the file says itself wins.
  var video: KnownVideo? {
    switch form {
    case .unknown: known
    case .annexB(let growth): growth.known
    case .mp4(let growth): growth.known
    }
  }

  /// See ``AnnexBGrowth``.
  var isPatient: Bool {
    if case .annexB(let growth) = form { growth.isPatient } else { wasPatient }
  }

  /// Where the next bytes are wanted from.
  ///
  /// It can go back to room that was reserved before it was written.
  var position: UInt64 {
    switch form {
    case .unknown: UInt64(first.readableBytes)
    case .annexB(let growth): growth.position
    case .mp4(let growth): growth.position
    }
  }

  /// Takes bytes from ``position`` on; pull with ``next()`` afterwards.
  mutating func take(_ bytes: ByteBuffer) throws(GrowingFault) {
    switch form {
    case .unknown:
      first.writeImmutableBuffer(bytes)
      guard first.readableBytes >= Self.beginning else { return }
      guard first.readableBytesView.prefix(Self.beginning).contains(where: { $0 != 0 }) else {
        // Room that was reserved and has not been written yet.
        return first.clear()
      }
      form = try recognized()
      let bytes = first
      first = ByteBuffer()
      try take(bytes)
    case .annexB(var growth):
      form = .unknown
      defer { form = .annexB(growth) }
      try growth.take(bytes)
    case .mp4(var growth):
      form = .unknown
      defer { form = .mp4(growth) }
      try growth.take(bytes)
    }
  }

  /// The next picture that is whole.
  mutating func next() -> GrowingPicture? {
    switch form {
    case .unknown: return nil
    case .annexB(var growth):
      form = .unknown
      defer { form = .annexB(growth) }
      return growth.next()
    case .mp4(var growth):
      form = .unknown
      defer { form = .mp4(growth) }
      return growth.next()
    }
  }

  /// Takes it for whole that a picture ends where the bytes end, after a pause in which none came,
  /// or for certain when the writer has gone.
  mutating func settle(isOver: Bool) throws(GrowingFault) -> GrowingPicture? {
    switch form {
    case .unknown: return nil
    case .annexB(var growth):
      defer { form = .annexB(growth) }
      return try growth.settle(isOver: isOver)
    case .mp4(var growth):
      defer { form = .mp4(growth) }
      return growth.settle(isOver: isOver)
    }
  }

  /// The pictures at the end, when nothing more will come; call until there is none.
  mutating func finish() throws(GrowingFault) -> GrowingPicture? {
    switch form {
    case .unknown: return nil
    case .annexB(var growth):
      defer { form = .annexB(growth) }
      return try growth.finish()
    case .mp4(var growth):
      defer { form = .mp4(growth) }
      return growth.finish()
    }
  }

  /// Bytes that came and are part of nothing that is whole.
  var waitingBytes: Int {
    switch form {
    case .unknown: first.readableBytes
    case .annexB(let growth): growth.waitingBytes
    case .mp4(let growth): growth.waitingBytes
    }
  }

  /// See ``MP4Growth``.
  var headerRange: Range<UInt64>? {
    if case .mp4(let growth) = form { growth.headerRange } else { nil }
  }

  mutating func reread(_ bytes: ByteBuffer) {
    guard case .mp4(var growth) = form else { return }
    growth.reread(bytes)
    form = .mp4(growth)
  }

  private func recognized() throws(GrowingFault) -> Form {
    if let header = BoxHeader(first), BoxHeader.topLevel.contains(header.type) {
      return .mp4(MP4Growth(known))
    }
    // A start code, with as many zeros before it as there may be.
    let bytes = first.getBytes(at: first.readerIndex, length: Self.beginning) ?? []
    guard let one = bytes.firstIndex(where: { $0 != 0 }), one >= 2, bytes[one] == 1 else {
      throw .unknownFormat
    }
    return .annexB(AnnexBGrowth(known, isPatient: wasPatient))
  }
}
