import BlockingIO
import NIOCore
import RTPWire

extension KeyValueBucket {
  /// What happens to the keys of a bucket.
  ///
  /// One thread uses it.
  final class Watch {
    /// A message, and how many the server had for this behind it.
    private struct Change {
      /// `nil` for one that is about no key.
      let event: Event?
      let bytes: Int
      let pending: UInt64
    }

    /// What was delivered and is not handed out: shared with a thread of libnats.
    private final class Delivery: PushConsumer.Taker {
      struct Value {
        var waiting = CircularBuffer<Change>()
        var waitingBytes = 0
        var isClosed = false
      }

      let monitor = Monitor(Value())
      private let prefix: String
      private let whenLost: @Sendable () -> Void

      init(_ prefix: String, whenLost: @escaping @Sendable () -> Void) {
        (self.prefix, self.whenLost) = (prefix, whenLost)
      }

      func take(_ message: NATSMessage, at place: NATSMessage.Place) {
        let (subject, payload) = (message.subject, message.payload)
        var event: Event?
        if subject.hasPrefix(prefix) {
          let key = String(subject.dropFirst(prefix.count))
          event =
            message.header(KeyValueBucket.operation) == nil
            ? .value(key: key, String(buffer: payload), revision: place.sequence)
            : .gone(key: key)
        }
        let change = Change(
          event: event, bytes: subject.utf8.count + payload.readableBytes, pending: place.pending)
        _ = monitor.wait { value -> Bool? in
          guard !value.isClosed else { return false }
          let hasRoom =
            value.waiting.isEmpty
            || value.waitingBytes + change.bytes <= Watch.mostBytes
              && value.waiting.count < Watch.mostMessages
          guard hasRoom else { return nil }
          value.waiting.append(change)
          value.waitingBytes += change.bytes
          return true
        }
      }

      func lost() { whenLost() }
    }

    /// What waits here; libnats and the server wait for room.
    private static let mostBytes = 4 << 20
    private static let mostMessages = 1024

    private let delivery: Delivery
    private let consumer: PushConsumer
    /// What there was at the beginning and has not been handed out.
    private var left: UInt64

    /// Whether what there was at the beginning has been handed out.
    var isCurrent: Bool { left == 0 }

    init(
      _ stream: String, _ prefix: String, by context: JetStreamContext,
      whenLost: @escaping @Sendable () -> Void
    ) throws(JetStreamError) {
      let delivery = Delivery(prefix, whenLost: whenLost)
      do throws(JetStreamError) {
        consumer = try PushConsumer(
          of: stream, matching: prefix + ">", from: .newestOfEach, by: context,
          delivering: delivery)
      } catch {
        // Nobody takes what has come meanwhile, and libnats must not wait for that.
        delivery.monitor.update { $0.isClosed = true }
        throw error
      }
      self.delivery = delivery
      left = consumer.pending
    }

    deinit { delivery.monitor.update { $0.isClosed = true } }

    /// The next event; `nil` if none came in time.
    func next(within time: Duration) -> Event? {
      let deadline = Instant.now.advanced(by: time)
      while let change = take(until: deadline) {
        // Of what there was, some may have been replaced or have run out meanwhile.
        left = min(left > 0 ? left - 1 : 0, change.pending)
        if let event = change.event { return event }
      }
      return nil
    }

    private func take(until deadline: Instant) -> Change? {
      delivery.monitor.wait(until: deadline) { value in
        guard let change = value.waiting.popFirst() else { return nil }
        value.waitingBytes -= change.bytes
        return change
      }
    }
  }
}
