/// The position of a picture in output order, from its slice headers.
public struct PictureOrder: Sendable, Hashable {
  /// What a count can be (H.264 §8.2.1, H.265 §8.3.1).
  public static let counts = Int(Int32.min)...Int(Int32.max)

  /// `PicOrderCnt`: within a sequence, pictures are output in this order.
  ///
  /// One of ``counts``, so that differences and sums of counts do not overflow.
  public var count: Int
  /// Whether the counts restart here, and all pictures decoded before it are output before it.
  public var beginsSequence = false
  /// Whether a picture that begins a sequence may be output after some that are decoded later.
  public var mayBeLed = true
  /// The field that arrived, when the other field is in a separate access unit.
  public var field: Field?
  /// `false` for pictures that are only references (`pic_output_flag`).
  public var isShown = true
  /// Whether pictures are output in decoding order, whatever the counts are.
  public var isDecodingOrder = false
  /// Whether it refers to a picture that is to precede it in the stream, and did not come.
  ///
  /// Told once for each such picture: whatever refers to it later follows this one. It is `false`
  /// where the stream does not tell.
  public var lacksReference = false
  /// How many pictures may precede one in decoding order and follow it in output order, if the
  /// stream says so.
  public var reorderDepth: Int?
  /// The most pictures a decoder holds, according to the stream or its level.
  public var capacity: Int?
  /// Whether its first slice is a B slice.
  public var isBidirectional = false
  /// Whether parts of it can be decoded at the same time: slices, or rows of coding tree blocks.
  public var hasParts = false
  /// The usual difference between the counts of consecutive frames.
  public var usualStep = 1

  public init(count: Int) { self.count = count }
}
