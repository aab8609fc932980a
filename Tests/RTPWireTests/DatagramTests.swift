import NIOCore
import RTPWire
import Testing

/// What is known of a datagram before it is parsed.
struct DatagramTests {
  private static let packet: [UInt8] = [0x80, 0x60, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 1]
  private static let report: [UInt8] = [0x81, 0xC8, 0, 1, 0, 0, 0, 7]
  private static let arrival = Instant(nanoseconds: 0)

  @Test(
    "what is RTCP is known of each datagram, and of what takes the place of its bytes",
    arguments: [
      (packet, .media, false), (report, .media, true), (packet, .control, true),
      (report, .control, true), (report, .retransmission, true), ([], .media, false),
    ] as [([UInt8], Datagram.Channel, Bool)])
  func control(bytes: [UInt8], channel: Datagram.Channel, isControl: Bool) {
    let bytes = ByteBuffer(bytes: bytes)
    let datagram = Datagram(bytes: bytes, arrival: Self.arrival, channel: channel)
    #expect(datagram.isControl == isControl)
    #expect(datagram.detached.isControl == isControl)
    for former in [Self.packet, Self.report] {
      var decrypted = Datagram(
        bytes: ByteBuffer(bytes: former), arrival: Self.arrival, channel: channel)
      decrypted.bytes = bytes
      #expect(decrypted.isControl == isControl)
    }
  }

  /// RTP of payload type 72 with a marker looks like a sender report.
  @Test func aHeaderThatWasReadIsNotTakenForRTCP() throws {
    let bytes = ByteBuffer(bytes: [0x80, 0xC8] + [UInt8](repeating: 0, count: 10))
    var datagram = Datagram(
      bytes: bytes, header: try RTPHeader(parsing: bytes), arrival: Self.arrival)
    #expect(!datagram.isControl && datagram.payloadType == 72)
    datagram.bytes = bytes
    #expect(datagram.isControl && datagram.header == nil && datagram.payloadType == nil)
  }
}
