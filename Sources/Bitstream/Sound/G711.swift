/// G.711: eight bits a sample, logarithmic (RFC 3551 §4.5.14).
public enum G711 {
  public static let muLaw = SoundCodec(name: "pcmu", decoderName: "pcm_mulaw")
  public static let aLaw = SoundCodec(name: "pcma", decoderName: "pcm_alaw")
}
