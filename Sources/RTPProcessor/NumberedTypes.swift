import NIOCore
import RTPWire

/// Which payload types besides that of the media are numbered with it: nothing is taken from their
/// packets, but their places are no losses.
///
/// Correction packets that nobody announced have numbers of their own (RFC 5109 §8, as GStreamer and
/// libwebrtc send them) and the timestamp of the packet before. Those of Geovision cameras, of type 50,
/// repeat the number of the packet before, so what is believed is what numbers have shown.
struct NumberedTypes: Sendable {
  /// How far from the highest number of the media theirs may be: what is numbered by itself, such as
  /// retransmissions that nobody announced, must not carry the order away.
  static let reach = -Source.greatestDropout...16
  /// Packets with a number of their own that it takes to be believed.
  static let neededProof = 2
  /// How many of these there have to be for one whose place a packet of the media has.
  static let neededShare = 8
  /// Packets that wait for the proof.
  static let maximumWaiting = 8
  /// Numbers that are remembered, since networks send packets twice.
  static let maximumRecent = 64

  private struct Account: Sendable {
    var own = 0
    var taken = 0

    var isNumbered: Bool { own >= neededProof && own > neededShare * taken }
  }

  private var accounts: [UInt8: Account] = [:]
  private var waiting: [RTPPacket] = []
  private var recent = CircularBuffer<SequenceNumber>()

  /// Takes in a packet of another type, whose place `isOpen` or not, and says whether it belongs into it.
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

  /// Hands out what waited for the proof of `payloadType`.
  mutating func takeWaiting(of payloadType: UInt8) -> [RTPPacket] {
    let packets = waiting.filter { $0.payloadType == payloadType }
    waiting.removeAll { $0.payloadType == payloadType }
    return packets
  }
}
