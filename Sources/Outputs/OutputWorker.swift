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
  private let onNews: @Sendable () -> Void

  init(
    configuration: OutputLane.Configuration, queue: BoundedQueue<OutputItem>,
    account: OutputAccount, onNews: @escaping @Sendable () -> Void
  ) {
    self.configuration = configuration
    self.queue = queue
    self.account = account
    self.onNews = onNews
    files = OutputFiles(configuration: configuration, deadline: account.deadline)
  }

  /// Writes until the queue is closed and empty, the deadline has passed, or something fails.
  func run(onError: (any OutputFault) -> Void) {
    do {
      try open()
      try writeAll()
    } catch {
      let fault: any OutputFault =
        (error as? any OutputFault) ?? OutputError.failed(reason: "\(error)")
      account.end(with: fault)
      queue.close()
      onError(fault)
    }
    files.close()
    account.report(files)
    var rest = 0
    while queue.take() != nil { rest += 1 }
    account.discard(rest + files.taken - files.written - files.skipped)
  }

  private func open() throws(OutputError) {
    defer { account.noteWait(forReader: false) }
    try files.open {
      account.noteWait(forReader: true)
      onNews()
    }
  }

  private func writeAll() throws {
    let takesUnits = configuration.format.inputs.isDisjoint(with: .frames)
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
