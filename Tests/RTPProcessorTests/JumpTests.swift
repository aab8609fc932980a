import RTPProcessor
import RTPWire
import Testing

/// A sender whose numbers jump while its timestamps continue.
struct JumpTests {
  /// Jumps from −65,535 to 65,535 land on 65,536 numbers, each twice but for the ends.
  @Test("the numbers jump by any distance, and all is in order five packets later")
  func everyJump() {
    var sender = VirtualSender()
    let session = VirtualSession.running(&sender, every: .milliseconds(40), packets: 40)
    var processor = session.processor
    var slow: [Int] = []
    for jump in 0..<65_536 {
      var (sender, now) = (sender, session.now)
      sender.next.sequence &+= UInt16(truncatingIfNeeded: jump)
      var settled = 0
      processor = session.processor
      for number in 1...6 {
        let packet = sender.packet()
        let outcome = processor.receive(Datagram(bytes: packet.bytes, arrival: now)) { _ in true }
        while processor.next(at: now) != nil {}
        if outcome != .inOrder || processor.deadline != nil { settled = number }
        now = now.advanced(by: .milliseconds(40))
        while processor.next(at: now) != nil {}
      }
      if settled > 5 { slow.append(jump) }
      if !processor.statistics.isBalanced { Issue.record("not balanced after a jump by \(jump)") }
    }
    #expect(slow.isEmpty, "\(slow.count) jumps, the first by \(slow.first ?? 0)")
  }
}
