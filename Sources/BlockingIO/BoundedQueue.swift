public import NIOCore
import RTPWire

/// The limits of a queue before a thread: whichever is reached first.
public struct QueueLimits: Sendable, Hashable {
  /// Elements, at least 1.
  public var count: Int
  /// Bytes of all elements; one element larger than this may wait alone.
  public var bytes: Int
  /// Bytes from which on the queue is crowded; by default half of `bytes`.
  public var crowdedBytes: Int

  public init(count: Int, bytes: Int, crowdedBytes: Int? = nil) {
    self.count = max(1, count)
    self.bytes = max(1, bytes)
    self.crowdedBytes = crowdedBytes ?? self.bytes / 2
  }
}

/// The result of handing something to a thread without waiting.
public enum SubmitOutcome: Sendable, Hashable {
  case queued
  /// There was no room; nothing was kept.
  case full
  /// The receiving end has been closed or has failed; nothing was kept.
  case closed
}

/// The queue before a worker thread, bounded in count and bytes.
///
/// Producers either never wait (``offer(_:bytes:)``) or block their thread (``put(_:bytes:)``); the
/// one consumer blocks its thread.
///
/// Like ``Monitor``, it is compiled for its elements by the modules that use it.
@usableFromInline package final class BoundedQueue<Element: Sendable>: Sendable {
  @usableFromInline package typealias Line = CircularBuffer<(element: Element, bytes: Int)>

  @usableFromInline struct State {
    @usableFromInline var elements = Line()
    @usableFromInline var bytes = 0
    @usableFromInline var isClosed = false
    /// Whether the consumer lets elements gather before it takes them.
    @usableFromInline var isGathering = false
    /// Whether the producer says when the consumer is to look, by ``release()``.
    @usableFromInline var awaitsRelease = false
    /// Called once when there is room again.
    @usableFromInline var roomCalls: [@Sendable () -> Void] = []

    @inlinable init() {}

    @inlinable func hasRoom(for more: Int, within limits: QueueLimits) -> Bool {
      elements.isEmpty || (elements.count < limits.count && bytes + more <= limits.bytes)
    }

    @inlinable mutating func append(_ element: Element, bytes more: Int) {
      elements.append((element, more))
      bytes += more
    }

    /// Whether the queue is so full that producers should back off.
    @inlinable func isCrowded(within limits: QueueLimits) -> Bool {
      !isClosed && (elements.count > limits.count / 2 || bytes > limits.crowdedBytes)
    }

    /// Whether the queue is empty enough for producers to continue.
    @inlinable func isRoomy(within limits: QueueLimits) -> Bool {
      isClosed || (elements.count <= limits.count / 4 && bytes <= limits.crowdedBytes / 2)
    }

    @inlinable mutating func removeFirst() -> Element? {
      guard let (element, size) = elements.popFirst() else { return nil }
      bytes -= size
      return element
    }
  }

  @usableFromInline let limits: QueueLimits
  @usableFromInline let monitor = Monitor(State())

  @inlinable package init(limits: QueueLimits) { self.limits = limits }

  /// Appends `element` if there is room now.
  @inlinable package func offer(_ element: Element, bytes: Int) -> SubmitOutcome {
    monitor.update(wakingIf: concernsConsumer) { state in
      guard !state.isClosed else { return .closed }
      guard state.hasRoom(for: bytes, within: limits) else { return .full }
      state.append(element, bytes: bytes)
      return .queued
    }
  }

  /// Appends `element` whatever the limits say, unless the last one that waits `isEqual` to it; for
  /// the few commands that no limit may lose.
  @inlinable package func offerBeyondLimits(
    _ element: Element, unlessLast isEqual: (Element) -> Bool = { _ in false }
  ) -> SubmitOutcome {
    monitor.update { state in
      guard !state.isClosed else { return .closed }
      if let last = state.elements.last, isEqual(last.element) { return .queued }
      state.append(element, bytes: 0)
      return .queued
    }
  }

  /// Appends `element`; if there is no room, `makeRoom` chooses what to evict.
  ///
  /// `makeRoom` removes at least one waiting element, and returns whether the new one is still
  /// wanted.
  ///
  /// - Returns: whether the element was kept, and how many others were not.
  @inlinable package func offer(
    _ element: Element, bytes: Int, makingRoom makeRoom: (inout Line) -> Bool
  ) -> (outcome: SubmitOutcome, evicted: Int) {
    monitor.update(wakingIf: concernsConsumer) { state in
      guard !state.isClosed else { return (.closed, 0) }
      let before = state.elements.count
      var isWanted = true
      while isWanted, !state.hasRoom(for: bytes, within: limits) {
        isWanted = makeRoom(&state.elements)
        state.bytes = state.elements.reduce(0) { $0 + $1.bytes }
      }
      let evicted = before - state.elements.count
      if isWanted { state.append(element, bytes: bytes) }
      return (isWanted ? .queued : .full, evicted)
    }
  }

  /// Appends `element`, blocking the thread until there is room.
  package func put(_ element: Element, bytes: Int) -> SubmitOutcome {
    let outcome: SubmitOutcome? = monitor.wait { state in
      if state.isClosed { return .closed }
      guard state.hasRoom(for: bytes, within: limits) else { return nil }
      state.append(element, bytes: bytes)
      return .queued
    }
    return outcome ?? .closed
  }

  /// Takes the first element, blocking the thread until there is one.
  ///
  /// - Returns: `nil` when the queue is closed and empty.
  @inlinable package func take() -> Element? { take(atMost: 1).first }

  /// Takes the first elements, up to `count`, blocking the thread until there is one.
  ///
  /// - Returns: nothing when the queue is closed and empty.
  @inlinable package func take(atMost count: Int) -> [Element] {
    let taken: (elements: [Element], calls: [@Sendable () -> Void])?
    taken = monitor.wait { state in
      guard !state.elements.isEmpty || state.isClosed else { return nil }
      var elements: [Element] = []
      elements.reserveCapacity(min(count, state.elements.count))
      while elements.count < count, let element = state.removeFirst() { elements.append(element) }
      var calls: [@Sendable () -> Void] = []
      if state.isRoomy(within: limits) { swap(&calls, &state.roomCalls) }
      return (elements, calls)
    }
    for call in taken?.calls ?? [] { call() }
    return taken?.elements ?? []
  }

  /// Blocks the consumer for `duration`, so that it takes many elements at once afterwards instead
  /// of being woken for each.
  ///
  /// A queue that is closed, or half as full as a crowded one, ends this early: the producers need
  /// not back off where the consumer keeps up with them.
  package func gather(for duration: Duration) {
    monitor.quietly { $0.isGathering = true }
    _ = monitor.wait(until: .now.advanced(by: duration)) { state in
      state.isClosed || !state.isRoomy(within: limits) ? true : nil
    }
    monitor.quietly { $0.isGathering = false }
  }

  @inlinable func concernsConsumer(_ state: State) -> Bool {
    if state.awaitsRelease { return state.isCrowded(within: limits) }
    return !state.isGathering || !state.isRoomy(within: limits)
  }

  /// Whether the consumer is woken by ``release()``, and not by each element.
  ///
  /// A queue that is closed or crowded wakes it in any case.
  package var awaitsRelease: Bool {
    get { monitor.quietly { $0.awaitsRelease } }
    set { monitor.update { $0.awaitsRelease = newValue } }
  }

  /// Wakes the consumer, if anything waits.
  @inlinable package func release() {
    monitor.update(wakingIf: { !$0.elements.isEmpty }) { _ in }
  }

  /// How many elements wait.
  @inlinable package var count: Int { monitor.quietly { $0.elements.count } }

  /// Whether the queue is so full that producers should back off.
  @inlinable package var isCrowded: Bool { monitor.quietly { $0.isCrowded(within: limits) } }

  /// Calls `body` once the queue is half as full as a crowded one or closed, or at once if it is
  /// not crowded.
  package func whenRoom(_ body: @escaping @Sendable () -> Void) {
    let isRoom = monitor.quietly { state in
      guard state.isCrowded(within: limits) else { return true }
      state.roomCalls.append(body)
      return false
    }
    if isRoom { body() }
  }

  /// True when nothing more can be put in; what is inside can still be taken.
  package var isClosed: Bool { monitor.quietly { $0.isClosed } }

  /// Closes the queue: what waits can still be taken, nothing can be added.
  package func close() {
    let calls = monitor.update { state in
      state.isClosed = true
      defer { state.roomCalls = [] }
      return state.roomCalls
    }
    for call in calls { call() }
  }
}
