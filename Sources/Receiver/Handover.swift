import BlockingIO
import Decode

/// Hands elements from the thread that makes them to the task that iterates over them.
final class Handover<Element: Sendable>: Sendable {
  /// The length from which producers should back off, if nothing is dropped.
  private static var crowd: Int { 8 }

  private struct State {
    var waiting: [Element] = []
    var isClosed = false
    /// The task waiting for the next element.
    var taker: CheckedContinuation<Element?, Never>?
    /// Called when there is room.
    var roomWaiters: [@Sendable () -> Void] = []
  }

  let pressure: BackPressure
  private let monitor = Monitor(State())

  init(_ pressure: BackPressure) { self.pressure = pressure }

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
