internal import BlockingIO
internal import NIOCore
internal import Synchronization

/// Looks each name up once at a time, however many callers wait for it.
///
/// A lookup cannot be cancelled. If the name server does not answer, it continues after its callers
/// have given up, and new callers for the name wait for it too. Each has a thread of its own, so
/// that it holds up nothing else.
final class HostLookups: Sendable {
  typealias LookUp = @Sendable (String) throws(TransportError) -> [SocketAddress]

  private let lookUp: LookUp
  /// The waiting callers of each name, by number.
  private let waiting = Mutex<[String: [Int: EventLoopPromise<[SocketAddress]>]]>([:])
  private let lastNumber = Atomic(0)

  /// The most names looked up at once; each blocks its thread as long as the resolver takes.
  static let maximumNames = 256

  init(lookUp: @escaping LookUp) { self.lookUp = lookUp }

  /// The addresses of `host`, without a port.
  ///
  /// The future fails with ``TransportError`` if there are none, or none `within` that time.
  func addresses(
    of host: String, on eventLoop: any EventLoop, within limit: TimeAmount
  ) -> EventLoopFuture<[SocketAddress]> {
    let promise = eventLoop.makePromise(of: [SocketAddress].self)
    let number = lastNumber.add(1, ordering: .relaxed).newValue
    let begins = waiting.withLock { waiting -> Bool? in
      if waiting[host] == nil, waiting.count >= Self.maximumNames { return nil }
      defer { waiting[host, default: [:]][number] = promise }
      return waiting[host] == nil
    }
    guard let begins else {
      promise.fail(
        TransportError.nameNotResolved(host: host, reason: "too many names are being looked up"))
      return promise.futureResult
    }
    let timeout = eventLoop.scheduleTask(in: limit) { [self] in
      guard let promise = waiting.withLock({ $0[host]?.removeValue(forKey: number) }) else {
        return
      }
      let seconds = Int(limit.nanoseconds / 1_000_000_000)
      promise.fail(TransportError.nameResolutionTimedOut(host: host, seconds: seconds))
    }
    promise.futureResult.whenComplete { _ in timeout.cancel() }
    if begins { begin(host) }
    return promise.futureResult
  }

  private func begin(_ host: String) {
    do {
      _ = try WorkerThread { [self] in end(host, Result { try lookUp(host) }) }
    } catch {
      let reason = "there is no thread to look it up (errno \(error.code))"
      end(host, .failure(TransportError.nameNotResolved(host: host, reason: reason)))
    }
  }

  private func end(_ host: String, _ result: Result<[SocketAddress], any Error>) {
    let promises = waiting.withLock { $0.removeValue(forKey: host) ?? [:] }
    for promise in promises.values { promise.completeWith(result) }
  }
}
