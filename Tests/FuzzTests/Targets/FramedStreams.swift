import NIOCore
import RTPWire

@testable import Transports

extension FuzzTarget {
  /// F6: packets behind their lengths, as HTTP, TCP and pipes carry them, however they are cut.
  static let framedStream = FuzzTarget("framed") { choices in
    let framing = choices.pick(PacketFraming.allCases)
    let limit = choices.flag() ? FramedPackets.defaultLimit : 64
    let (whole, reads) = choices.reads()
    let expected = try delivery(of: [whole], framing, limit)
    try requireEqual(try delivery(of: reads, framing, limit), expected, "\(reads.map(\.count))")
    let bytes = expected.packets.reduce(0) { $0 + $1.count + framing.prefixLength }
    try require(bytes <= whole.count, "\(bytes) of \(whole.count) bytes")
    try require(expected.packets.allSatisfy { !$0.isEmpty && $0.count <= limit }, "lengths")
  }

  private struct Framed: Equatable {
    var packets: [[UInt8]] = []
    var empty: UInt64 = 0
    var fault: FramedDelivery.Fault?
  }

  private static func delivery(
    of reads: [[UInt8]], _ framing: PacketFraming, _ limit: Int
  ) throws -> Framed {
    var framed = Framed()
    var delivery = FramedDelivery(framing, limit: limit)
    var consumed = 0
    for (index, read) in reads.enumerated() where !read.isEmpty {
      delivery.append(ByteBuffer(sliceOf: read), at: Instant(nanoseconds: Int64(index)))
      do throws(FramedDelivery.Fault) {
        while let event = try delivery.next() {
          switch event {
          case .packet(let datagram): framed.packets.append(datagram.bytes.array)
          case .readCompleted(let bytes, _): consumed += bytes
          }
        }
      } catch {
        // What it is shows only as far as it has come.
        framed.fault = if case .foreign = error { .notPackets } else { error }
        break
      }
    }
    if framed.fault == nil {
      try requireEqual(consumed, reads.reduce(0) { $0 + $1.count }, "bytes told as consumed")
    }
    framed.empty = delivery.emptyPackets
    try requireEqual(delivery.delivered, UInt64(framed.packets.count))
    return framed
  }
}
