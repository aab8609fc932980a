public import NIOCore

/// Opus (RFC 6716): its codec, and the first byte of its packets.
public enum Opus {
  /// libavcodec's own decoder makes next to nothing of a lost frame, and needs half a second to be
  /// right again; libopus, behind another name, conceals it.
  public static let codec = SoundCodec(
    name: "opus", decoderName: "opus",
    concealment: SoundConcealment(decoderName: "libopus") { lostFrame(after: $0) })
  /// Samples a second; that of the RTP clock too, whatever was recorded (RFC 7587 §4.1).
  public static let sampleRate = 48_000
  /// Samples of the longest packet: 120 ms (RFC 6716 §3.2, R5).
  public static let longestPacket = 5760

  /// A frame of no bytes, like those of `packet`: that is what stands for a lost one (RFC 6716
  /// §3.2.1).
  private static func lostFrame(
    after packet: ByteBuffer
  ) -> SoundConcealment.LostFrame? {
    guard let first = packet.getInteger(at: packet.readerIndex, as: UInt8.self) else { return nil }
    let bytes = ByteBuffer(integer: first & ~0x03)
    guard let contents = TableOfContents(of: bytes) else { return nil }
    return SoundConcealment.LostFrame(bytes: bytes, samples: contents.samples)
  }

  /// The table of contents of a packet (RFC 6716 §3.1).
  public struct TableOfContents: Sendable, Hashable {
    /// 1 … 48.
    public let frames: Int
    /// Samples of each channel, at 48 kHz; 120 … 5760.
    public let samples: Int

    /// Reads the start of `packet`; `nil` if no packet begins like that.
    public init?(of packet: ByteBuffer) {
      guard let first = packet.getInteger(at: packet.readerIndex, as: UInt8.self) else {
        return nil
      }
      switch first & 0x03 {
      case 0: frames = 1
      // Two frames of the same length.
      case 1:
        guard packet.readableBytes % 2 == 1 else { return nil }
        frames = 2
      case 2:
        guard packet.readableBytes > 1 else { return nil }
        frames = 2
      default:
        guard let second = packet.getInteger(at: packet.readerIndex + 1, as: UInt8.self),
          second & 0x3F > 0
        else { return nil }
        frames = Int(second & 0x3F)
      }
      samples = frames * Self.frameSamples[Int(first >> 3)]
      guard samples <= Opus.longestPacket else { return nil }
    }

    /// Samples of a frame by configuration (table 2): SILK, hybrid and CELT modes.
    private static let frameSamples: [Int] =
      Array(repeatElement([480, 960, 1920, 2880], count: 3).joined())
      + Array(repeatElement([480, 960], count: 2).joined())
      + Array(repeatElement([120, 240, 480, 960], count: 4).joined())
  }
}
