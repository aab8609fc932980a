import BlockingIO
import Decode
import NIOCore
import RTPWire

/// The work of an output, from opening the target to closing it, all of it on its thread.
final class OutputWorker {
  /// The most access units written with one system call.
  private static let unitsPerWrite = 64
  /// How long a file's access units gather where they come faster than this: waking up for each
  /// would cost more than writing it.
  private static let gatheringTime = Duration.milliseconds(10)

  private let configuration: OutputLane.Configuration
  private let queue: BoundedQueue<OutputItem>
  private let account: OutputAccount
  private let files: OutputFiles

  init(
    configuration: OutputLane.Configuration, queue: BoundedQueue<OutputItem>, account: OutputAccount
  ) {
    self.configuration = configuration
    self.queue = queue
    self.account = account
    files = OutputFiles(configuration: configuration, deadline: account.deadline)
  }

  /// Writes until the queue is closed and empty, the deadline has passed, or something fails.
  func run(onError: (OutputError) -> Void) {
    do throws(OutputError) {
      try files.open()
      try writeAll()
    } catch {
      account.end(with: error)
      queue.close()
      onError(error)
    }
    files.close()
    account.report(files)
    var rest = 0
    while queue.take() != nil { rest += 1 }
    account.discard(rest + files.taken - files.written - files.skipped)
  }

  private func writeAll() throws(OutputError) {
    let takesUnits = configuration.format.input == .units
    let batch = takesUnits ? Self.unitsPerWrite : 1
    var wasIdle: Instant?
    while !account.deadline.isPast {
      if takesUnits, files.isFile, queue.count == 0 {
        let now = Instant.now
        let comesFast = wasIdle.map { $0.duration(to: now) < Self.gatheringTime * 1.5 }
        if comesFast == true { queue.gather(for: Self.gatheringTime) }
        wasIdle = now
      }
      let items = queue.take(atMost: batch)
      guard !items.isEmpty else { return try files.finish() }
      defer { account.report(files) }
      try files.write(items)
    }
  }
}
