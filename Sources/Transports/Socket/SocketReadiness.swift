internal import CLinux
internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Notifies when sockets have something to read or an error to report, without polling.
///
/// SwiftNIO cannot watch a socket whose errors are kept (``DatagramSocket/keepErrors(_:)``). So one
/// thread of the process sleeps in epoll(7) for all such sockets. It exists only while one waits.
final class SocketReadiness: Sendable {
  static let shared = SocketReadiness()

  /// A waiting socket.
  struct Wait: Sendable {
    /// Succeeds when the socket is ready, and fails when the wait is cancelled.
    let isReady: EventLoopFuture<Void>
    fileprivate let number: UInt64
  }

  private struct Entry: Sendable {
    let descriptor: CInt
    let promise: EventLoopPromise<Void>
  }

  private struct State: Sendable {
    var entries: [UInt64: Entry] = [:]
    var lastNumber = SocketReadiness.stop
    /// `nil` while nothing waits.
    var set: DescriptorSet?
  }

  /// What a thread sleeps on; each thread has its own.
  private struct DescriptorSet: Sendable {
    let descriptor: CInt
    /// The two ends of a pipe; closing the second one ends the thread.
    let end: CInt
    let stopper: CInt
  }

  private let state = Mutex(State())

  /// Waits once for the socket of `descriptor`, which stays open until the wait is over or
  /// cancelled.
  ///
  /// - Throws: ``TransportError/system(operation:reason:)`` if no descriptor is free.
  func wait(for descriptor: CInt, on eventLoop: any EventLoop) throws(TransportError) -> Wait {
    let promise = eventLoop.makePromise(of: Void.self)
    var newSet: DescriptorSet?
    do throws(TransportError) {
      let number = try state.withLock { state throws(TransportError) in
        if state.set == nil {
          state.set = try Self.makeSet()
          newSet = state.set
        }
        state.lastNumber += 1
        guard let set = state.set,
          clinux_readiness_add(set.descriptor, descriptor, state.lastNumber) == 0
        else {
          Self.stopIfIdle(&state)
          throw Self.failure
        }
        state.entries[state.lastNumber] = Entry(descriptor: descriptor, promise: promise)
        return state.lastNumber
      }
      if let newSet { start(on: newSet) }
      return Wait(isReady: promise.futureResult, number: number)
    } catch {
      if let newSet { start(on: newSet) }
      promise.fail(error)
      throw error
    }
  }

  /// Ends a wait early; has no effect on one that is over.
  func cancel(_ wait: Wait) {
    finish([wait.number])?.forEach { $0.promise.fail(CancellationError()) }
  }

  /// Removes the waits with these numbers; `nil` if there are none.
  private func finish(_ numbers: [UInt64]) -> [Entry]? {
    state.withLock { state in
      let entries = numbers.compactMap { state.entries.removeValue(forKey: $0) }
      guard !entries.isEmpty else { return nil }
      if let set = state.set {
        for entry in entries { clinux_readiness_remove(set.descriptor, entry.descriptor) }
      }
      Self.stopIfIdle(&state)
      return entries
    }
  }

  private static func stopIfIdle(_ state: inout State) {
    guard state.entries.isEmpty, let set = state.set else { return }
    state.set = nil
    close(set.stopper)
  }

  private static func makeSet() throws(TransportError) -> DescriptorSet {
    let descriptor = clinux_readiness_open()
    guard descriptor >= 0 else { throw failure }
    var ends: [CInt] = [0, 0]
    guard unsafe clinux_pipe(&ends) == 0 else {
      let error = failure
      close(descriptor)
      throw error
    }
    _ = clinux_readiness_add(descriptor, ends[0], stop)
    return DescriptorSet(descriptor: descriptor, end: ends[0], stopper: ends[1])
  }

  private static var failure: TransportError {
    .system(operation: "wait for a socket", reason: unsafe String(cString: strerror(errno)))
  }

  // MARK: - On the thread

  private func start(on set: DescriptorSet) {
    let thread = NIOThreadPool(numberOfThreads: 1)
    thread.start()
    thread.submit { [self] _ in
      work(on: set)
      thread.shutdownGracefully { _ in }
    }
  }

  private func work(on set: DescriptorSet) {
    var numbers = [UInt64](repeating: 0, count: Self.numbersAtOnce)
    var isToStop = false
    while !isToStop {
      let count = unsafe clinux_readiness_wait(
        set.descriptor, &numbers, CInt(Self.numbersAtOnce))
      let ready = numbers.prefix(Int(count))
      isToStop = ready.contains(Self.stop)
      finish(Array(ready))?.forEach { $0.promise.succeed() }
    }
    close(set.end)
    close(set.descriptor)
  }

  /// The number that ends the thread.
  private static let stop: UInt64 = 0
  private static let numbersAtOnce = 64
}
