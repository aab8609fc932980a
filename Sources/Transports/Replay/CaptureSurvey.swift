internal import NIOCore
internal import RTPWire

/// The beginning of a capture in a pipe, which can be read only once: its flows, and the packets to
/// play once a flow is chosen.
struct CaptureSurvey {
  /// The most bytes and packets kept; while nothing can be played, the oldest are dropped.
  static let maximumBytes = 16 << 20
  static let maximumPackets = 32_768
  /// How long something that looks like video is observed, in nanoseconds of the recording, so that
  /// a described or larger video is not missed.
  static let patienceForVideo: Int64 = 500_000_000
  /// The same for other media, because there may also be video.
  static let patienceForOthers: Int64 = 3_000_000_000
  /// Packets between two checks.
  private static let stride = 32

  private(set) var flows = FlowSurvey()
  private(set) var kept = CircularBuffer<(packet: CarriedPacket, arrival: Instant)>()
  private var bytes = 0
  private var untilLook = Self.stride
  /// When video, and when anything, first came, by the recording's clock.
  private var firstVideo: Int64?
  private var firstCandidate: Int64?

  /// Examines a packet, and keeps a copy of what may be RTP or RTCP (RFC 3550 §5.1).
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

  /// Whether what has come by `time` is enough to choose.
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
