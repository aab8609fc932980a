/// Why a picture differs from what was sent.
///
/// Each cause has a counter with the same name.
public enum PictureDamage: String, Sendable, Hashable, CaseIterable {
  /// Packets in it or directly before it are missing.
  case lostPackets = "lost_packets"
  /// A piece was invalid: a fragment without a beginning, or inconsistent lengths.
  case uselessPiece = "useless_piece"
  /// A NAL unit ended early although no packet is missing.
  case cutUnit = "cut_unit"
  /// It grew beyond the limits of an access unit.
  case overLimit = "over_limit"
  /// The stream ended in the middle of it.
  case unfinished = "unfinished"
  /// The other field of the frame did not come.
  case lostField = "lost_field"
  /// The decoder found wrong bits.
  case wrongBits = "wrong_bits"
  /// The decoded samples do not match the hash that the sender supplied.
  case wrongHash = "wrong_hash"
  /// Decoding began without a key picture.
  case noKeyPicture = "no_key_picture"
  /// It refers to pictures that are not intact, or that the sender left out.
  case reference
}
