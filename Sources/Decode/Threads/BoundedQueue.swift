import NIOCore
import RTPWire

/// How much may wait in front of a thread: whichever bound is reached first.
public struct QueueLimits: Sendable, Hashable {
  /// Elements, at least 1.
  public var count: Int
  /// Bytes of all elements; one element larger than this may wait alone.
  public var bytes: Int

  public init(count: Int, bytes: Int) {
    self.count = max(1, count)
    self.bytes = max(1, bytes)
  }
}

/// What became of something handed to a thread without waiting.
public enum SubmitOutcome: Sendable, Hashable {
  case queued
  /// There was no room; nothing was kept.
  case full
  /// The receiving end has been closed or has failed; nothing was kept.
  case closed
}

/// The receiving end was closed while somebody waited to hand something over.
public struct ClosedError: Error, Sendable, Hashable {
  public init() {}
}

/// The line of elements in front of a worker thread, bounded in count and bytes.
///
/// Producers either never wait (``offer(_:bytes:)``), block their thread (``put(_:bytes:)``) or
/// suspend their task (``send(_:bytes:)``); the one consumer blocks its thread.
final class BoundedQueue<Element: Sendable>: Sendable {
  private struct State {
    var elements = CircularBuffer<(element: Element, bytes: Int)>()
    var bytes = 0
    var isClosed = false
    var waiters: [(id: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
    var nextWaiter: UInt64 = 0

    func hasRoom(for more: Int, within limits: QueueLimits) -> Bool {
      elements.isEmpty || (elements.count < limits.count && bytes + more <= limits.bytes)
    }

    mutating func append(_ element: Element, bytes more: Int) {
      elements.append((element, more))
      bytes += more
    }

    mutating func removeFirst() -> Element? {
      guard let (element, size) = elements.popFirst() else { return nil }
      bytes -= size
      return element
    }
  }

  private let limits: QueueLimits
  private let monitor = Monitor(State())

  init(limits: QueueLimits) { self.limits = limits }

  /// Appends `element` if there is room now.
  func offer(_ element: Element, bytes: Int) -> SubmitOutcome {
    monitor.update { state in
      guard !state.isClosed else { return .closed }
      guard state.hasRoom(for: bytes, within: limits) else { return .full }
      state.append(element, bytes: bytes)
      return .queued
    }
  }

  /// Appends `element` whatever the limits say; for the few commands that no limit may lose.
  func offerBeyondLimits(_ element: Element) -> SubmitOutcome {
    monitor.update { state in
      guard !state.isClosed else { return .closed }
      state.append(element, bytes: 0)
      return .queued
    }
  }

  /// Appends `element`, and makes room by letting `evict` choose what goes.
  ///
  /// - Parameter evict: takes the waiting elements and returns those that stay.
  /// - Returns: how many were evicted, or `nil` when the queue is closed.
  func offer(
    _ element: Element, bytes: Int,
    evicting evict: (inout CircularBuffer<(element: Element, bytes: Int)>) -> Void
  ) -> Int? {
    monitor.update { state in
      guard !state.isClosed else { return nil }
      let before = state.elements.count
      while !state.hasRoom(for: bytes, within: limits) {
        let count = state.elements.count
        evict(&state.elements)
        if state.elements.count >= count { state.elements.removeAll() }
        state.bytes = state.elements.reduce(0) { $0 + $1.bytes }
      }
      let evicted = before - state.elements.count
      state.append(element, bytes: bytes)
      return evicted
    }
  }

  /// Appends `element`, blocking the thread until there is room.
  func put(_ element: Element, bytes: Int) -> SubmitOutcome {
    let outcome: SubmitOutcome? = monitor.wait { state in
      if state.isClosed { return .closed }
      guard state.hasRoom(for: bytes, within: limits) else { return nil }
      state.append(element, bytes: bytes)
      return .queued
    }
    return outcome ?? .closed
  }

  /// Appends `element`, suspending the task until there is room.
  ///
  /// - Throws: ``ClosedError`` or `CancellationError`; the element is then not in the queue.
  func send(_ element: Element, bytes: Int) async throws {
    while true {
      try Task.checkCancellation()
      switch offer(element, bytes: bytes) {
      case .queued: return
      case .closed: throw ClosedError()
      case .full: await room(for: bytes)
      }
    }
  }

  /// Takes the first element, blocking the thread until there is one.
  ///
  /// - Returns: `nil` when the deadline has passed, or when the queue is closed and empty.
  func take(until deadline: Instant? = nil) -> Element? {
    let taken: (element: Element?, waiters: [CheckedContinuation<Void, Never>])? =
      monitor.wait(until: deadline) { state in
        guard let element = state.removeFirst() else {
          return state.isClosed ? (nil, []) : nil
        }
        defer { state.waiters = [] }
        return (element, state.waiters.map(\.continuation))
      }
    for waiter in taken?.waiters ?? [] { waiter.resume() }
    return taken?.element
  }

  /// How many elements wait.
  var count: Int { monitor.read { $0.elements.count } }

  /// True when nothing more can be put in; what is inside can still be taken.
  var isClosed: Bool { monitor.read { $0.isClosed } }

  /// Ends the line: what waits can still be taken, nothing can be added.
  func close() {
    let waiters = monitor.update { state in
      state.isClosed = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.continuation.resume() }
  }

  /// Suspends until an element was taken, the queue was closed, or the task was cancelled.
  private func room(for bytes: Int) async {
    let id = monitor.update { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = monitor.update { state in
          guard !state.isClosed, !state.hasRoom(for: bytes, within: limits), !Task.isCancelled
          else { return false }
          state.waiters.append((id, continuation))
          return true
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      let waiter = monitor.update { state in
        state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
      }
      waiter?.continuation.resume()
    }
  }
}
