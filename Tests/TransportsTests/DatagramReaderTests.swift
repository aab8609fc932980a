import NIOCore
import RTPWire
import TestSupport
import Testing

@testable import Transports

struct DatagramReaderTests {
  /// Received datagrams are kept, so that no read may overwrite what an earlier one delivered.
  ///
  /// Spacing begins after the pacer's first window, and pauses whenever a read finds nothing, so
  /// both ways of reading and the changes between them come up many times here.
  @Test(arguments: [Double.infinity, 1])
  func whatIsSentComesWholeAndInOrderHoweverItIsRead(fastRate: Double) async throws {
    let receiver = try await FarEnd(pacer: ReadPacer(fastRate: fastRate, slowRate: fastRate))
    let sender = try await FarEnd()
    let sizes = [0, 20, 1388, 1388, 1388, 8000]
    let packets = (0..<3000).map { rtp(UInt16($0), payload: sizes[$0 % sizes.count]) }
    for start in stride(from: 0, to: packets.count, by: 10) {
      for packet in packets[start..<start + 10] {
        try await sender.send(packet, to: receiver.address)
      }
      // No more in flight than the smallest buffer holds.
      _ = try await receiver.received.first(start)
    }
    let received = try await receiver.received.first(packets.count)
    #expect(received.map(\.bytes) == packets)
    #expect(received.allSatisfy { $0.origin == sender.address })
    try await receiver.close()
    try await sender.close()
  }

  @Test(arguments: [Double.infinity, 1])
  func datagramsOfNoBytesAreReadLikeOthers(fastRate: Double) async throws {
    let receiver = try await FarEnd(pacer: ReadPacer(fastRate: fastRate, slowRate: fastRate))
    let sender = try await FarEnd()
    for number in 0..<500 as Range<UInt16> {
      try await sender.send(ByteBuffer(), rtp(number), ByteBuffer(), to: receiver.address)
      _ = try await receiver.received.first(3 * max(0, Int(number) - 10))
    }
    let received = try await receiver.received.first(1500).map(\.bytes)
    #expect(received.filter { $0.readableBytes > 0 } == (0..<500).map { rtp($0) })
    try await receiver.close()
    try await sender.close()
  }

  @Test func sendersAreToldApartInASpacedRead() async throws {
    let receiver = try await FarEnd(pacer: ReadPacer(fastRate: 1, slowRate: 1))
    let senders = try await [FarEnd(), FarEnd("127.0.0.2"), FarEnd()]
    for number in 0..<900 as Range<UInt16> {
      try await senders[Int(number) % 3].send(rtp(number), to: receiver.address)
      _ = try await receiver.received.first(max(0, Int(number) - 20))
    }
    let received = try await receiver.received.first(900)
    for datagram in received {
      let number: UInt16 = try #require(
        datagram.bytes.getInteger(at: datagram.bytes.readerIndex + 2))
      #expect(datagram.origin == senders[Int(number) % 3].address)
    }
    for end in senders + [receiver] { try await end.close() }
  }
}
