/// G.726: 2 to 5 bits a sample, adaptive differential (RFC 3551 §4.5.4).
///
/// There are two ways to put the codes of a byte, and nothing in the data tells which one it is.
public enum G726 {
  /// The first code is in the most significant bits, as in AAL2.
  public static let mostSignificantFirst = SoundCodec(name: "g726", decoderName: "g726")
  /// The first code is in the least significant bits, as in `G726-32`.
  public static let leastSignificantFirst = SoundCodec(name: "g726le", decoderName: "g726le")
  /// Bits of a code by the rate in its name: 16, 24, 32 and 40 kbit/s.
  public static let codeBits = [16: 2, 24: 3, 32: 4, 40: 5]
}
