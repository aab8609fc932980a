public import Bitstream
public import NIOCore
public import RTPWire

/// Sound as it was coded, as much as is decoded at once: an AAC access unit, an Opus packet, the
/// samples of one packet of PCM.
public struct SoundUnit: Sendable {
  public let format: SoundFormat
  public let bytes: ByteBuffer
  /// The time of its first sample, by the clock of its packets.
  public let time: MediaTime
  /// How many samples of each channel it decodes to.
  public let sampleCount: Int
  /// When the first packet with a part of it arrived.
  public let firstArrival: Instant
  /// When the packet that completed it arrived.
  public let lastArrival: Instant
  /// Packets known to be missing directly before it.
  public let lostBefore: Int
  /// Whether the sender's numbering began anew with it, so that it follows nothing.
  public var isDiscontinuity: Bool
  /// When it was taken, by the sender's clock and its RTCP sender reports (RFC 3550 §6.4.1); `nil`
  /// before the first report.
  public var captureTime: WallClockTime?
  /// ``time`` on the timeline of the pictures, or itself where there are none; `nil` until a
  /// session has given it.
  public var alignedTime: MediaTime?

  public init(
    format: SoundFormat, bytes: ByteBuffer, time: MediaTime, sampleCount: Int,
    firstArrival: Instant, lastArrival: Instant, lostBefore: Int = 0, isDiscontinuity: Bool = false
  ) {
    self.format = format
    self.bytes = bytes
    self.time = time
    self.sampleCount = sampleCount
    self.firstArrival = firstArrival
    self.lastArrival = lastArrival
    self.lostBefore = lostBefore
    self.isDiscontinuity = isDiscontinuity
  }

  /// From its first sample to its end.
  public var duration: Duration {
    .nanoseconds(Int64(sampleCount) * 1_000_000_000 / Int64(format.sampleRate))
  }
}
