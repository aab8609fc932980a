internal import Synchronization

/// Links a reaction to its observer, which it tells about a close.
final class ClosedNote: Sendable {
  private let state = Mutex<(observer: Observer?, isClosed: Bool)>((nil, false))

  var observer: Observer? {
    get { state.withLock { $0.observer } }
    set { state.withLock { $0.observer = newValue } }
  }

  var isClosed: Bool {
    get { state.withLock { $0.isClosed } }
    set { state.withLock { $0.isClosed = newValue } }
  }
}
