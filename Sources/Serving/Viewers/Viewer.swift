import BlockingIO
import Defragment
import NIOCore
import RTPWire
import Synchronization

/// What waits for one page that is open, given from any thread.
final class Viewer: Sendable {
  private struct State: Sendable {
    var backlog = ViewerBacklog()
    /// Whether it has been told that something waits, and has not looked yet.
    var isCalled = false
  }

  private let state = Mutex(State())
  private let call: @Sendable () -> Void

  /// Makes one that `call` tells, from any thread, that something waits.
  init(call: @escaping @Sendable () -> Void) { self.call = call }

  /// What it gets next.
  func next() -> ViewerMessage? {
    state.withLock { state in
      let message = state.backlog.next()
      if message == nil { state.isCalled = false }
      return message
    }
  }

  func begin(_ camera: UInt16, with group: PictureGroup?) {
    give { $0.watch(camera, group: group, at: .now) }
  }

  func end(_ camera: UInt16) { give { $0.stop(camera) } }

  func mute() { give { $0.mute() } }

  func offer(_ unit: BrowserUnit, of camera: UInt16) {
    give { $0.append(unit, of: camera, at: .now) }
  }

  func offer(_ picture: JPEGPicture, of camera: UInt16) { give { $0.append(picture, of: camera) } }

  func offer(_ unit: SoundUnit, of camera: UInt16) { give { $0.append(unit, of: camera) } }

  func offer(_ text: ByteBuffer) { give { $0.append(text) } }

  /// Gives what it needs to begin, all of it, before anything else.
  func greet(with texts: [ByteBuffer]) { give { $0.begin(with: texts) } }

  private func give(_ body: (inout ViewerBacklog) -> Void) {
    let wasCalled = state.withLock { state in
      body(&state.backlog)
      defer { state.isCalled = true }
      return state.isCalled
    }
    if !wasCalled { call() }
  }
}
