import Synchronization

/// A receiver's elements as an asynchronous sequence; iterating starts the run.
///
/// Leaving the loop, or cancelling its task, stops the run. ``Receiver/run()`` then says how it
/// ended.
public struct Received<Element: Sendable>: AsyncSequence, Sendable {
  let receiver: Receiver
  let handover: Handover<Element>

  public func makeAsyncIterator() -> Iterator { Iterator(receiver: receiver, handover: handover) }

  /// Takes one element after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let run: Run

    init(receiver: Receiver, handover: Handover<Element>) {
      run = Run(receiver: receiver, handover: handover)
    }

    public mutating func next() async -> Element? { await run.next() }
  }

  /// Stops the run when the iterator is gone.
  private final class Run: Sendable {
    let receiver: Receiver
    let handover: Handover<Element>
    /// Whether the run has ended by itself: what outputs still write is theirs to finish.
    private let hasEnded = Atomic(false)

    init(receiver: Receiver, handover: Handover<Element>) {
      (self.receiver, self.handover) = (receiver, handover)
    }

    func next() async -> Element? {
      receiver.start()
      let element = await withTaskCancellationHandler {
        await handover.next()
      } onCancel: {
        end()
      }
      if element == nil { hasEnded.store(true, ordering: .relaxed) }
      return element
    }

    private func end() {
      handover.close()
      receiver.stop()
    }

    deinit { if !hasEnded.load(ordering: .relaxed) { end() } }
  }
}
