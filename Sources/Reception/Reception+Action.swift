public import Defragment
public import NIOCore
public import RTPWire

extension Reception {
  /// What the caller has to do, in this order.
  public enum Action: Sendable {
    /// Hand on an access unit of the video; then say
    /// ``delivered(decodingContinues:isCrowded:at:)``.
    case deliver(AccessUnit)
    /// Hand on a unit of the sound, in order with the video's; then say the same.
    case deliverSound(SoundUnit)
    /// Say ``roomAwaited(isCrowded:at:)`` once the consumer of access units may have room again.
    case awaitRoom
    /// Send an RTCP compound to the far end of the track that was described at this place.
    case sendRTCP(ByteBuffer, track: Int)
    /// Hold the far end, or let it continue.
    case holdReading(Bool)
    /// Let datagrams gather for up to that long before they are delivered; zero if not at all any
    /// more.
    case gather(Duration)
    /// Media has begun.
    case mediaBegan(at: Instant)
    /// Another sender has gone on with the media, which had stopped at `after`.
    case senderCame(at: Instant, after: Instant)
    /// The connection or the whole run is over; sent once.
    case ended(End)
    /// Nothing more comes out; sent once, after ``finish(at:)``.
    case finished
  }

  /// What ended, and why.
  public enum End: Sendable {
    /// This connection is over, and another one may follow.
    case connection(EndReason)
    /// The run is over, whatever the connection does.
    case run(EndReason)
  }
}
