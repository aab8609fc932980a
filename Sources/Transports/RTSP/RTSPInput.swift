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
  var assignedChannels: [UInt8] {
    get { evidence.assignedChannels }
    set { evidence.assignedChannels = newValue }
  }
  /// Bytes that were skipped because they are no part of anything.
  private(set) var skipped: UInt64 = 0

  /// What has been read and not yet taken apart.
  private var unread = ByteBuffer()
  /// A frame of which the end has not come, from its `$` on; `unread` is empty meanwhile.
  private var cutFrame = ByteBuffer()
  private var message: RTSPMessageReader?
  private var evidence = RTSPFrameEvidence()
  /// Bytes skipped since the last element.
  private var skippedInARow = 0
  /// When the first of them were skipped.
  private var disorderSince: Instant?
  private var hasElements = false
  private var wait: (Wait, since: Instant)?

  private typealias Judgement = RTSPFrameEvidence.Judgement

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
    while let header = RTSPFrameHeader(at: unread.readerIndex, of: unread), judge(header) == .yes {
      if let length = lengthUpToElement(inside: header) {
        skip(length)
        continue
      }
      if let frame = unread.readSlice(length: header.frameLength) { return element(header, frame) }
      // Room for all of it: the length is 16 bits, so nobody can ask for much.
      cutFrame = ByteBufferAllocator().buffer(capacity: header.frameLength)
      cutFrame.writeBuffer(&unread)
      return nil
    }
    return nil
  }

  /// Whether the frame of this header, at the first unread byte, is one.
  private func judge(_ header: RTSPFrameHeader) -> Judgement {
    skippedInARow == 0
      ? evidence.judgeInOrder(header, at: unread.readerIndex, of: unread)
      : evidence.judge(header, at: unread.readerIndex, of: unread)
  }

  /// The cut frame, once its end has come; puts it back into ``unread`` if nothing begins behind it.
  private mutating func completeFrame() -> RTSPElement? {
    guard let header = RTSPFrameHeader(at: cutFrame.readerIndex, of: cutFrame) else { return nil }
    let missing = header.frameLength - cutFrame.readableBytes
    guard let part = unread.readSlice(length: min(missing, unread.readableBytes)) else {
      return nil
    }
    cutFrame.writeImmutableBuffer(part)
    guard cutFrame.readableBytes == header.frameLength else { return nil }
    let frame = cutFrame
    cutFrame = ByteBuffer()
    if RTSPFrameEvidence.beginsElement(at: unread.readerIndex, of: unread) != .no {
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
  private func lengthUpToElement(inside header: RTSPFrameHeader) -> Int? {
    let start = unread.readerIndex
    let end = start + header.frameLength
    guard end < unread.writerIndex,
      RTSPFrameEvidence.beginsElement(at: end, of: unread) == .no
    else { return nil }
    return (start + 1..<end).first { index in
      switch unread.getInteger(at: index, as: UInt8.self) {
      case UInt8(ascii: "$"):
        RTSPFrameHeader(at: index, of: unread)
          .map { evidence.fits($0, at: index, of: unread) } == .yes
      case UInt8(ascii: "R"): RTSPMessageReader.begins(in: unread, at: index) == .yes
      default: false
      }
    }.map { $0 - start }
  }

  private mutating func element(_ header: RTSPFrameHeader, _ frame: ByteBuffer) -> RTSPElement {
    var packet = frame
    packet.moveReaderIndex(forwardBy: RTSPFrameHeader.length)
    evidence.learn(from: packet)
    return .frame(channel: header.channel, packet)
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

  /// Whether the next element begins at `index`.
  private func judge(_ index: Int, isStart: Bool) -> Judgement {
    guard let byte = unread.getInteger(at: index, as: UInt8.self) else { return .undecided }
    let isInOrder = isStart && skippedInARow == 0
    switch byte {
    case UInt8(ascii: "$"):
      guard let header = RTSPFrameHeader(at: index, of: unread) else { return .undecided }
      return isInOrder ? judge(header) : evidence.judge(header, at: index, of: unread)
    // Line ends are skipped where they stand between elements.
    case 0x0D, 0x0A: return isInOrder ? .yes : .no
    default: return RTSPMessageReader.begins(in: unread, at: index)
    }
  }

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
    let isDoubtful =
      cutFrame.readableBytes == 0 && RTSPFrameHeader(at: unread.readerIndex, of: unread) != nil
    if current == .frame, isDoubtful {
      wait = nil
      skip(1)
      return true
    }
    throw .stalled(
      in: current == .frame ? "packet" : "message", seconds: Int(current.limit.components.seconds))
  }
}
