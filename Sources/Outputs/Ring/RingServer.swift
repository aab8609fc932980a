import BlockingIO
import CFrameRing
import Glibc
import RTPWire
import Synchronization

/// The socket at which readers get the memory of a ring, and what tells them of frames.
///
/// A thread of its own accepts readers, notices those that have gone, and shows that the writer
/// lives. Nothing waits for a reader: what its socket does not take is counted, and it finds the
/// newest frame in the memory.
final class RingServer: Sendable {
  /// Each costs a descriptor and some datagrams.
  static let maximumReaders = 64
  /// How often readers see that the writer lives.
  private static let heartbeat = Duration.seconds(1)
  /// Without a frame for so long, the stream counts as stalled.
  private static let stallTime = Duration.seconds(2)

  /// The most memories that a reader may have before it reads again: none is freed until then.
  fileprivate static let mostUnreadMemories = 3

  fileprivate struct Reader {
    let socket: Int32
    /// Whether the current memory could not be sent yet.
    var lacksMemory = true
    /// How many memories were sent since it had read everything.
    var unreadMemories = 0
  }

  fileprivate struct State {
    var memory: RingMemory
    var readers: [Reader] = []
    var ringState = RingState.starting
    var epoch: UInt64 = 1
    var sequence: UInt64 = 0
    var lastFrame: Instant?
    var isClosed = false
    /// When accepting failed, for want of descriptors.
    var refusedAt: Instant?
    var accepted: UInt64 = 0
    /// Process and user of the last reader (`SO_PEERCRED`).
    var credentials: [UInt32] = [0, 0]
    var refused: UInt64 = 0
    var behind: UInt64 = 0
  }

  private let path: String
  private let identity: InlineArray<2, UInt64>
  private let listener: Int32
  private let waker: Waker
  private let state: Mutex<State>

  /// Listens at `path` and starts the thread.
  ///
  /// - Throws: a ``RingError``, or ``ThreadError``.
  init(at path: String) throws {
    self.path = path
    var identity: [UInt64] = [0, 0]
    state = Mutex(
      State(memory: try RingMemory(.empty, first: 1, epoch: 1, state: .starting)))
    waker = try Waker()
    listener = unsafe frame_ring_listen(path, &identity)
    guard listener >= 0 else {
      switch errno {
      case EADDRINUSE: throw RingError.inUse(path: path)
      case EEXIST: throw RingError.noSocket(path: path)
      case let number: throw RingError.cannotListen(path: path, errno: number)
      }
    }
    self.identity = [identity[0], identity[1]]
    do {
      _ = try WorkerThread { [self] in run() }
    } catch {
      Glibc.close(listener)
      unlinkSocket()
      throw error
    }
  }

  /// How many readers there are, were, and could not be taken; how often one was behind; who came
  /// last.
  var figures: [OutputFigure] {
    state.withLock { state in
      [
        OutputFigure(
          "readers", UInt64(state.readers.count),
          metric: Metric("ring_readers", "Programs that read the ring of frames now.")),
        OutputFigure(
          "readers_accepted", state.accepted,
          metric: Metric("ring_readers_accepted", "Readers that the ring took."), isTotal: true),
        OutputFigure(
          "readers_refused", state.refused,
          metric: Metric("ring_readers_refused", "Readers that the ring did not take."),
          isTotal: true),
        OutputFigure(
          "behind", state.behind,
          metric: Metric("ring_readers_behind", "Times that a reader of the ring was behind."),
          isTotal: true),
        OutputFigure("last_reader_pid", UInt64(state.credentials[0])),
        OutputFigure("last_reader_uid", UInt64(state.credentials[1])),
      ]
    }
  }

  // MARK: - On the writer's thread

  /// Hands `memory` to all readers, now and later.
  func serve(_ memory: RingMemory) {
    state.withLock { state in
      memory.set(state.ringState)
      state.memory = memory
      for index in state.readers.indices { state.readers[index].lacksMemory = true }
      state.sendMemory()
    }
  }

  /// Gives the memory up: who comes now gets one without frames.
  func withdrawMemory() throws(RingError) {
    let empty = try RingMemory(.empty, first: 1, epoch: 1, state: .starting)
    state.withLock { state in
      empty.set(state.epoch)
      empty.set(state.ringState)
      state.memory = empty
    }
  }

  /// Tells all readers of frame `sequence`, which is in the memory.
  func announce(_ sequence: UInt64, epoch: UInt64) {
    let now = Instant.now
    state.withLock { state in
      (state.sequence, state.epoch, state.lastFrame) = (sequence, epoch, now)
      state.set(.live)
      let slot = state.memory.layout.slot(of: sequence) ?? 0
      state.tell(RTP_RECV_RING_NEW_FRAME, UInt32(slot))
    }
  }

  /// Tells all readers that the connection is lost, and which epoch begins.
  func lose(epoch: UInt64) {
    state.withLock { state in
      state.epoch = epoch
      state.memory.set(epoch)
      state.change(to: .lost)
    }
  }

  /// Tells all readers that no more frames will come.
  func end() { state.withLock { $0.change(to: .ended) } }

  /// Removes the socket, and lets the thread close everything else.
  func close() {
    let wasClosed = state.withLock { state in
      defer { state.isClosed = true }
      return state.isClosed
    }
    guard !wasClosed else { return }
    unlinkSocket()
    waker.wake()
  }

  private func unlinkSocket() {
    let numbers = [identity[0], identity[1]]
    unsafe numbers.withUnsafeBufferPointer { unsafe frame_ring_unlink(path, $0.baseAddress) }
  }

  // MARK: - On the server's thread

  private func run() {
    while true {
      var requests = [
        pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
      ]
      let (isClosed, hasTimer) = state.withLock { state in
        if state.refusedAt != nil { requests[1].fd = -1 }
        requests += state.readers.map {
          pollfd(fd: $0.socket, events: Int16(POLLIN), revents: 0)
        }
        return (state.isClosed, !state.readers.isEmpty || state.refusedAt != nil)
      }
      guard !isClosed else { break }
      let timeout = hasTimer ? Self.heartbeat.wholeNanoseconds / 1_000_000 : -1
      _ = unsafe poll(&requests, nfds_t(requests.count), Int32(timeout))
      if requests[0].revents != 0 { waker.reset() }
      // A reader has nothing to say: either it has gone, or it is no reader.
      let gone = Set(requests.dropFirst(2).filter { $0.revents != 0 }.map(\.fd))
      state.withLock { state in
        state.remove(gone)
        state.refusedAt = nil
        if requests[1].revents != 0 { accept(&state) }
        let now = Instant.now
        if state.ringState == .live, let last = state.lastFrame,
          last.duration(to: now) > Self.stallTime
        {
          state.change(to: .stalled)
        }
        state.memory.beat()
        state.sendMemory()
      }
    }
    state.withLock { state in
      state.remove(Set(state.readers.map(\.socket)))
      Glibc.close(listener)
    }
  }

  private func accept(_ state: inout State) {
    while true {
      let socket = unsafe frame_ring_accept(listener, &state.credentials)
      guard socket >= 0 else {
        if errno != EAGAIN { state.refusedAt = .now }
        return
      }
      guard state.readers.count < Self.maximumReaders else {
        Glibc.close(socket)
        state.refused += 1
        continue
      }
      state.readers.append(Reader(socket: socket))
      state.accepted += 1
    }
  }
}

extension RingServer.State {
  /// Notes the state where readers look for it.
  fileprivate mutating func set(_ new: RingState) {
    guard ringState != new else { return }
    ringState = new
    memory.set(new)
  }

  fileprivate mutating func change(to new: RingState) {
    guard ringState != new else { return }
    set(new)
    tell(RTP_RECV_RING_NEW_STATE, new.rawValue)
  }

  /// Sends a datagram to all readers; those without room find the same in the memory.
  fileprivate mutating func tell<Kind: BinaryInteger>(_ kind: Kind, _ value: UInt32) {
    sendMemory()
    var gone: Set<Int32> = []
    for reader in readers where !reader.lacksMemory {
      switch send(UInt32(kind), value, sequence, to: reader) {
      case 0: break
      case EPIPE, ECONNRESET: gone.insert(reader.socket)
      default: behind += 1
      }
    }
    remove(gone)
  }

  /// Sends the memory to the readers that lack it, as far as they have room.
  fileprivate mutating func sendMemory() {
    for (index, reader) in readers.enumerated() where reader.lacksMemory {
      if frame_ring_is_read(reader.socket) != 0 { readers[index].unreadMemories = 0 }
      guard readers[index].unreadMemories < RingServer.mostUnreadMemories else { continue }
      let outcome = send(
        UInt32(RTP_RECV_RING_MEMORY), ringState.rawValue, memory.first, to: reader,
        with: memory.descriptor)
      guard outcome == 0 else { continue }
      readers[index].lacksMemory = false
      readers[index].unreadMemories += 1
    }
  }

  private func send(
    _ kind: UInt32, _ value: UInt32, _ sequence: UInt64, to reader: RingServer.Reader,
    with descriptor: Int32 = -1
  ) -> Int32 {
    var datagram = rtp_recv_ring_datagram(
      kind: kind, value: value, epoch: epoch, sequence: sequence,
      time_ns: UInt64(clamping: Instant.now.nanoseconds))
    return unsafe frame_ring_send(reader.socket, &datagram, descriptor)
  }

  fileprivate mutating func remove(_ gone: Set<Int32>) {
    guard !gone.isEmpty else { return }
    readers.removeAll { reader in
      guard gone.contains(reader.socket) else { return false }
      close(reader.socket)
      return true
    }
  }
}
