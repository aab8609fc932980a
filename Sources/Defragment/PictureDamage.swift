/// Why a picture is not as it was sent.
///
/// Each cause has a counter with the same name.
public enum PictureDamage: String, Sendable, Hashable, CaseIterable {
  /// Packets of it, or directly before it, are missing.
  case lostPackets = "lost_packets"
  /// A piece of it made no sense: a fragment without its beginning, or lengths that do not fit.
  case uselessPiece = "useless_piece"
  /// A NAL unit of it ended early although no packet is missing.
  case cutUnit = "cut_unit"
  /// It grew beyond the limits of an access unit.
  case overLimit = "over_limit"
  /// The stream ended within it.
  case unfinished = "unfinished"
  /// The other field of the frame did not come.
  case lostField = "lost_field"
  /// Bits of it were wrong, as the decoder found.
  case wrongBits = "wrong_bits"
  /// Its samples are not those whose hash the sender sent along.
  case wrongHash = "wrong_hash"
  /// Decoding began without a key picture.
  case noKeyPicture = "no_key_picture"
  /// It refers to pictures that are not intact.
  case reference
}
