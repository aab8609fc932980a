internal import NIOCore
internal import RTPWire

/// What comes to the ports of a stream and is not of it: what it is, and who sends it.
struct ForeignTraffic: Sendable {
  /// The kinds of datagrams seen that are not RTP, each counted until it is said.
  private var contents: [ForeignDatagram: Int] = [:]
  /// Who last sent media that was left out: how much of it came together, and when the last.
  private var sender: (origin: SocketAddress, datagrams: UInt64, last: Instant)?

  /// Whether somebody has sent media that was left out.
  var hasSender: Bool { sender != nil }

  /// Notes what kind of datagram `bytes` are if they are not RTP.
  ///
  /// - Returns: whether that is so, and what to say of it, once per kind.
  mutating func noteContent(of bytes: ByteBuffer) -> (isForeign: Bool, words: String?) {
    guard let content = ForeignDatagram(bytes) else { return (false, nil) }
    let seen = contents[content] ?? 0
    guard seen < content.leastSaid else { return (true, nil) }
    contents[content] = seen + 1
    return (true, seen + 1 == content.leastSaid ? content.words : nil)
  }

  /// Notes a datagram of an address that is not the sender's.
  mutating func note(_ datagram: borrowing Datagram, from origin: SocketAddress) {
    // Port scanners and the like send something else.
    guard datagram.channel == .media, datagram.mediaHeader != nil else { return }
    let former = sender?.origin == origin ? sender?.datagrams ?? 0 : 0
    sender = (origin, former + 1, datagram.arrival)
  }

  /// Forgets what was left out of `origin`, which is the sender of the stream now.
  mutating func forget(_ origin: SocketAddress) {
    if sender?.origin == origin { sender = nil }
  }

  /// Who sends beside the stream, whose last media came at `lastMedia`.
  func otherSender(lastMedia: Instant?) -> TransportCounters.OtherSender? {
    sender.map { sender in
      TransportCounters.OtherSender(
        address: sender.origin.endpoint, datagrams: sender.datagrams,
        outlastsMedia: lastMedia.map { $0 < sender.last } ?? false)
    }
  }
}
