import Decode
import NIOCore
import RTPWire

/// The work of an output, from opening the target to closing it, nearly all of it on its thread.
///
/// What is written belongs to whoever has the queue's turn: the thread, or for one access unit the
/// one who brings it.
final class OutputWorker: @unchecked Sendable {
  /// Access units written with one system call when several wait.
  private static let unitsPerWrite = 64

  private let configuration: OutputLane.Configuration
  private let queue: BoundedQueue<OutputItem>
  private let account: OutputAccount
  private let stream: OutputStream
  /// What went wrong outside the thread, for the thread to end with.
  private var failure: OutputError?

  init(
    configuration: OutputLane.Configuration, queue: BoundedQueue<OutputItem>, account: OutputAccount
  ) {
    self.configuration = configuration
    self.queue = queue
    self.account = account
    stream = OutputStream(configuration: configuration) { [account] in account.deadline }
  }

  /// Writes until the queue is closed and empty, the deadline has passed, or something fails.
  func run(onError: (OutputError) -> Void) {
    do throws(OutputError) {
      try stream.open()
      try writeAll()
    } catch {
      account.end(with: error)
      queue.close()
      onError(error)
    }
    stream.close()
    account.report(stream)
    var rest = 0
    while queue.take() != nil { rest += 1 }
    account.discard(rest + stream.taken - stream.written - stream.skipped)
  }

  /// What became of an item that was to be written at once.
  enum Immediate: Sendable, Hashable {
    case written
    /// The target is no regular file, or one of limited length.
    case refused
    /// The thread has work, so that the item has to wait its turn.
    case busy
  }

  /// Writes `item` on the calling thread, unless the output's own has something to do.
  func writeAtOnce(_ item: OutputItem) -> Immediate {
    let outcome = queue.whileIdle { () -> Immediate in
      guard stream.isUnlimitedFile else { return .refused }
      do throws(OutputError) {
        try stream.write([item])
      } catch {
        failure = error
        queue.close()
      }
      account.report(stream)
      return .written
    }
    return outcome ?? .busy
  }

  private func writeAll() throws(OutputError) {
    let batch = configuration.format.input == .units ? Self.unitsPerWrite : 1
    while !account.isPastDeadline {
      let items = queue.take(atMost: batch)
      if let failure { throw failure }
      guard !items.isEmpty else { return try stream.finish() }
      defer { account.report(stream) }
      try stream.write(items)
    }
  }
}
