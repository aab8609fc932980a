internal import NIOCore
internal import RTPWire

/// Packets that wait for their keys, bounded in number, bytes and time.
struct HeldDatagrams {
  private var held: [(request: SRTPKeyRequest, datagram: Datagram)] = []
  private var bytes = 0

  var count: Int { held.count }

  /// Stores a copy of `datagram`; returns how many packets were dropped for room or for their age.
  mutating func hold(_ datagram: Datagram, for request: SRTPKeyRequest) -> Int {
    var gone = dropStale(at: datagram.arrival)
    let size = datagram.bytes.readableBytes
    while let oldest = held.first,
      held.count >= Self.maximumCount || bytes + size > Self.maximumBytes
    {
      bytes -= oldest.datagram.bytes.readableBytes
      held.removeFirst()
      gone += 1
    }
    held.append((request, datagram.detached))
    bytes += size
    return gone
  }

  /// Removes and returns the packets that wait for `request`, oldest first.
  mutating func take(for request: SRTPKeyRequest) -> [Datagram] {
    let taken = held.filter { $0.request == request }.map(\.datagram)
    held.removeAll { $0.request == request }
    bytes = held.reduce(0) { $0 + $1.datagram.bytes.readableBytes }
    return taken
  }

  /// Drops the packets that waited too long; returns their number.
  mutating func dropStale(at now: Instant) -> Int {
    let fresh = held.firstIndex {
      $0.datagram.arrival.nanoseconds(to: now) <= Self.longestWait
    }
    let gone = fresh ?? held.count
    for (_, datagram) in held.prefix(gone) { bytes -= datagram.bytes.readableBytes }
    held.removeFirst(gone)
    return gone
  }

  /// Drops all packets; returns their number.
  mutating func dropAll() -> Int {
    defer { self = HeldDatagrams() }
    return held.count
  }

  static let maximumCount = 512
  static let maximumBytes = 1 << 20
  /// Nanoseconds; older media is of no use in a live picture.
  static let longestWait: Int64 = 5_000_000_000
}
