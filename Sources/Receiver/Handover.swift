import Decode

/// Hands elements from a thread that makes them to a task that iterates over them.
final class Handover<Element: Sendable>: Sendable {
  /// From how many on whoever brings more should hold back, where none is dropped.
  private static var crowd: Int { 8 }

  private struct State {
    var waiting: [Element] = []
    var isClosed = false
    /// Who waits for the next element.
    var taker: CheckedContinuation<Element?, Never>?
    /// Who is to be told of room.
    var roomWaiters: [@Sendable () -> Void] = []
  }

  let pressure: BackPressure
  private let monitor = Monitor(State())

  init(_ pressure: BackPressure) { self.pressure = pressure }

  /// Whether more comes than is taken, where none is to be dropped.
  var isCrowded: Bool {
    pressure == .everyOne
      && monitor.quietly { !$0.isClosed && $0.waiting.count >= Self.crowd }
  }

  /// Calls `body` once when there is room; at once where there is.
  func whenRoom(_ body: @escaping @Sendable () -> Void) {
    let isThere = monitor.quietly { state in
      guard !state.isClosed, state.waiting.count >= Self.crowd else { return true }
      state.roomWaiters.append(body)
      return false
    }
    if isThere { body() }
  }

  /// Hands over an element without waiting; what that drops is dropped.
  func offer(_ element: Element) {
    let taker = monitor.update { state -> CheckedContinuation<Element?, Never>? in
      guard !state.isClosed else { return nil }
      if let taker = state.taker {
        state.taker = nil
        return taker
      }
      state.waiting.append(element)
      let most: Int? =
        switch pressure {
        case .latest: 1
        case .atMost(let count): max(count, 1)
        case .everyOne: nil
        }
      if let most, state.waiting.count > most {
        state.waiting.removeFirst(state.waiting.count - most)
      }
      return nil
    }
    taker?.resume(returning: element)
  }

  /// Hands over an element, and blocks the thread while none may be dropped and too many wait.
  ///
  /// ``close()`` ends the wait.
  func put(_ element: Element) {
    if pressure == .everyOne {
      monitor.wait { $0.isClosed || $0.waiting.count < Self.crowd ? () : nil }
    }
    offer(element)
  }

  /// The next element; `nil` when there will be none, or somebody else waits for it already.
  func next() async -> Element? {
    await withCheckedContinuation { continuation in
      let (outcome, waiters) = monitor.update { state -> (Element??, [@Sendable () -> Void]) in
        guard state.waiting.isEmpty else {
          let element = state.waiting.removeFirst()
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

  /// Nothing more comes; what waits is still handed over.
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
