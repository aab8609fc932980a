import NIOCore
import RTPProcessor
import RTPWire
import Testing

@Suite struct StorageTests {
  /// A transport reads many packets into one slab and refills it once nobody references it.
  @Test func whatWaitsDoesNotHoldTheReadItCameIn() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    _ = sender.packet()
    for packet in sender.packets(3) { session.receive(slab(around: packet)) }
    session.run(for: .milliseconds(200))
    #expect(session.deliveries.count == 13)
    for delivery in session.deliveries.suffix(3) {
      #expect(delivery.packet.packet.bytes.storageCapacity <= 64)
    }
  }

  @Test func whatIsOnProbationDoesNotHoldTheReadItCameIn() {
    var sender = VirtualSender()
    var session = VirtualSession()
    for packet in sender.packets(3) { session.receive(slab(around: packet)) }
    session.run(for: .milliseconds(200))
    #expect(session.deliveries.count == 3)
    for delivery in session.deliveries {
      #expect(delivery.packet.packet.bytes.storageCapacity <= 64)
    }
  }

  @Test func whatLeavesAtOnceIsNotCopied() throws {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    session.receive(slab(around: sender.packet()))
    #expect(session.deliveries.last?.packet.packet.bytes.storageCapacity == 1 << 16)
  }

  @Test func whatWasHandedOutStaysAsItWasWhenTheReadIsFilledAgain() {
    var sender = VirtualSender()
    var session = VirtualSession.running(&sender)
    var read = ByteBufferAllocator().buffer(capacity: 1 << 16)
    let packets = sender.packets(200)
    var order = Array(packets.indices)
    for index in stride(from: 0, to: 190, by: 5) { order.swapAt(index, index + 3) }
    for index in order {
      read.clear()
      read.writeImmutableBuffer(packets[index].bytes)
      session.receive(read)
    }
    #expect(session.deliveredIdentities == Array(1...210))
    for delivery in session.deliveries.suffix(200) {
      #expect(delivery.packet.packet.bytes == packets[Int(delivery.identity) - 11].bytes)
    }
  }

  private func slab(around packet: SentPacket) -> ByteBuffer {
    var slab = ByteBufferAllocator().buffer(capacity: 1 << 16)
    slab.writeRepeatingByte(0, count: 1_000)
    slab.writeImmutableBuffer(packet.bytes)
    slab.moveReaderIndex(forwardBy: 1_000)
    return slab
  }
}
