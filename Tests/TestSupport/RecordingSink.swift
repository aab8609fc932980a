public import RTPWire
import Synchronization
import Testing
public import Transports

/// Keeps what a transport delivers, and fails the test when something comes in a wrong order.
public final class RecordingSink: DatagramSink {
  /// What came, unless the sink was told to keep nothing.
  public let datagrams = Record<Datagram>()
  public let ends = Record<TransportEnd>()
  public let completedReads = Record<Instant>()
  public let descriptions = Record<[MediaDescription]>()

  private let keepsDatagrams: Bool
  private let received = Mutex(0)
  private let onDatagram: @Sendable (Datagram, Int) -> Void

  /// `onDatagram` is called with each datagram and its number, counted from 1, when it is recorded.
  public init(
    keepsDatagrams: Bool = true,
    onDatagram: @escaping @Sendable (Datagram, Int) -> Void = { _, _ in }
  ) {
    self.keepsDatagrams = keepsDatagrams
    self.onDatagram = onDatagram
  }

  /// How many datagrams came, kept or not.
  public var count: Int { received.withLock { $0 } }

  public func describe(_ media: [MediaDescription]) {
    if count > 0 { Issue.record("a description after a datagram") }
    descriptions.append(media)
  }

  public func receive(_ datagram: Datagram) {
    if !ends.elements.isEmpty { Issue.record("a datagram after the end") }
    let number = received.withLock { count in
      count += 1
      return count
    }
    if keepsDatagrams { datagrams.append(datagram) }
    onDatagram(datagram, number)
  }

  public var authenticates: Bool { false }

  public func admit(_ datagram: Datagram) -> Bool {
    receive(datagram)
    return true
  }

  public func readCompleted(at now: Instant) {
    if !ends.elements.isEmpty { Issue.record("a completed read after the end") }
    if keepsDatagrams { completedReads.append(now) }
  }

  public func transportEnded(_ end: TransportEnd) {
    if !ends.elements.isEmpty { Issue.record("a second end") }
    ends.append(end)
  }
}
