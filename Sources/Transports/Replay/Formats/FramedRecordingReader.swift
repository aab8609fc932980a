internal import NIOCore
internal import RTPWire

/// Reads files of length-prefixed packets.
///
/// They contain no times, so the RTP timestamps are used.
struct FramedRecordingReader: RecordingReader {
  private var packets: FramedPackets
  private var clock = TimestampClock()
  private var bytesBefore: UInt64 = 0
  private var bytesOfRead: UInt64 = 0

  init(_ framing: PacketFraming) { packets = FramedPackets(framing) }

  var unfinished: Int { packets.isInsidePacket ? 1 : 0 }

  var oddities: [String] {
    packets.emptyPackets == 0 ? [] : ["\(packets.emptyPackets) lengths were 0, without a packet"]
  }

  mutating func append(_ bytes: ByteBuffer) {
    bytesBefore += bytesOfRead
    bytesOfRead = UInt64(bytes.readableBytes)
    packets.append(bytes)
  }

  mutating func next() throws(DamagedRecording) -> Recording? {
    do throws(FramedPackets.ImpossibleLength) {
      guard let packet = try packets.next() else { return nil }
      return Recording(time: clock.time(of: packet), content: .packet(packet, .media))
    } catch {
      throw DamagedRecording(
        offset: bytesBefore, reason: .recordTooLong(UInt64(error.length), limit: error.limit))
    }
  }
}

/// Derives times from the RTP timestamps of video (90 kHz), for packets without times.
struct TimestampClock: Sendable {
  /// A larger step means that the timestamps restarted: a minute.
  static let longestStep: Int64 = 60 * 90_000

  private var source: (ssrc: UInt32, timestamp: UInt32)?
  /// Ticks since the first packet.
  private var ticks: Int64 = 0
  /// The latest time so far; reordered packets do not turn it back.
  private var latest: Int64 = 0

  /// Nanoseconds since the first packet; RTCP and anything else gets the time of the previous
  /// packet.
  mutating func time(of bytes: ByteBuffer) -> Int64 {
    guard !RTCPPacket.recognizes(bytes), let packet = try? RTPPacket(parsing: bytes) else {
      return latest
    }
    if let source, source.ssrc == packet.ssrc {
      let step = Int64(Int32(bitPattern: packet.timestamp &- source.timestamp))
      if step.magnitude <= Self.longestStep { ticks = ticks.addingSaturating(step) }
    }
    source = (packet.ssrc, packet.timestamp)
    // 90,000 ticks are 10^9 nanoseconds.
    let (time, overflow) = ticks.multipliedReportingOverflow(by: 100_000)
    latest = max(latest, overflow ? .max : time / 9)
    return latest
  }
}
