internal import Synchronization

/// Where a reaction finds the observer whose reaction it is, and says that it has closed.
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
