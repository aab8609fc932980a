internal import Synchronization

/// Links a reaction to its collector, which it tells about a close.
final class CloseRecord: Sendable {
  private let state = Mutex<(collector: Collector?, isClosed: Bool)>((nil, false))

  var collector: Collector? {
    get { state.withLock { $0.collector } }
    set { state.withLock { $0.collector = newValue } }
  }

  var isClosed: Bool {
    get { state.withLock { $0.isClosed } }
    set { state.withLock { $0.isClosed = newValue } }
  }
}
