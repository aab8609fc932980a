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
final class NumberedSink<Merger: DatagramMerger>: DatagramSink {
  private let merger: NIOLoopBound<Merger>
  private let number: Int

  init(_ merger: Merger, number: Int, on eventLoop: any EventLoop) {
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
