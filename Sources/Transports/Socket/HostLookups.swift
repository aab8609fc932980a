internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Asks the resolver for each name once at a time, however many want to know.
///
/// A lookup cannot be cancelled. Where the name server says nothing it goes on after everybody has
/// given up, and whoever asks for the name again waits for that one.
final class HostLookups: Sendable {
  typealias LookUp = @Sendable (String) throws(TransportError) -> [SocketAddress]

  private let pool: NIOThreadPool
  private let lookUp: LookUp
  /// Who waits for which name, by a number for each.
  private let waiting = Mutex<[String: [Int: EventLoopPromise<[SocketAddress]>]]>([:])
  private let lastNumber = Atomic(0)

  /// Names that are looked up at once; each may hold a thread for as long as the resolver likes.
  static let maximumNames = 256

  init(pool: NIOThreadPool = .singleton, lookUp: @escaping LookUp) {
    self.pool = pool
    self.lookUp = lookUp
  }

  /// The addresses of `host`, without a port.
  ///
  /// The future fails with ``TransportError`` where there are none, or none `within` that time.
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
    pool.submit { [self] state in
      let result: Result<[SocketAddress], any Error>
      switch state {
      case .active: result = Result { try lookUp(host) }
      case .cancelled: result = .failure(TransportError.closed)
      }
      let promises = waiting.withLock { $0.removeValue(forKey: host) ?? [:] }
      for promise in promises.values { promise.completeWith(result) }
    }
  }
}
