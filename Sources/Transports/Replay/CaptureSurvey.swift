internal import NIOCore
internal import RTPWire

/// What the beginning of a capture in a pipe holds, which can be read only once: the flows in it,
/// and the packets that may be played once one is chosen.
struct CaptureSurvey {
  /// Bytes and packets that are kept at most; without anything to play the oldest go.
  static let maximumBytes = 16 << 20
  static let maximumPackets = 32_768
  /// How long what looks like video is watched, in nanoseconds of the recording, so that one that
  /// is described or larger is not missed.
  static let patienceForVideo: Int64 = 500_000_000
  /// The same for other media, beside which there may be video.
  static let patienceForOthers: Int64 = 3_000_000_000
  /// Packets between two looks at what there is.
  private static let stride = 32

  private(set) var flows = FlowSurvey()
  private(set) var kept = CircularBuffer<(packet: CarriedPacket, arrival: Instant)>()
  private var bytes = 0
  private var untilLook = Self.stride
  /// Since when there is video, and since when there is anything, by the recording's clock.
  private var firstVideo: Int64?
  private var firstCandidate: Int64?

  /// Takes in a packet, and keeps what may be RTP or RTCP (RFC 3550 §5.1), out of the read that
  /// would be held whole otherwise.
  mutating func observe(_ packet: CarriedPacket, at arrival: Instant) {
    flows.observe(packet)
    let first = packet.bytes.getInteger(at: packet.bytes.readerIndex, as: UInt8.self) ?? 0
    guard first >> 6 == 2 else { return }
    var own = packet
    own.bytes = ByteBuffer(buffer: packet.bytes)
    kept.append((own, arrival))
    bytes += own.bytes.readableBytes
    while bytes > Self.maximumBytes || kept.count > Self.maximumPackets {
      bytes -= kept.removeFirst().packet.bytes.readableBytes
    }
  }

  /// Whether what there is at `time` will do.
  mutating func isEnough(for wish: FlowSurvey.Wish, at time: Int64) -> Bool {
    func isPast(_ start: Int64?, _ patience: Int64) -> Bool {
      start.map { time.subtractingSaturating($0) >= patience } ?? false
    }
    untilLook -= 1
    guard untilLook <= 0 || isPast(firstVideo, Self.patienceForVideo) else { return false }
    untilLook = Self.stride
    guard flows.hasCandidate(for: wish) else { return false }
    firstCandidate = firstCandidate ?? time
    if flows.hasVideo(for: wish) { firstVideo = firstVideo ?? time }
    let isFull = bytes > Self.maximumBytes / 2 || kept.count > Self.maximumPackets / 2
    return isFull || isPast(firstVideo, Self.patienceForVideo)
      || isPast(firstCandidate, Self.patienceForOthers)
  }
}
