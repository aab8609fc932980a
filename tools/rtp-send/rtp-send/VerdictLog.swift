import Dispatch
import Foundation
import Impairment
import Synchronization

/// The file in which every verdict is a line of JSON.
///
/// It is written on a queue of its own, because a disk may be slow and the event loop must not
/// wait.
final class VerdictLog: Sendable {
  /// The verdicts that may wait to be written: half a minute at 30,000 packets a second.
  private static let mostWaiting = 1 << 20

  private let path: String
  private let file: FileHandle
  private let queue = DispatchQueue(label: "rtp-send.log")
  private let state = Mutex(State())

  private struct State {
    var waiting = 0
    var failure: OutputError?
  }

  /// - Throws: ``OutputError`` when the file cannot be made.
  init(path: String) throws {
    self.path = path
    file = try OutputError.open(path)
  }

  /// Puts `verdicts` behind those that wait; after a failure it does nothing.
  func write(_ verdicts: [Verdict]) {
    let isTaken = state.withLock { state in
      guard state.failure == nil else { return false }
      guard state.waiting + verdicts.count <= Self.mostWaiting else {
        state.failure = OutputError(path: path, reason: "it takes lines too slowly")
        return false
      }
      state.waiting += verdicts.count
      return true
    }
    guard isTaken else { return }
    queue.async { [self] in
      let text = verdicts.reduce(into: "") { $0 += $1.json + "\n" }
      var failure: OutputError?
      do throws(OutputError) {
        try OutputError.write(text, to: file, called: path)
      } catch { failure = error }
      state.withLock { state in
        state.waiting -= verdicts.count
        state.failure = state.failure ?? failure
      }
    }
  }

  /// Waits until everything is written.
  ///
  /// - Throws: ``OutputError`` when something is missing.
  func finish() throws {
    queue.sync {}
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }
}
