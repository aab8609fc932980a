internal import NIOCore
internal import RTPWire

/// A datagram that is not RTP although RTP was expected, recognized by its first bytes; used only
/// for messages.
enum ForeignDatagram: Sendable, Hashable {
  /// Media without RTP packets, such as `MPEG-TS video`.
  case media(String)
  case stun, dtls, text
  case unknown

  /// `nil` for RTP and RTCP.
  init?(_ bytes: ByteBuffer) {
    guard bytes.readableBytes > 0, !RTCPPacket.recognizes(bytes),
      (try? RTPPacket(parsing: bytes)) == nil
    else { return nil }
    switch ForeignContent(beginning: bytes) {
    case .video(let name): self = .media("\(name) video")
    case .sound(let name): self = .media("\(name) sound")
    case .picture(let name): self = .media("a \(name) picture")
    case .compressed, .otherCapture, .connection, .webPage, .playlist, .sessionDescription, .fleet,
      nil:
      self = Self.protocolMessage(bytes)
    }
  }

  private static func protocolMessage(_ bytes: ByteBuffer) -> ForeignDatagram {
    let view = bytes.readableBytesView
    let first = view.first ?? 0
    // RFC 8489 §5.
    if first < 4, view.dropFirst(4).starts(with: [0x21, 0x12, 0xA4, 0x42]) { return .stun }
    // RFC 9147 §4.1, apart from STUN and RTP by its first byte (RFC 7983).
    if (20...63).contains(first), view.dropFirst().first == 0xFE { return .dtls }
    let isText = view.prefix(64).allSatisfy { (0x20...0x7E).contains($0) || (9...13).contains($0) }
    return isText ? .text : .unknown
  }

  /// How many make it worth saying: media is no accident, but of the others a few may be strays.
  var leastSaid: Int { if case .media = self { 1 } else { 3 } }

  /// What it is, and what to do about it.
  var words: String {
    switch self {
    case .media(let name):
      "what comes is \(name) without RTP; have the sender put it into RTP (ffmpeg: -f rtp)"
    case .stun: "what comes is STUN, as from WebRTC, and not RTP"
    case .dtls: "what comes is DTLS, as from WebRTC, whose keys are not available here"
    case .text: "what comes is text, and not RTP"
    case .unknown: "what comes is not RTP; check the port, and what the sender sends"
    }
  }
}
