import NIOCore
import RTPWire

/// Which other payload types share the sequence numbers of the media.
///
/// Their packets are ignored, but their places in the sequence are not losses.
///
/// Unannounced correction packets (RFC 5109 §8, as GStreamer and libwebrtc send them) have unique
/// numbers and the timestamp of the packet before. Packets of type 50 from Geovision cameras repeat
/// the number of the packet before. So the numbers themselves decide which case it is.
struct NumberedTypes: Sendable {
  /// How far their numbers may lie from the media's highest number.
  ///
  /// Separately numbered packets, such as unannounced retransmissions, must not move the order.
  static let reach = -SourceProof.greatestDropout...16
  /// Uniquely numbered packets required before a payload type is trusted.
  static let neededProof = 2
  /// Uniquely numbered packets required for each one whose number a media packet has too.
  static let neededShare = 8
  /// Packets waiting until their payload type is trusted.
  static let maximumWaiting = 8
  /// How many numbers are remembered, because networks duplicate packets.
  static let maximumRecent = 64

  private struct Account: Sendable {
    var own = 0
    var taken = 0

    var isNumbered: Bool { own >= neededProof && own > neededShare * taken }
  }

  private var accounts: [UInt8: Account] = [:]
  private var waiting: [RTPPacket] = []
  private var recent = CircularBuffer<SequenceNumber>()

  /// Notes a packet of another type, and says whether it may fill its place in the sequence.
  mutating func takes(_ packet: RTPPacket, isOpen: Bool) -> Bool {
    guard !recent.contains(packet.sequenceNumber) else { return false }
    guard isOpen else {
      accounts[packet.payloadType, default: Account()].taken += 1
      return false
    }
    if recent.count >= Self.maximumRecent { recent.removeFirst() }
    recent.append(packet.sequenceNumber)
    accounts[packet.payloadType, default: Account()].own += 1
    if accounts[packet.payloadType]?.isNumbered == true { return true }
    if waiting.count >= Self.maximumWaiting { waiting.removeFirst() }
    waiting.append(packet.detached())
    return false
  }

  /// Hands out the packets that waited for `payloadType` to be trusted.
  mutating func takeWaiting(of payloadType: UInt8) -> [RTPPacket] {
    let packets = waiting.filter { $0.payloadType == payloadType }
    waiting.removeAll { $0.payloadType == payloadType }
    return packets
  }
}
