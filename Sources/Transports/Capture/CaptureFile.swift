internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import RTPWire
internal import Synchronization

/// A pcapng file of what a transport delivered, written on a thread of its own.
///
/// Producers never wait: what finds no room is dropped and counted. The file is opened at once,
/// emptied at the first packet, and always ends with a whole block.
public final class CaptureFile: Sendable {
  /// Bytes that may wait to be written: a second of a very fast stream.
  static let maximumWaiting = 32 << 20
  /// How long closing waits for a stalled disk.
  static let patience = Duration.seconds(2)

  private let descriptor: CInt
  private let thread: NIOThreadPool
  private let state: Mutex<State>

  fileprivate struct State {
    /// Whole blocks.
    var waiting = ByteBuffer()
    var isWriting = false
    var hasBegun = false
    var isFinished = false
    var counters = CaptureCounters()
    /// The comment of the current interface.
    var comment: String?
    var hasInterface = false
    var interfaces: UInt32 = 0
    /// Bytes of whole blocks in the file.
    var length: Int64 = 0
    var idle: [CheckedContinuation<Void, Never>] = []
    /// Called when there is room.
    var waiters: [@Sendable () -> Void] = []
  }

  /// Opens `path`; a new file is for its owner only, because recordings of cameras are private.
  ///
  /// - Throws: ``TransportError/system(operation:reason:)``.
  public init(path: String) throws(TransportError) {
    // A named pipe that nobody reads would keep open(2) waiting forever.
    descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else {
      let reason =
        errno == ENXIO
        ? "nobody reads this pipe; start its reader first" : unsafe String(cString: strerror(errno))
      throw .system(operation: "write \(path)", reason: reason)
    }
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
    state = Mutex(State())
    thread = NIOThreadPool(numberOfThreads: 1)
    thread.start()
  }

  deinit {
    thread.shutdownGracefully { _ in }
    close(descriptor)
  }

  /// The totals so far; callable from any thread.
  public var counters: CaptureCounters { state.withLock(\.counters) }

  /// Whether the queue is over half full, so producers should back off.
  var isCrowded: Bool {
    state.withLock { $0.waiting.readableBytes > Self.maximumWaiting / 2 }
  }

  /// Calls `tell` once, on some thread, when the queue is at most half full.
  func whenThereIsRoom(_ tell: @escaping @Sendable () -> Void) {
    let isThere = state.withLock { state in
      guard state.isWriting else { return true }
      state.waiters.append(tell)
      return false
    }
    if isThere { tell() }
  }

  /// Describes what follows as `media`, at the start of a connection.
  func describe(_ media: [MediaDescription]) { beginInterface(comment: media.comment) }

  /// Leaves what follows undescribed, until it is described.
  func beginConnection() { beginInterface(comment: nil) }

  /// Writes a packet that arrived at `time`, in nanoseconds since 1970.
  func write(_ datagram: Datagram, from origin: IPEndpoint?, at time: Int64) {
    let packet = SyntheticPacket(datagram, from: origin)
    let isToStart = state.withLock { state in
      // A block adds 32 bytes, and up to 3 bytes of padding.
      let room = Self.maximumWaiting - state.waiting.readableBytes
      guard !state.isFinished, state.counters.failure == nil, packet.length + 35 <= room else {
        state.counters.dropped += 1
        return false
      }
      state.begin()
      PcapngBlock.write(packet, at: time, of: state.interfaces - 1, to: &state.waiting)
      state.counters.packets += 1
      return state.takeTurn()
    }
    if isToStart { startWriting() }
  }

  /// Writes what waits, within two seconds; accepts nothing more.
  public func finish() async -> CaptureCounters {
    let isToStart = state.withLock { state in
      guard !state.isFinished else { return false }
      state.isFinished = true
      // A run without packets must not destroy an older capture.
      if !state.hasBegun, lseek(descriptor, 0, SEEK_END) == 0 { state.begin() }
      return state.takeTurn()
    }
    if isToStart { startWriting() }
    let deadline = Task { [self] in
      try await Task.sleep(for: Self.patience)
      fail("the disk is too slow")
      wakeWaiters()
    }
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.isWriting { state.idle.append(continuation) }
        return !state.isWriting
      }
      if isIdle { continuation.resume() }
    }
    deadline.cancel()
    return counters
  }

  private func beginInterface(comment: String?) {
    state.withLock { state in
      guard state.comment != comment else { return }
      state.comment = comment
      // The next packet writes it to the file.
      state.hasInterface = false
    }
  }

  // MARK: On the thread

  private func startWriting() {
    thread.submit { [self] in
      guard $0 == .active else { return }
      // A reader that goes away and the file size limit are errors of the write, not signals.
      var blocked = sigset_t()
      unsafe sigemptyset(&blocked)
      unsafe sigaddset(&blocked, SIGPIPE)
      unsafe sigaddset(&blocked, SIGXFSZ)
      unsafe pthread_sigmask(SIG_BLOCK, &blocked, nil)
      while let blocks = next() { write(blocks) }
      wakeWaiters()
    }
  }

  private func next() -> ByteBuffer? {
    let (blocks, waiters) = state.withLock { state in
      defer {
        state.waiting = ByteBuffer()
        state.waiters = []
      }
      guard state.waiting.readableBytes > 0, state.counters.failure == nil else {
        state.isWriting = false
        return (ByteBuffer?.none, state.waiters)
      }
      return (state.waiting, state.waiters)
    }
    // Everything that waited is being written, so there is room.
    for waiter in waiters { waiter() }
    return blocks
  }

  private func write(_ blocks: ByteBuffer) {
    let start = state.withLock(\.length)
    if start == 0 { ftruncate(descriptor, 0) }
    var written = 0
    var failure: CInt?
    unsafe blocks.withUnsafeReadableBytes { bytes in
      while written < bytes.count, failure == nil {
        let result = unsafe Glibc.write(
          descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written)
        if result > 0 { written += result } else if errno != EINTR { failure = errno }
      }
    }
    if let failure {
      written = Self.wholeBlocks(of: blocks, upTo: written)
      ftruncate(descriptor, off_t(start) + off_t(written))
      fail(unsafe String(cString: strerror(failure)))
    }
    state.withLock { state in
      state.length += Int64(written)
      state.counters.bytes = UInt64(clamping: state.length)
    }
  }

  private func fail(_ reason: String) {
    state.withLock { $0.counters.failure = $0.counters.failure ?? reason }
  }

  private func wakeWaiters() {
    let waiters = state.withLock { state in
      defer { state.idle = [] }
      return state.idle
    }
    for waiter in waiters { waiter.resume() }
  }

  /// How many of the first `count` bytes form whole blocks.
  static func wholeBlocks(of blocks: ByteBuffer, upTo count: Int) -> Int {
    var end = 0
    while let length = blocks.getInteger(at: blocks.readerIndex + end + 4, as: UInt32.self),
      length > 0, end + Int(length) <= count
    {
      end += Int(length)
    }
    return end
  }
}

/// The totals of a capture.
public struct CaptureCounters: Sendable, Hashable {
  /// Packets accepted for writing.
  public var packets: UInt64 = 0
  /// Packets that found no room, or came when nothing could be written any more.
  public var dropped: UInt64 = 0
  /// Bytes in the file.
  public var bytes: UInt64 = 0
  /// What ended the writing early, as the kernel's message if there is one.
  public var failure: String?
}

extension CaptureFile.State {
  /// Writes what must precede the next packet.
  fileprivate mutating func begin() {
    if !hasBegun {
      hasBegun = true
      PcapngBlock.writeSection(to: &waiting)
    }
    guard !hasInterface else { return }
    hasInterface = true
    PcapngBlock.writeInterface(comment: comment, to: &waiting)
    interfaces += 1
  }

  /// Whether to start the thread: once until it has written everything.
  fileprivate mutating func takeTurn() -> Bool {
    guard !isWriting, waiting.readableBytes > 0 else { return false }
    isWriting = true
    return true
  }
}
