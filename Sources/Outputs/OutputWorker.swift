import BlockingIO
import Decode
import NIOCore
import RTPWire

/// The work of an output, from opening the target to closing it, all of it on its thread.
final class OutputWorker {
  private let configuration: OutputLane.Configuration
  private let queue: BoundedQueue<QueuedItem>
  private let account: OutputAccount
  private let destination: any OutputDestination
  private let onNews: @Sendable () -> Void
  /// How many items were taken from the queue.
  private var taken = 0
  /// How many events of the files were reported.
  private var eventsReported = 0

  init(
    configuration: OutputLane.Configuration, queue: BoundedQueue<QueuedItem>,
    account: OutputAccount, onNews: @escaping @Sendable () -> Void
  ) {
    self.configuration = configuration
    self.queue = queue
    self.account = account
    self.onNews = onNews
    destination = configuration.format.makeDestination(configuration, account.deadline)
  }

  /// Writes until the queue is closed and empty, the deadline has passed, the output is complete,
  /// or something fails.
  func run(onError: (any OutputFault) -> Void, onCompletion: () -> Void) {
    destination.begin { [unowned self] in report($0) }
    do {
      try open()
      try writeAll()
      if destination.isComplete { onCompletion() }
    } catch {
      let fault: any OutputFault =
        (error as? any OutputFault) ?? OutputError.failed(reason: "\(error)")
      account.end(with: fault)
      queue.close()
      onError(fault)
    }
    destination.close()
    let progress = destination.progress
    report(progress)
    while let queued = queue.take() { taken += queued.item.isInterruption ? 0 : 1 }
    account.discard(taken - progress.written - progress.skipped)
  }

  private func open() throws {
    account.note(isFile: destination.isFile)
    defer { account.noteWait(forReader: false) }
    try destination.open {
      account.noteWait(forReader: true)
      onNews()
    }
    account.note(isFile: destination.isFile)
    // It may wait for its first file.
    report(destination.progress)
  }

  private func writeAll() throws {
    let takesUnits = configuration.format.inputs.isDisjoint(with: .frames)
    let playout = configuration.format.canBePaced ? configuration.playout : nil
    let batch = takesUnits && playout == nil ? destination.largestBatch : 1
    var wasIdle: Instant?
    while !account.deadline.isPast {
      if batch > 1, destination.isFile, queue.count == 0, !queue.awaitsRelease {
        let now = Instant.now
        let comesFast = wasIdle.map { $0.duration(to: now) < destination.gatheringTime * 1.5 }
        if comesFast == true { queue.gather(for: destination.gatheringTime) }
        wasIdle = now
      }
      let queued = queue.take(atMost: batch)
      guard !queued.isEmpty else { return try destination.finish() }
      taken += queued.count { !$0.item.isInterruption }
      if let playout { queued.forEach { waitUntilDue($0, by: playout) } }
      if destination.isFile { account.noteBusy(since: .now) }
      defer {
        account.noteBusy(since: nil)
        report(destination.progress)
      }
      try destination.write(queued.map(\.item))
      if destination.isComplete {
        queue.close()
        return try destination.finish()
      }
    }
    // There is no time to finish, but what was missing before is said.
    if let failure = destination.failure { throw failure }
    if destination.isFile, !account.isAbandoned { throw OutputError.diskTooSlow }
  }

  private func report(_ progress: OutputProgress) {
    account.report(progress)
    guard progress.events.count != eventsReported else { return }
    eventsReported = progress.events.count
    onNews()
  }

  /// Blocks until `queued` is to leave, or until the output is to finish soon.
  private func waitUntilDue(_ queued: QueuedItem, by playout: Playout) {
    guard let ticket = queued.ticket else { return }
    // Meanwhile the clock learns, and may say another time.
    while true {
      let due = playout.instant(of: ticket)
      guard due > .now, account.deadline.rest(until: due) else { break }
    }
    playout.left(ticket, at: .now)
  }
}

/// An item in the queue of an output.
struct QueuedItem: Sendable {
  var item: OutputItem
  /// When it is to leave; `nil` lets it leave at once.
  var ticket: PlayoutClock.Ticket?
}
