/// G.722: two samples of 16 kHz in each byte (RFC 3551 §4.5.2).
public enum G722 {
  public static let codec = SoundCodec(name: "g722", decoderName: "g722")
  /// Samples in a byte.
  public static let samplesPerByte = 2
}
