import NIOCore
import RTPWire

/// Derives times from RTP timestamps, for packets without times.
///
/// The rate of a clock is that of its payload type (RFC 3551 §6), or else that of pictures, which
/// no usual clock exceeds: what really is slower seems to last less long than it does. So the
/// source that is ahead of the others tells the time.
struct TimestampClock: Sendable {
  /// A source, and how long it has lasted.
  private struct Source {
    var timestamp: UInt32
    var nanoseconds: Int64
  }

  /// A larger step means that the timestamps restarted.
  static let longestStep = Duration.seconds(60)
  /// Of pictures.
  private static let usualRate: Int64 = 90_000
  /// Sources that are told apart; more than any session has.
  private static let maximumSources = 32
  /// So many steps that change nothing mean that the source that was ahead has ended.
  private static let patience = 50

  private var sources: [UInt32: Source] = [:]
  /// The latest time so far; reordered packets do not turn it back.
  private var latest: Int64 = 0
  private var stepsBehind = 0

  /// Nanoseconds since the first packet; RTCP and anything else gets the time of the previous
  /// packet.
  mutating func time(of bytes: ByteBuffer) -> Int64 {
    guard !RTCPPacket.recognizes(bytes), let packet = try? RTPPacket(parsing: bytes) else {
      return latest
    }
    guard var source = sources[packet.ssrc] else {
      if sources.count == Self.maximumSources { sources.removeAll() }
      sources[packet.ssrc] = Source(timestamp: packet.timestamp, nanoseconds: latest)
      return latest
    }
    let rate = Self.rate(of: packet.payloadType)
    let ticks = Int64(Int32(bitPattern: packet.timestamp &- source.timestamp))
    source.timestamp = packet.timestamp
    // 2^31 ticks of the slowest clock are 2.7e14 nanoseconds.
    let step = ticks * 1_000_000 / (rate / 1000)
    if step.magnitude <= UInt64(clamping: Self.longestStep.wholeNanoseconds) {
      source.nanoseconds = source.nanoseconds.addingSaturating(step)
      if source.nanoseconds > latest {
        latest = source.nanoseconds
        stepsBehind = 0
      } else if step > 0 {
        stepsBehind += 1
      }
    }
    if stepsBehind > Self.patience {
      stepsBehind = 0
      source.nanoseconds = latest
    }
    sources[packet.ssrc] = source
    return latest
  }

  /// Ticks a second; a multiple of 1000 is close enough.
  private static func rate(of payloadType: UInt8) -> Int64 {
    switch payloadType {
    case 0, 3...5, 7...9, 12, 13, 15, 18: 8000
    case 6: 16_000
    case 10, 11: 44_000
    case 16: 11_000
    case 17: 22_000
    default: usualRate
    }
  }
}
