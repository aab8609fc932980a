import Defragment
import RTPWire

extension Reception {
  /// What is wanted of a run, over all of its connections.
  public struct Configuration: Sendable {
    /// What is known of the video, and the reorder window.
    public var stream = VideoStream.Configuration()
    /// How long the first media may take, opening included; `nil` waits for ever.
    public var firstMediaTimeout: Duration?
    /// How long media may pause, over reconnections too; `nil` waits for ever.
    public var silenceTimeout: Duration?
    /// Ends the run so long after the first packet.
    public var duration: Duration?
    /// How long media may pause before a connection counts as dead, where another one would follow
    /// it; `nil` where none would.
    public var reconnectionSilence: Duration?

    public init() {}
  }

  /// What carries the packets of a connection, as far as that decides anything.
  public struct Carrier: Sendable, Hashable {
    /// What the time of the packets is.
    public enum Time: Sendable, Hashable {
      /// That of the machine: what does not come is late.
      case live
      /// That of a recording: what is due comes out before the packet that came after it.
      case recorded
    }

    public var time: Time
    /// Whether the far end begins when it likes.
    public var isPassive: Bool
    /// How long the stream may pause before the carrier ends by itself; `nil` where it never does.
    public var longestSilence: Duration?

    public init(time: Time = .live, isPassive: Bool = false, longestSilence: Duration? = nil) {
      self.time = time
      self.isPassive = isPassive
      self.longestSilence = longestSilence
    }
  }

  /// How a carrier came to its end.
  public enum CarrierEnd: Sendable {
    /// The far end finished in order.
    case ended
    case failed(any Error)
    /// This side closed it.
    case closed
  }

  /// The tracks of a connection that is over.
  struct Former: Sendable {
    var video: VideoStream
    var others: [Track]
  }
}

/// A source of random numbers, whatever its type.
struct AnyRandomness: RandomNumberGenerator, Sendable {
  var base: any RandomNumberGenerator & Sendable

  mutating func next() -> UInt64 { base.next() }
}
