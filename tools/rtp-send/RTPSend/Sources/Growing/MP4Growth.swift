import Bitstream
import NIOCore
import RTPWire

/// Takes the pictures out of an MP4 that is still being written, from bytes that come in pieces cut
/// anywhere.
///
/// In fragments the samples are told by each `moof`. A plain file has no index before it is closed:
/// its `mdat` is read as NAL units, one length after the other.
struct MP4Growth {
  /// The longest index.
  static let longestIndex: UInt64 = 64 << 20
  /// The longest NAL unit.
  static let longestUnit = 64 << 20
  /// The most bytes of the length before a NAL unit.
  private static let longestLength = 4

  /// Of the video, as far as it is known.
  private(set) var known: KnownVideo?
  /// The present place in the file, behind everything that was taken.
  private(set) var offset: UInt64 = 0
  /// Bytes from `offset` on.
  private var pending = ByteBuffer()
  private var state = State.boxes
  private var index: MovieIndex?
  private var grouper: AccessUnitGrouper?
  private var ready = CircularBuffer<GrowingPicture>()
  /// The samples of the present fragment that have not come yet.
  private var samples = CircularBuffer<MovieFragment.Sample>()
  /// The decoding time behind the last fragment.
  private var end: Int64 = 0
  /// Where the present `mdat` begins, in a plain file.
  private(set) var plainStart: UInt64?

  private enum State: Equatable {
    case boxes
    /// A box that nobody reads, up to this place in the file.
    case skipping(to: UInt64)
    /// An `mdat` with the samples of a fragment, up to this place.
    case fragment(to: UInt64?)
    /// An `mdat` of NAL units, up to this place if that is known already.
    case plain(to: UInt64?)
  }

  init(_ known: KnownVideo?) { self.known = known }

  /// Where the next bytes are wanted from.
  var position: UInt64 { offset + UInt64(pending.readableBytes) }

  /// Takes bytes from ``position`` on.
  mutating func take(_ bytes: ByteBuffer) throws(GrowingFault) {
    pending.discardReadBytes()
    pending.writeImmutableBuffer(bytes)
    while try step() {}
  }

  /// The next picture that is whole.
  mutating func next() -> GrowingPicture? { ready.popFirst() }

  /// Takes it for whole that a picture ends where the bytes end, or with `isOver` before what the
  /// writer has left unfinished.
  mutating func settle(isOver: Bool) -> GrowingPicture? {
    guard pending.readableBytes == 0 || isOver, case .plain = state else { return nil }
    return grouper?.settle().map(GrowingPicture.init)
  }

  /// The last picture, when nothing more will come.
  mutating func finish() -> GrowingPicture? { grouper?.finish().map(GrowingPicture.init) }

  /// Bytes of something that is not whole.
  var waitingBytes: Int { pending.readableBytes }

  /// The place of the header of the open `mdat`, and of the box before it, which becomes a part of
  /// it when the file is longer than 4 GiB.
  var headerRange: Range<UInt64>? {
    guard let plainStart, case .plain = state else { return nil }
    return plainStart - min(plainStart, 16)..<plainStart
  }

  /// Takes the bytes that are now in ``headerRange``: the writer may have said where the box ends.
  mutating func reread(_ bytes: ByteBuffer) {
    guard let plainStart, case .plain = state else { return }
    for size in [16, 8] where bytes.readableBytes >= size {
      var bytes = bytes
      bytes.moveReaderIndex(forwardBy: bytes.readableBytes - size)
      guard let header = BoxHeader(bytes), header.type == "mdat", header.size == size,
        !header.isOpenEnded
      else { continue }
      let end = (plainStart - UInt64(size)).addingReportingOverflow(header.length)
      if !end.overflow, end.partialValue >= offset { state = .plain(to: end.partialValue) }
      return
    }
  }

  /// Goes on with what is pending; false when more bytes have to come first.
  private mutating func step() throws(GrowingFault) -> Bool {
    switch state {
    case .boxes: return try stepBoxes()
    case .skipping(let end):
      skip(to: end)
      guard offset == end else { return false }
      state = .boxes
      return true
    case .fragment(let end): return try stepFragment(end)
    case .plain(let end): return try stepPlain(end)
    }
  }

  private mutating func stepBoxes() throws(GrowingFault) -> Bool {
    guard let header = BoxHeader(pending) else { return false }
    guard BoxHeader.topLevel.contains(header.type) else {
      // Room that was reserved and has not been written yet.
      if header.length == 0, header.type == "\0\0\0\0" { return giveBack() }
      if offset == 0 { throw .unknownFormat }
      throw .malformed(header.type)
    }
    if header.type == "mdat" { return try begin(header) }
    guard header.length >= UInt64(header.size) else {
      if header.length == 0 { return giveBack() }
      throw .malformed(header.type)
    }
    let (end, overflow) = offset.addingReportingOverflow(header.length)
    guard !overflow else { throw .tooLong(bytes: header.length, offset: offset) }
    guard header.type == "moov" || header.type == "moof" else {
      state = .skipping(to: end)
      return true
    }
    guard header.length <= Self.longestIndex else {
      throw .tooLong(bytes: header.length, offset: offset)
    }
    guard UInt64(pending.readableBytes) >= header.length,
      let body = pending.getSlice(
        at: pending.readerIndex + header.size, length: Int(header.length) - header.size)
    else { return false }
    if header.type == "moov" {
      let index = try MovieIndex(body)
      self.index = index
      known = index.video
    } else if let index {
      let fragment = try MovieFragment(body, at: offset, index, after: self.end)
      samples = CircularBuffer(fragment.samples.sorted { $0.offset < $1.offset })
      self.end = fragment.end
    }
    advance(Int(header.length))
    return true
  }

  /// The `mdat` box that begins here.
  private mutating func begin(_ header: BoxHeader) throws(GrowingFault) -> Bool {
    let isOpen = header.isOpenEnded
    let (end, overflow) = offset.addingReportingOverflow(header.length)
    guard isOpen || !overflow && header.length >= UInt64(header.size) else {
      throw .tooLong(bytes: header.length, offset: offset)
    }
    advance(header.size)
    if index?.isFragmented == true {
      state = .fragment(to: isOpen ? nil : end)
    } else {
      if index?.hasSound == true { throw .hasSound }
      plainStart = offset
      state = .plain(to: isOpen ? nil : end)
    }
    return true
  }

  private mutating func stepFragment(_ end: UInt64?) throws(GrowingFault) -> Bool {
    // What lies before the present place has gone by.
    while let sample = samples.first, sample.offset < offset { samples.removeFirst() }
    guard let sample = samples.first, end.map({ sample.offset < $0 }) ?? true else {
      // Behind the last sample of an `mdat` without an end nothing follows.
      skip(to: end)
      guard let end, offset == end else { return false }
      state = .boxes
      return true
    }
    // Its last bytes would be those of the next box, which would then have no beginning.
    if let end, end - sample.offset < UInt64(sample.size) { throw .malformed("trun") }
    skip(to: sample.offset)
    guard offset == sample.offset,
      let bytes = pending.getSlice(
        at: pending.readerIndex, length: sample.size)
    else { return false }
    samples.removeFirst()
    advance(sample.size)
    guard let known, let index else { return true }
    guard let slices = try? LengthPrefixed.units(of: bytes, lengthSize: known.lengthSize) else {
      // The writer died within it, and something else has come behind.
      return true
    }
    let units = slices.filter { $0.readableBytes >= known.codec.headerLength }.map(\.copied)
    guard !units.isEmpty else { return true }
    ready.append(
      GrowingPicture(
        units: units, isRandomAccess: units.contains(where: known.codec.isRandomAccess),
        times: GrowingPicture.Times(
          presentation: Self.ticks(sample.presentation, index.timescale),
          decoding: Self.ticks(sample.decoding, index.timescale),
          end: Self.ticks(sample.end, index.timescale))))
    return true
  }

  private mutating func stepPlain(_ end: UInt64?) throws(GrowingFault) -> Bool {
    if let end, offset >= end { return endPlain() }
    let size = known?.lengthSize ?? .four
    guard let length = pending.length(size) else { return false }
    if length == 0 { return try stepZero(size) }
    // A writer that closes the file puts its index behind the pictures, and may say only then where
    // they end.
    if end == nil, let header = BoxHeader(pending), BoxHeader.topLevel.contains(header.type) {
      return endPlain()
    }
    guard length <= Self.longestUnit,
      let header = pending.getBytes(
        at: pending.readerIndex + size.rawValue, length: min(length, 2))
    else {
      if length <= Self.longestUnit { return false }
      throw .notVideo(offset: offset)
    }
    guard let codec = known?.codec ?? Codec(firstUnit: header), codec.canBegin(with: header) else {
      throw .notVideo(offset: offset)
    }
    if known == nil { known = KnownVideo(codec) }
    let whole = size.rawValue + length
    guard pending.readableBytes >= whole,
      let unit = pending.getSlice(at: pending.readerIndex + size.rawValue, length: length)
    else { return false }
    // FFmpeg leaves the first zero of the start code behind it at the end of a unit of H.265. More
    // zeros, or one with zeros behind it, are room that was reserved and is not written yet.
    let bytes = unit.readableBytesView
    let zeros = bytes.reversed().prefix { $0 == 0 }.count
    let isLast = pending.readableBytes == whole
    let isWritten = zeros == 0 || hasMore(behind: whole) || (zeros == 1 && isLast)
    guard isWritten, zeros < length else { return giveBack() }
    let written = unit.getSlice(at: unit.readerIndex, length: length - zeros) ?? unit
    take(unit: written.copied, codec)
    advance(whole)
    return true
  }

  /// Whether a length stands behind the next `count` bytes.
  private func hasMore(behind count: Int) -> Bool {
    pending.readableBytesView.dropFirst(count).prefix(Self.longestLength).contains { $0 != 0 }
  }

  /// The pictures are over, and so is the last of them.
  private mutating func endPlain() -> Bool {
    if let last = grouper?.finish() { ready.append(GrowingPicture(last)) }
    state = .boxes
    return true
  }

  /// Where a length should be there are zeros: not written yet, unless something follows.
  private mutating func stepZero(_ size: LengthPrefixed.LengthSize) throws(GrowingFault) -> Bool {
    let zeros = pending.readableBytesView.prefix { $0 == 0 }.count
    // The first bytes of a length that is being written may be there before the others.
    guard zeros == pending.readableBytes || pending.readableBytes < 2 * size.rawValue else {
      throw .notVideo(offset: offset)
    }
    return giveBack()
  }

  /// Has everything from the present place on read again later.
  private mutating func giveBack() -> Bool {
    pending.clear()
    return false
  }

  private mutating func take(unit: ByteBuffer, _ codec: Codec) {
    known?.take(unit)
    if grouper == nil {
      grouper = AccessUnitGrouper(codec)
      // Slice headers refer to sets that only another file has.
      for set in known?.ordered ?? [] { grouper?.learn(set) }
    }
    if let ended = grouper?.take(unit) { ready.append(GrowingPicture(ended)) }
  }

  private mutating func advance(_ count: Int) {
    pending.moveReaderIndex(forwardBy: count)
    offset += UInt64(count)
  }

  private mutating func skip(to end: UInt64?) {
    let left = end.map { $0 > offset ? $0 - offset : 0 } ?? .max
    advance(Int(min(UInt64(pending.readableBytes), left)))
  }

  private static func ticks(_ time: Int64, _ timescale: UInt32) -> Int64 {
    return Int64(clamping: (Double(time) * 90_000 / Double(timescale)).rounded())
  }
}

extension ByteBuffer {
  /// The number in the next bytes, which are not taken out.
  fileprivate func length(_ size: LengthPrefixed.LengthSize) -> Int? {
    switch size {
    case .one: getInteger(at: readerIndex, as: UInt8.self).map(Int.init)
    case .two: getInteger(at: readerIndex, as: UInt16.self).map(Int.init)
    case .four: getInteger(at: readerIndex, as: UInt32.self).map(Int.init)
    }
  }
}
