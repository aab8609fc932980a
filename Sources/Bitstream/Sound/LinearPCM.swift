/// Samples as they are, in network byte order and interleaved (RFC 3551 §4.5.10, RFC 3190).
public enum LinearPCM {
  /// Eight bits, offset binary: silence is 128.
  public static let l8 = SoundCodec(name: "l8", decoderName: "pcm_u8")
  public static let l16 = SoundCodec(name: "l16", decoderName: "pcm_s16be")
  public static let l24 = SoundCodec(name: "l24", decoderName: "pcm_s24be")
  /// As files have them: the low byte first.
  public static let littleEndian16 = SoundCodec(name: "s16le", decoderName: "pcm_s16le")
  public static let littleEndian24 = SoundCodec(name: "s24le", decoderName: "pcm_s24le")
}
