import BlockingIO
import Decode
import Outputs

/// Hands elements from the thread that makes them to the task that iterates over them.
final class Handover<Element: Sendable>: Sendable {
  /// The length from which producers should back off, if nothing is dropped.
  private static var crowd: Int { 8 }
  /// What may wait if they cannot, because their far end cannot be held: as much as before an
  /// output.
  private static var limits: QueueLimits { OutputLane.defaultUnitLimits }

  private struct State {
    var waiting: [Element] = []
    var bytes = 0
    /// Whether elements were dropped, so that the next one has to be a beginning.
    var isBehindDrop = false
    var isClosed = false
    /// The task waiting for the next element.
    var taker: CheckedContinuation<Element?, Never>?
    /// Called when there is room.
    var roomWaiters: [@Sendable () -> Void] = []
  }

  let pressure: BackPressure
  private let size: @Sendable (Element) -> Int
  private let isBeginning: @Sendable (Element) -> Bool
  private let monitor = Monitor(State())

  /// - Parameters:
  ///   - pressure: what happens while the consumer is busy.
  ///   - size: how many bytes an element keeps in memory.
  ///   - isBeginning: whether the consumer can go on with an element without those before it.
  init(
    _ pressure: BackPressure, size: @escaping @Sendable (Element) -> Int = { _ in 0 },
    isBeginning: @escaping @Sendable (Element) -> Bool = { _ in true }
  ) {
    (self.pressure, self.size, self.isBeginning) = (pressure, size, isBeginning)
  }

  /// Whether producers should back off, if nothing may be dropped.
  var isCrowded: Bool {
    pressure == .everyOne
      && monitor.quietly { !$0.isClosed && $0.waiting.count >= Self.crowd }
  }

  /// Calls `body` once when there is room, or at once if there is.
  func whenRoom(_ body: @escaping @Sendable () -> Void) {
    let isThere = monitor.quietly { state in
      guard !state.isClosed, state.waiting.count >= Self.crowd else { return true }
      state.roomWaiters.append(body)
      return false
    }
    if isThere { body() }
  }

  /// Hands over an element without waiting, dropping as the back-pressure says.
  ///
  /// - Returns: `false` if this one was dropped although none should be: there was no room.
  @discardableResult
  func offer(_ element: Element) -> Bool {
    let (taker, isTaken) = monitor.update {
      state -> (CheckedContinuation<Element?, Never>?, Bool) in
      guard !state.isClosed else { return (nil, true) }
      guard hasRoom(for: element, in: &state) else { return (nil, false) }
      if let taker = state.taker {
        state.taker = nil
        return (taker, true)
      }
      state.waiting.append(element)
      state.bytes += size(element)
      let most: Int =
        switch pressure {
        case .latest: 1
        case .atMost(let count): max(count, 1)
        case .everyOne: Self.limits.count
        }
      while state.waiting.count > most { state.bytes -= size(state.waiting.removeFirst()) }
      return (nil, true)
    }
    taker?.resume(returning: element)
    return isTaken
  }

  private func hasRoom(for element: Element, in state: inout State) -> Bool {
    guard pressure == .everyOne else { return true }
    let bytes = state.bytes + size(element)
    if state.waiting.count >= Self.limits.count || bytes > Self.limits.bytes && state.bytes > 0
      || state.isBehindDrop && !isBeginning(element)
    {
      state.isBehindDrop = true
      return false
    }
    state.isBehindDrop = false
    return true
  }

  /// Hands over an element; blocks the thread while too many wait and none may be dropped.
  ///
  /// ``close()`` ends the wait.
  func put(_ element: Element) {
    if pressure == .everyOne {
      monitor.wait { $0.isClosed || $0.waiting.count < Self.crowd ? () : nil }
    }
    offer(element)
  }

  /// The next element; `nil` at the end, or when another task is already waiting.
  func next() async -> Element? {
    await withCheckedContinuation { continuation in
      let (outcome, waiters) = monitor.update { state -> (Element??, [@Sendable () -> Void]) in
        guard state.waiting.isEmpty else {
          let element = state.waiting.removeFirst()
          state.bytes -= size(element)
          guard state.waiting.count < Self.crowd else { return (.some(element), []) }
          defer { state.roomWaiters = [] }
          return (.some(element), state.roomWaiters)
        }
        if state.isClosed || state.taker != nil { return (.some(nil), []) }
        state.taker = continuation
        return (nil, [])
      }
      if let outcome { continuation.resume(returning: outcome) }
      for waiter in waiters { waiter() }
    }
  }

  /// Drops what waits; nobody may hold back until there is room.
  func clear() {
    monitor.quietly { ($0.waiting, $0.bytes) = ([], 0) }
  }

  /// Ends the sequence; what waits is still handed over.
  func close() {
    let (taker, waiters) = monitor.update { state in
      defer {
        state.isClosed = true
        state.taker = nil
        state.roomWaiters = []
      }
      return (state.taker, state.roomWaiters)
    }
    taker?.resume(returning: nil)
    for waiter in waiters { waiter() }
  }
}
