public import Impairment
import NIOCore

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
    /// The timestamps of the last pictures at which decoding can begin.
    var keys: [UInt32] = []

    public init(_ feed: PacketFeed, through network: NetworkSimulator, above portOffset: Int = 0) {
      self.feed = feed
      self.network = network
      self.portOffset = portOffset
    }

    struct Entry {
      var packet: PacketFeed.Packet
      /// Media time, in nanoseconds.
      var time: Int64
    }
  }
}
