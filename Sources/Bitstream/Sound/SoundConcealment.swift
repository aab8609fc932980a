public import NIOCore

/// How lost sound of a codec is made up by a decoder that continues what came before.
public struct SoundConcealment: Sendable {
  /// A frame that says of itself that it is lost.
  public struct LostFrame: Sendable, Hashable {
    public let bytes: ByteBuffer
    /// Samples of each channel that are made up for it.
    public let samples: Int

    public init(bytes: ByteBuffer, samples: Int) {
      self.bytes = bytes
      self.samples = samples
    }
  }

  /// libavcodec's name of the decoder, which may be missing from a build.
  public let decoderName: String
  /// The lost frame that follows a packet; `nil` if that is none.
  public let lostFrame: @Sendable (_ packet: ByteBuffer) -> LostFrame?

  public init(
    decoderName: String, lostFrame: @escaping @Sendable (_ packet: ByteBuffer) -> LostFrame?
  ) {
    self.decoderName = decoderName
    self.lostFrame = lostFrame
  }
}
