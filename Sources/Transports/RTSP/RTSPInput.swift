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
  private var hasElements = false
  private var wait: (Wait, since: Instant)?

  /// What is waited for in the middle of something.
  private enum Wait: Sendable {
    case frame, header, body
    /// A place to go on from.
    case order

    var limit: Duration {
      switch self {
      case .frame: .seconds(5)
      case .header, .body: .seconds(10)
      case .order: .seconds(2)
      }
    }
  }

  /// Bytes of garbage after which nobody knows any more what is what.
  static let maximumSkipped = 64 << 10
  /// `$`, the channel and the length.
  static let frameHeaderLength = 4

  /// When ``next(at:)`` is to be asked although nothing came: what has begun takes too long then.
  var deadline: Instant? { wait.map { $0.since.advanced(by: $0.0.limit) } }

  mutating func append(_ bytes: ByteBuffer) {
    guard unread.readableBytes > 0 else { return unread = bytes }
    unread.discardReadBytes()
    unread.writeImmutableBuffer(bytes)
  }

  /// The next element that is there whole.
  ///
  /// - Throws: what makes it useless to go on: a limit, a wait that took too long, or garbage.
  mutating func next(at now: Instant) throws(RTSPError) -> RTSPElement? {
    while true {
      var element = takeFrame()
      if element == nil { element = try takeMessage() }
      if let element {
        wait = nil
        skippedInARow = 0
        hasElements = true
        return element
      }
      guard message == nil, cutFrame.readableBytes == 0, try findOrder() else { break }
    }
    try note(at: now)
    return nil
  }

  // MARK: Frames

  private mutating func takeFrame() -> RTSPElement? {
    if cutFrame.readableBytes > 0 { return completeFrame() }
    guard message == nil else { return nil }
    skipLineEnds()
    guard let header = frameHeader(at: unread.readerIndex),
      judge(header, at: unread.readerIndex, isInOrder: skippedInARow == 0) == .yes
    else { return nil }
    let length = Self.frameHeaderLength + header.length
    guard let frame = unread.readSlice(length: length) else {
      // Room for all of it: the length is 16 bits, so nobody can ask for much.
      cutFrame = ByteBufferAllocator().buffer(capacity: length)
      cutFrame.writeBuffer(&unread)
      return nil
    }
    return element(header, frame)
  }

  private mutating func completeFrame() -> RTSPElement? {
    guard let header = Self.frameHeader(at: cutFrame.readerIndex, of: cutFrame) else { return nil }
    let missing = Self.frameHeaderLength + header.length - cutFrame.readableBytes
    guard var rest = unread.readSlice(length: min(missing, unread.readableBytes)) else {
      return nil
    }
    cutFrame.writeBuffer(&rest)
    guard cutFrame.readableBytes == Self.frameHeaderLength + header.length else { return nil }
    let frame = cutFrame
    cutFrame = ByteBuffer()
    return element(header, frame)
  }

  private mutating func element(_ header: FrameHeader, _ frame: ByteBuffer) -> RTSPElement {
    var payload = frame
    payload.moveReaderIndex(forwardBy: Self.frameHeaderLength)
    if header.length >= RTPPacket.minimumLength,
      let second = payload.getInteger(at: payload.readerIndex + 1, as: UInt8.self)
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

  private func knows(payloadType: UInt8) -> Bool {
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
    unread.moveReaderIndex(forwardBy: index - start)
    noteSkipped(index - start)
    guard skippedInARow <= Self.maximumSkipped else { throw .framingLost(skipped: skippedInARow) }
    return judgement == .yes
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

  /// In order, a frame that can hold RTP or RTCP is believed, and one too short to tell if an
  /// element follows it; behind garbage everything has to fit.
  private func judge(_ header: FrameHeader, at index: Int, isInOrder: Bool) -> Judgement {
    let isAssigned = assignedChannels.contains(header.channel)
    if header.length == 0, isInOrder, isAssigned { return .yes }
    guard let first = header.first ?? (header.length == 0 ? 0 : nil) else { return .undecided }
    if isInOrder {
      // H264DVR recorders send on channels that nobody has set up.
      if first >> 6 == 2, isAssigned || header.length >= RTPPacket.minimumLength { return .yes }
      return header.length < RTPPacket.minimumLength ? judgeFollower(of: header, at: index) : .no
    }
    guard isAssigned, first >> 6 == 2, header.length >= 8 else { return .no }
    guard
      let second = unread.getInteger(at: index + Self.frameHeaderLength + 1, as: UInt8.self)
    else { return .undecided }
    let isControl = (200...207).contains(second) && header.length.isMultiple(of: 4)
    let isMedia = header.length >= RTPPacket.minimumLength && knows(payloadType: second & 0x7F)
    return isControl || isMedia ? judgeFollower(of: header, at: index) : .no
  }

  /// Whether an element begins behind a frame.
  private func judgeFollower(of header: FrameHeader, at index: Int) -> Judgement {
    let next = index + Self.frameHeaderLength + header.length
    switch unread.getInteger(at: next, as: UInt8.self) {
    case nil: return .undecided
    case UInt8(ascii: "$"), 0x0D, 0x0A: return .yes
    default: return RTSPMessageReader.begins(in: unread, at: next)
    }
  }

  // MARK: Time

  /// Notes what is waited for, and whether that has taken too long.
  private mutating func note(at now: Instant) throws(RTSPError) {
    let current: Wait?
    if skippedInARow > 0 {
      current = .order
    } else if let message {
      current = message.isInBody ? .body : .header
    } else if cutFrame.readableBytes > 0
      || unread.getInteger(
        at: unread.readerIndex, as: UInt8.self) == UInt8(ascii: "$")
    {
      current = .frame
    } else {
      current = unread.readableBytes > 0 ? .header : nil
    }
    guard let current else { return wait = nil }
    if wait?.0 != current { wait = (current, since: now) }
    guard let deadline, deadline <= now else { return }
    switch current {
    case .order: throw .framingLost(skipped: skippedInARow)
    case .frame, .header, .body:
      throw .stalled(
        in: current == .frame ? "packet" : "message", seconds: Int(current.limit.components.seconds)
      )
    }
  }
}
