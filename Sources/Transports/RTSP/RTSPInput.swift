internal import NIOCore
internal import RTPWire

/// Parses the bytes of an RTSP connection: messages and interleaved frames, in any order and cut
/// anywhere (RFC 2326 §10.12).
///
/// Frames are slices of the reads that brought them; only a frame that spans two reads is copied
/// together. Bytes that belong to nothing are skipped and counted, up to a place where everything
/// fits. After an error the connection cannot be read any further.
struct RTSPInput: Sendable {
  /// The channels on which frames are expected.
  var assignedChannels: [UInt8] {
    get { evidence.assignedChannels }
    set { evidence.assignedChannels = newValue }
  }
  /// How many bytes were skipped because they belong to no element.
  private(set) var skipped: UInt64 = 0

  /// Bytes received and not yet parsed.
  private var unread = ByteBuffer()
  /// A frame whose end has not come yet, from its `$` on; `unread` is empty meanwhile.
  private var cutFrame = ByteBuffer()
  private var message: RTSPMessageReader?
  private var evidence = RTSPFrameEvidence()
  /// Bytes skipped since the last element.
  private var skippedInARow = 0
  /// When the first of these bytes were skipped.
  private var disorderSince: Instant?
  private var hasElements = false
  private var wait: (Wait, since: Instant)?

  private typealias Judgement = RTSPFrameEvidence.Judgement

  /// The part of an element that is being waited for.
  private enum Wait: Sendable {
    case frame, header, body

    var limit: Duration {
      switch self {
      case .frame: .seconds(5)
      case .header, .body: .seconds(10)
      }
    }
  }

  /// After this many bytes of garbage in a row, the connection is given up.
  static let maximumSkipped = 64 << 10
  /// After this long with nothing but garbage, the connection is given up.
  static let maximumDisorder = Duration.seconds(2)

  /// When to call ``next(at:)`` even if nothing came: by then an element that began is overdue, or
  /// was none, and others waited behind it.
  var deadline: Instant? {
    let wait = wait.map { $0.since.advanced(by: $0.0.limit) }
    // An RTSP server may send a stray byte and then be silent for a while. One that has never sent
    // an element is no RTSP server.
    guard !hasElements, let disorder = disorderEnd else { return wait }
    return min(wait ?? disorder, disorder)
  }

  /// Why a connection that the server has closed was none of RTSP; `nil` if it was one, or brought
  /// nothing.
  ///
  /// Web servers answer a request of RTSP with a page without a header, as one of HTTP/0.9.
  var faultAtEnd: RTSPError? {
    hasElements || skippedInARow == 0 ? nil : .framingLost(skipped: skippedInARow)
  }

  private var disorderEnd: Instant? { disorderSince?.advanced(by: Self.maximumDisorder) }

  mutating func append(_ bytes: ByteBuffer) {
    guard unread.readableBytes > 0 else { return unread = bytes }
    unread.discardReadBytes()
    unread.writeImmutableBuffer(bytes)
  }

  /// The next complete element.
  ///
  /// - Throws: an error that ends the connection: an exceeded limit, an overdue element, or
  ///   garbage.
  mutating func next(at now: Instant) throws(RTSPError) -> RTSPElement? {
    let skippedBefore = skippedInARow
    repeat {
      repeat {
        // Not compared with `nil`, because that copies an element, which is `Hashable`.
        if let frame = takeFrame() {
          noteElement()
          return frame
        }
        if let message = try takeMessage() {
          noteElement()
          return message
        }
      } while try findOrder()
      try noteDisorder(at: now, isMore: skippedInARow > skippedBefore)
    } while try givesUp(at: now)
    // The next read can then have the same storage.
    if unread.readableBytes == 0 { unread = ByteBuffer() }
    return nil
  }

  private mutating func noteElement() {
    wait = nil
    skippedInARow = 0
    disorderSince = nil
    hasElements = true
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
      // Reserve room for the whole frame; with a 16-bit length that is never much.
      cutFrame = ByteBufferAllocator().buffer(capacity: header.frameLength)
      cutFrame.writeBuffer(&unread)
      return nil
    }
    return nil
  }

  /// Whether this header at the first unread byte really begins a frame.
  private func judge(_ header: RTSPFrameHeader) -> Judgement {
    skippedInARow == 0
      ? evidence.judgeInOrder(header, at: unread.readerIndex, of: unread)
      : evidence.judge(header, at: unread.readerIndex, of: unread)
  }

  /// The cut frame, once its end has come; puts it back into ``unread`` if no element follows it.
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

  /// The offset of an element inside the frame at the first unread byte, when no element follows
  /// the frame itself; `nil` when the frame's length is right, or that cannot be told.
  ///
  /// Some devices drop bytes within a frame, so that it seems to contain the beginning of the next.
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
    evidence.learn(from: packet, on: header.channel)
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

  /// Skips bytes that belong to no element; returns whether an element may begin now.
  private mutating func findOrder() throws(RTSPError) -> Bool {
    guard message == nil, cutFrame.readableBytes == 0 else { return false }
    let start = unread.readerIndex
    // A web server's answer: this is not an RTSP port.
    if !hasElements, unread.getString(at: start, length: 5) == "HTTP/" {
      throw .framingLost(skipped: 0)
    }
    var index = start
    var judgement = Judgement.undecided
    while index < unread.writerIndex {
      judgement = judge(index, isStart: index == start)
      // Undecided for lack of bytes: nothing after this place can be judged either.
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
    // Line ends are skipped between elements.
    case 0x0D, 0x0A: return isInOrder ? .yes : .no
    default: return RTSPMessageReader.begins(in: unread, at: index)
    }
  }

  // MARK: Time

  /// Notes that this side read nothing until `now`, so that what is begun had no time to go on.
  mutating func excuseSilence(until now: Instant) {
    wait?.since = now
    if disorderSince != nil { disorderSince = now }
  }

  /// Gives up when only garbage comes.
  private mutating func noteDisorder(at now: Instant, isMore: Bool) throws(RTSPError) {
    guard skippedInARow > 0 else { return }
    disorderSince = disorderSince ?? now
    guard let disorderEnd, disorderEnd <= now, isMore || !hasElements else { return }
    throw .framingLost(skipped: skippedInARow)
  }

  /// Whether an overdue frame is no longer believed to be one, and is skipped.
  ///
  /// - Throws: an error when an element that certainly began is overdue.
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
