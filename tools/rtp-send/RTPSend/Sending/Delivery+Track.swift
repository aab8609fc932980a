public import Impairment
import NIOCore
import RTPWire

extension Delivery {
  /// One track: its packets, and the network that they go through.
  public struct Track {
    public internal(set) var feed: PacketFeed
    var network: NetworkSimulator
    var queue = CircularBuffer<Entry>()
    var isFeedEmpty = false
    /// Whether the source had nothing yet when it was last asked.
    var isWaiting = false
    /// How far above the destination's port its packets go.
    public let portOffset: Int
    /// What the network has been given under the present SSRC.
    private(set) var account: SenderAccount?
    /// The RTP timestamp of media time 0 in what it was given last.
    private(set) var firstTimestamp: UInt32?
    /// The timestamps of packets that hold something of a picture at which decoding can begin, with
    /// the time of that picture, in ticks.
    private var keys: [(timestamp: UInt32, key: Int64)] = []
    /// As many are remembered, while their packets are on their way.
    private static let keyMemory = 32

    public init(_ feed: PacketFeed, through network: NetworkSimulator, above portOffset: Int = 0) {
      self.feed = feed
      self.network = network
      self.portOffset = portOffset
    }

    struct Entry {
      var packet: PacketFeed.Packet
      /// Media time, in nanoseconds.
      var time: Int64
      /// The RTP timestamp of media time 0 in its stream.
      var firstTimestamp: UInt32
    }

    mutating func noteKey(of packet: PacketFeed.Packet) {
      guard let key = packet.key, let timestamp = packet.bytes.rtpTimestamp,
        !keys.contains(where: { $0 == (timestamp, key) })
      else { return }
      if keys.count >= Self.keyMemory { keys.removeFirst() }
      keys.append((timestamp, key))
    }

    /// Of which key picture a packet holds something, if it does of any.
    func key(of packet: ByteBuffer) -> Int64? {
      packet.rtpTimestamp.flatMap { timestamp in
        keys.last { $0.timestamp == timestamp }?.key
      }
    }

    /// Puts a packet in the queue.
    ///
    /// The first one is reported on before it is sent: receivers know then how the tracks belong
    /// together, and FFmpeg begins with what it knows.
    mutating func append(_ entry: Entry) {
      queue.append(entry)
      guard account == nil, entry.packet.octets != nil, let ssrc = entry.packet.bytes.rtpSSRC
      else { return }
      account = SenderAccount(ssrc: ssrc)
      firstTimestamp = entry.firstTimestamp
    }

    /// Counts and remembers a packet that the network was given.
    mutating func noteOffered(_ entry: Entry) {
      feed.noteSent(entry.packet)
      firstTimestamp = entry.firstTimestamp
      guard let octets = entry.packet.octets, let ssrc = entry.packet.bytes.rtpSSRC else { return }
      var own = account ?? SenderAccount(ssrc: ssrc)
      if own.ssrc != ssrc { own = SenderAccount(ssrc: ssrc) }
      own.add(octets: octets)
      account = own
    }
  }
}
