internal import BlockingIO
internal import NIOCore
public import RTPWire

/// A pcapng file of what a transport delivered, written on a thread of its own.
///
/// Producers never wait: what finds no room is dropped and counted. The file is opened at once,
/// emptied at the first packet, and always ends with a whole block.
public final class CaptureFile: Sendable {
  /// Bytes that may wait to be written: a second of a very fast stream.
  static let maximumWaiting = 32 << 20
  /// How long closing waits for a reader that does not read.
  static let patience = Duration.seconds(2)

  private let monitor: Monitor<State>
  private let deadline: WriteDeadline
  /// The comment of connections whose media is not described.
  private let said: String?
  private let thread: WorkerThread

  fileprivate struct State {
    /// Whole blocks.
    var waiting = ByteBuffer()
    var hasBegun = false
    var isFinished = false
    /// Whether the file was empty when it was opened.
    var wasEmpty: Bool
    var counters = CaptureCounters()
    /// What describes the next packet.
    var comment: String?
    /// What describes the packets of the current interface.
    var writtenComment: String?
    var interfaces: UInt32 = 0
    /// Called when there is room.
    var waiters: [@Sendable () -> Void] = []
  }

  /// Opens `path`; a new file is for its owner only, because recordings of cameras are private.
  ///
  /// - Parameters:
  ///   - path: a file or a named pipe.
  ///   - media: what is known of the media before its sender describes it, if it ever does.
  /// - Throws: ``TransportError/system(operation:reason:)``.
  public init(path: String, of media: [MediaDescription] = []) throws(TransportError) {
    said = media.comment
    deadline = WriteDeadline()
    do throws(WriteFailure) {
      // Not waiting for a named pipe's reader: what comes meanwhile would be lost.
      let file = try FileWriter(
        opening: path, permissions: 0o600, until: WriteDeadline(in: .zero))
      var state = State(wasEmpty: file.isEmpty)
      state.counters.isFile = file.isFile
      let monitor = Monitor(state)
      self.monitor = monitor
      let writing = CaptureWriting(to: file, until: deadline)
      do {
        thread = try WorkerThread { Self.work(writing, monitor) }
      } catch {
        throw .cannotOpen(errno: error.code)
      }
    } catch {
      let reason =
        error == .noReader
        ? "nobody reads this pipe; start its reader first" : error.reason(opening: path)
      throw .system(operation: "write \(path)", reason: reason)
    }
  }

  deinit { end() }

  /// The totals so far; callable from any thread.
  public var counters: CaptureCounters { monitor.quietly(\.counters) }

  /// Whether the queue is over half full, so producers should back off.
  var isCrowded: Bool { monitor.quietly(\.isCrowded) }

  /// Calls `tell` once, on some thread, when the queue is at most half full.
  func whenThereIsRoom(_ tell: @escaping @Sendable () -> Void) {
    let isThere = monitor.quietly { state in
      guard state.isCrowded else { return true }
      state.waiters.append(tell)
      return false
    }
    if isThere { tell() }
  }

  /// Describes what follows as `media`, at the start of a connection.
  func describe(_ media: [MediaDescription]) { beginInterface(comment: media.comment) }

  /// Describes what follows as it was said from outside, until its sender describes it.
  func beginConnection() { beginInterface(comment: said) }

  /// Writes a packet that arrived at `time`, in nanoseconds since 1970.
  func write(_ datagram: Datagram, from origin: IPEndpoint?, at time: Int64) {
    let packet = SyntheticPacket(datagram, from: origin)
    monitor.update { state in
      // A block adds 32 bytes, and up to 3 bytes of padding.
      let room = Self.maximumWaiting - state.waiting.readableBytes
      guard !state.isFinished, state.counters.failure == nil, packet.length + 35 <= room else {
        state.counters.dropped += 1
        return
      }
      state.begin()
      PcapngBlock.write(packet, at: time, of: state.interfaces - 1, to: &state.waiting)
      state.counters.packets += 1
    }
  }

  /// Writes what waits, to a reader within two seconds; accepts nothing more.
  public func finish() async -> CaptureCounters {
    monitor.quietly { state in
      // A run without packets must not destroy an older capture.
      if !state.isFinished, !state.hasBegun, state.wasEmpty { state.begin() }
    }
    end()
    // A write to a vanished disk may never return.
    if await thread.join(within: longestEnd + .milliseconds(500)) == .released {
      monitor.update { Self.fail(.readerTooSlow, &$0) }
    }
    return counters
  }

  private func end() {
    monitor.update { $0.isFinished = true }
    deadline.set(Instant.now.advanced(by: longestEnd))
  }

  private var longestEnd: Duration {
    counters.isFile ? FileWriter.longestStoring : Self.patience
  }

  private func beginInterface(comment: String?) {
    // The next packet writes it to the file, unless the packets before it had the same.
    monitor.quietly { $0.comment = comment }
  }

  // MARK: - On the thread

  /// Writes what waits until nothing more comes, or writing fails.
  private static func work(_ writing: CaptureWriting, _ monitor: Monitor<State>) {
    while let blocks = next(of: monitor) {
      let failure = writing.write(blocks)
      let waiters = monitor.update { state in
        state.counters.bytes = UInt64(clamping: writing.length)
        guard let failure else { return [@Sendable () -> Void]() }
        fail(failure, &state)
        state.waiting = ByteBuffer()
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in waiters { waiter() }
    }
  }

  private static func next(of monitor: Monitor<State>) -> ByteBuffer? {
    typealias Next = (blocks: ByteBuffer?, waiters: [@Sendable () -> Void])
    let next: Next? = monitor.wait { state in
      let isOver = state.isFinished || state.counters.failure != nil
      guard state.waiting.readableBytes > 0 || isOver else { return nil }
      defer {
        state.waiting = ByteBuffer()
        state.waiters = []
      }
      let isEnd = state.waiting.readableBytes == 0 || state.counters.failure != nil
      return (isEnd ? nil : state.waiting, state.waiters)
    }
    // Everything that waited is being written, so there is room.
    for waiter in next?.waiters ?? [] { waiter() }
    return next?.blocks
  }

  private static func fail(_ failure: WriteFailure, _ state: inout State) {
    let slow = state.counters.isFile ? "the disk is too slow" : "its reader is too slow"
    let reason = failure == .readerTooSlow ? slow : failure.reason
    state.counters.failure = state.counters.failure ?? reason
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
  /// Whether it is a file on a disk, and not a named pipe with a reader.
  public var isFile = true
}

extension CaptureFile.State {
  fileprivate var isCrowded: Bool {
    counters.failure == nil && waiting.readableBytes > CaptureFile.maximumWaiting / 2
  }

  /// Writes what must precede the next packet.
  fileprivate mutating func begin() {
    if !hasBegun {
      hasBegun = true
      PcapngBlock.writeSection(to: &waiting)
    }
    guard interfaces == 0 || writtenComment != comment else { return }
    PcapngBlock.writeInterface(comment: comment, to: &waiting)
    writtenComment = comment
    interfaces += 1
  }
}
