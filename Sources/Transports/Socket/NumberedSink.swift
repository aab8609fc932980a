internal import NIOCore
internal import RTPWire

/// Where the datagrams of several receivers come together, each of them under a number.
protocol DatagramMerger: AnyObject {
  /// Whether the sink behind it can tell which datagrams are genuine.
  var authenticates: Bool { get }
  /// Takes a datagram; returns whether it is genuine.
  func admit(_ datagram: Datagram, from number: Int) -> Bool
  func readCompleted(at now: Instant, of number: Int)
  /// A receiver has ended by itself.
  func ended(_ number: Int, _ end: TransportEnd)
}

/// The sink of one of the receivers, on their event loop.
///
/// It is not generic, because Swift would look its type up for each datagram.
final class NumberedSink: DatagramSink {
  private let merger: NIOLoopBound<any DatagramMerger>
  private let number: Int

  init(_ merger: any DatagramMerger, number: Int, on eventLoop: any EventLoop) {
    self.merger = NIOLoopBound(merger, eventLoop: eventLoop)
    self.number = number
  }

  func describe(_ media: [MediaDescription]) {}
  func receive(_ datagram: Datagram) { _ = admit(datagram) }
  var authenticates: Bool { merger.value.authenticates }
  func admit(_ datagram: Datagram) -> Bool { merger.value.admit(datagram, from: number) }
  func readCompleted(at now: Instant) { merger.value.readCompleted(at: now, of: number) }
  func transportEnded(_ end: TransportEnd) { merger.value.ended(number, end) }
}
