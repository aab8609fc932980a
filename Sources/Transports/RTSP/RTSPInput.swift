internal import NIOCore
internal import RTPWire

/// What comes through an RTSP connection, taken apart: messages and interleaved frames, in any order
/// and cut anywhere (RFC 2326 §10.12).
///
/// Frames are slices of the reads that brought them; only one that lies across two reads is put
/// together. Bytes that belong to nothing are skipped up to a place where everything fits, and
/// counted. After an error there is no going on.
struct RTSPInput: Sendable {
  /// The channels on which frames can be expected.
  var assignedChannels: [UInt8] = []
  /// Bytes that were skipped because they are no part of anything.
  private(set) var skipped: UInt64 = 0

  /// What has been read and not yet taken apart.
  private var unread = ByteBuffer()
  /// A frame of which the end has not come, from its `$` on; `unread` is empty meanwhile.
  private var cutFrame = ByteBuffer()
  private var message: RTSPMessageReader?
  /// The payload types that frames had so far, a bit for each.
  private var payloadTypes: (UInt64, UInt64) = (0, 0)
  /// Bytes skipped since the last element.
  private var skippedInARow = 0
  /// When the first of them were skipped.
  private var disorderSince: Instant?
  private var hasElements = false
  private var wait: (Wait, since: Instant)?

  /// What is waited for in the middle of something.
  private enum Wait: Sendable {
    case frame, header, body

    var limit: Duration {
      switch self {
      case .frame: .seconds(5)
      case .header, .body: .seconds(10)
      }
    }
  }

  /// Bytes of garbage after which nobody knows any more what is what.
  static let maximumSkipped = 64 << 10
  /// Time in which nothing but garbage comes, after which it is the same.
  static let maximumDisorder = Duration.seconds(2)
  /// `$`, the channel and the length.
  static let frameHeaderLength = 4

  /// When ``next(at:)`` is to be asked although nothing came: what has begun takes too long then.
  var deadline: Instant? {
    let wait = wait.map { $0.since.advanced(by: $0.0.limit) }
    // What speaks RTSP may leave a stray byte and be silent for a while; what never did is no server.
    guard !hasElements, let disorder = disorderEnd else { return wait }
    return min(wait ?? disorder, disorder)
  }

  private var disorderEnd: Instant? { disorderSince?.advanced(by: Self.maximumDisorder) }

  mutating func append(_ bytes: ByteBuffer) {
    guard unread.readableBytes > 0 else { return unread = bytes }
    unread.discardReadBytes()
    unread.writeImmutableBuffer(bytes)
  }

  /// The next element that is there whole.
  ///
  /// - Throws: what makes it useless to go on: a limit, a wait that took too long, or garbage.
  mutating func next(at now: Instant) throws(RTSPError) -> RTSPElement? {
    let skippedBefore = skippedInARow
    repeat {
      repeat {
        var element = takeFrame()
        if element == nil { element = try takeMessage() }
        if let element {
          wait = nil
          skippedInARow = 0
          disorderSince = nil
          hasElements = true
          return element
        }
      } while try findOrder()
      try noteDisorder(at: now, isMore: skippedInARow > skippedBefore)
    } while try givesUp(at: now)
    return nil
  }

  // MARK: Frames

  private mutating func takeFrame() -> RTSPElement? {
    if cutFrame.readableBytes > 0 {
      if let frame = completeFrame() { return frame }
      guard cutFrame.readableBytes == 0 else { return nil }
    }
    guard message == nil else { return nil }
    skipLineEnds()
    while let header = frameHeader(at: unread.readerIndex),
      judge(header, at: unread.readerIndex, isInOrder: skippedInARow == 0) == .yes
    {
      if let length = lengthUpToElement(inside: header) {
        skip(length)
        continue
      }
      let length = Self.frameHeaderLength + header.length
      if let frame = unread.readSlice(length: length) { return element(header, frame) }
      // Room for all of it: the length is 16 bits, so nobody can ask for much.
      cutFrame = ByteBufferAllocator().buffer(capacity: length)
      cutFrame.writeBuffer(&unread)
      return nil
    }
    return nil
  }

  /// The cut frame, once its end has come; puts it back into ``unread`` if nothing begins behind it.
  private mutating func completeFrame() -> RTSPElement? {
    guard let header = Self.frameHeader(at: cutFrame.readerIndex, of: cutFrame) else { return nil }
    let missing = Self.frameHeaderLength + header.length - cutFrame.readableBytes
    guard let part = unread.readSlice(length: min(missing, unread.readableBytes)) else {
      return nil
    }
    cutFrame.writeImmutableBuffer(part)
    guard cutFrame.readableBytes == Self.frameHeaderLength + header.length else { return nil }
    let frame = cutFrame
    cutFrame = ByteBuffer()
    if Self.beginsElement(in: unread, at: unread.readerIndex) != .no {
      return element(header, frame)
    }
    let rest = unread
    unread = frame
    unread.writeImmutableBuffer(rest)
    return nil
  }

  /// How far from the first unread byte an element begins inside the frame that begins there, if
  /// nothing begins behind that frame; `nil` when it is as long as it says, or nobody can tell.
  ///
  /// Some devices drop bytes within a frame, so that it seems to hold the beginning of the next.
  private func lengthUpToElement(inside header: FrameHeader) -> Int? {
    let start = unread.readerIndex
    let end = start + Self.frameHeaderLength + header.length
    guard end < unread.writerIndex, Self.beginsElement(in: unread, at: end) == .no else {
      return nil
    }
    return (start + 1..<end).first { index in
      switch unread.getInteger(at: index, as: UInt8.self) {
      case UInt8(ascii: "$"): frameHeader(at: index).map { fits($0, at: index) } == .yes
      case UInt8(ascii: "R"): RTSPMessageReader.begins(in: unread, at: index) == .yes
      default: false
      }
    }.map { $0 - start }
  }

  private mutating func element(_ header: FrameHeader, _ frame: ByteBuffer) -> RTSPElement {
    var payload = frame
    payload.moveReaderIndex(forwardBy: Self.frameHeaderLength)
    if header.length >= RTPPacket.minimumLength,
      let second = payload.getInteger(at: payload.readerIndex + 1, as: UInt8.self),
      !Self.controlTypes.contains(second)
    {
      know(payloadType: second & 0x7F)
    }
    return .frame(channel: header.channel, payload)
  }

  struct FrameHeader {
    var channel: UInt8
    /// 0 … 65,535.
    var length: Int
    /// The first byte behind the header; `nil` when there is none.
    var first: UInt8?
  }

  /// The header of a frame at `index`, as far as a look at it is possible yet.
  private static func frameHeader(at index: Int, of bytes: ByteBuffer) -> FrameHeader? {
    guard
      let (sign, channel, length) = bytes.getMultipleIntegers(
        at: index, as: (UInt8, UInt8, UInt16).self), sign == UInt8(ascii: "$")
    else { return nil }
    return FrameHeader(
      channel: channel, length: Int(length),
      first: bytes.getInteger(at: index + frameHeaderLength, as: UInt8.self))
  }

  private func frameHeader(at index: Int) -> FrameHeader? {
    Self.frameHeader(at: index, of: unread)
  }

  private mutating func know(payloadType: UInt8) {
    if payloadType < 64 {
      payloadTypes.0 |= 1 << UInt64(payloadType)
    } else {
      payloadTypes.1 |= 1 << UInt64(payloadType - 64)
    }
  }

  /// Whether frames had that payload type; before the first frame any is as good as another.
  private func knows(payloadType: UInt8) -> Bool {
    if payloadTypes == (0, 0) { return true }
    let half = payloadType < 64 ? payloadTypes.0 : payloadTypes.1
    return half & 1 << UInt64(payloadType & 63) != 0
  }

  // MARK: Messages

  private mutating func takeMessage() throws(RTSPError) -> RTSPElement? {
    if message == nil {
      guard RTSPMessageReader.begins(in: unread, at: unread.readerIndex) == .yes else { return nil }
      message = RTSPMessageReader()
    }
    switch try message?.read(from: &unread) {
    case .message(let element):
      message = nil
      return element
    case .invalid(let bytes):
      message = nil
      noteSkipped(bytes)
      return nil
    case .incomplete, nil: return nil
    }
  }

  /// Skips line ends between elements, which some devices put before `$` and before messages.
  private mutating func skipLineEnds() {
    guard skippedInARow == 0 else { return }
    while let byte = unread.getInteger(at: unread.readerIndex, as: UInt8.self),
      byte == 0x0D || byte == 0x0A
    {
      unread.moveReaderIndex(forwardBy: 1)
    }
  }

  // MARK: Garbage

  /// Skips what is no part of anything; true when there is something to go on with.
  private mutating func findOrder() throws(RTSPError) -> Bool {
    guard message == nil, cutFrame.readableBytes == 0 else { return false }
    let start = unread.readerIndex
    // A web server's answer: the port is not one for RTSP.
    if !hasElements, unread.getString(at: start, length: 5) == "HTTP/" {
      throw .framingLost(skipped: 0)
    }
    var index = start
    var judgement = Judgement.undecided
    while index < unread.writerIndex {
      judgement = judge(index, isStart: index == start)
      // Undecided for want of bytes: nothing behind it can be looked at either.
      guard judgement == .no else { break }
      index += 1
    }
    skip(index - start)
    guard skippedInARow <= Self.maximumSkipped else { throw .framingLost(skipped: skippedInARow) }
    return judgement == .yes
  }

  private mutating func skip(_ count: Int) {
    unread.moveReaderIndex(forwardBy: count)
    noteSkipped(count)
  }

  private mutating func noteSkipped(_ count: Int) {
    skippedInARow += count
    skipped += UInt64(count)
  }

  enum Judgement: Sendable, Hashable { case yes, no, undecided }

  /// Whether the next element begins at `index`.
  private func judge(_ index: Int, isStart: Bool) -> Judgement {
    guard let byte = unread.getInteger(at: index, as: UInt8.self) else { return .undecided }
    let isInOrder = isStart && skippedInARow == 0
    if byte == UInt8(ascii: "$") { return judgeFrame(at: index, isInOrder: isInOrder) }
    // Line ends are skipped where they stand between elements.
    if byte == 0x0D || byte == 0x0A { return isInOrder ? .yes : .no }
    return RTSPMessageReader.begins(in: unread, at: index)
  }

  private func judgeFrame(at index: Int, isInOrder: Bool) -> Judgement {
    guard let header = frameHeader(at: index) else { return .undecided }
    return judge(header, at: index, isInOrder: isInOrder)
  }

  /// In order, a frame on a channel that was set up is believed if it can hold RTP or RTCP, and any
  /// other if an element follows it; behind garbage everything has to fit.
  private func judge(_ header: FrameHeader, at index: Int, isInOrder: Bool) -> Judgement {
    guard isInOrder else {
      let judgement = fits(header, at: index)
      return judgement == .yes ? judgeFollower(of: header, at: index, orEnd: true) : judgement
    }
    let isAssigned = assignedChannels.contains(header.channel)
    if header.length == 0, isAssigned { return .yes }
    guard let first = header.first ?? (header.length == 0 ? 0 : nil) else { return .undecided }
    let hasVersion = first >> 6 == 2
    if hasVersion, isAssigned { return .yes }
    // H264DVR recorders send on channels that nobody has set up.
    if hasVersion, header.length >= RTPPacket.minimumLength {
      return judgeFollower(of: header, at: index, orEnd: true)
    }
    return header.length < RTPPacket.minimumLength ? judgeFollower(of: header, at: index) : .no
  }

  /// Whether a frame has a channel that was set up, and holds RTP or RTCP of a kind that is known.
  private func fits(_ header: FrameHeader, at index: Int) -> Judgement {
    guard assignedChannels.contains(header.channel), header.length >= 8 else { return .no }
    guard
      let (first, second, words) = unread.getMultipleIntegers(
        at: index + Self.frameHeaderLength, as: (UInt8, UInt8, UInt16).self)
    else { return .undecided }
    guard first >> 6 == 2 else { return .no }
    if Self.controlTypes.contains(second) {
      return 4 * (Int(words) + 1) <= header.length ? .yes : .no
    }
    return header.length >= RTPPacket.minimumLength && knows(payloadType: second & 0x7F)
      ? .yes : .no
  }

  /// Whether an element begins behind a frame, or nothing does, since that is all that was read.
  private func judgeFollower(
    of header: FrameHeader, at index: Int, orEnd: Bool = false
  ) -> Judgement {
    let next = index + Self.frameHeaderLength + header.length
    return orEnd && next == unread.writerIndex ? .yes : Self.beginsElement(in: unread, at: next)
  }

  /// Whether what stands at `index` looks like the beginning of an element.
  private static func beginsElement(in bytes: ByteBuffer, at index: Int) -> Judgement {
    switch bytes.getInteger(at: index, as: UInt8.self) {
    case nil: .undecided
    case UInt8(ascii: "$"), 0x0D, 0x0A: .yes
    default: RTSPMessageReader.begins(in: bytes, at: index)
    }
  }

  /// The types of RTCP packets, which as RTP would be those from 72 on (RFC 5761 §4).
  private static let controlTypes: ClosedRange<UInt8> = 200...207

  // MARK: Time

  /// Gives up when garbage is all that comes.
  private mutating func noteDisorder(at now: Instant, isMore: Bool) throws(RTSPError) {
    guard skippedInARow > 0 else { return }
    disorderSince = disorderSince ?? now
    guard let disorderEnd, disorderEnd <= now, isMore || !hasElements else { return }
    throw .framingLost(skipped: skippedInARow)
  }

  /// Whether what was taken for the beginning of a frame is so no longer, and is skipped.
  ///
  /// - Throws: that what has certainly begun has not come whole in its time.
  private mutating func givesUp(at now: Instant) throws(RTSPError) -> Bool {
    let isFrame =
      cutFrame.readableBytes > 0
      || unread.getInteger(at: unread.readerIndex, as: UInt8.self) == UInt8(ascii: "$")
    let current: Wait?
    if let message {
      current = message.isInBody ? .body : .header
    } else if isFrame {
      current = .frame
    } else {
      current = unread.readableBytes > 0 && skippedInARow == 0 ? .header : nil
    }
    guard let current else {
      wait = nil
      return false
    }
    if wait?.0 != current { wait = (current, since: now) }
    guard let end = wait?.since.advanced(by: current.limit), end <= now else { return false }
    if current == .frame, cutFrame.readableBytes == 0, frameHeader(at: unread.readerIndex) != nil {
      wait = nil
      skip(1)
      return true
    }
    throw .stalled(
      in: current == .frame ? "packet" : "message", seconds: Int(current.limit.components.seconds))
  }
}
