/// Where a picture stands in the order of output, by its slice headers.
public struct PictureOrder: Sendable, Hashable {
  /// `PicOrderCnt`: within a sequence, pictures are shown in the order of their counts.
  public var count: Int
  /// Whether all pictures decoded before it are shown before it and the counts begin anew.
  public var beginsSequence = false
  /// Whether a picture that begins a sequence may be shown behind others that are decoded later.
  public var mayBeLed = true
  /// The field that came, where the other one comes in an access unit of its own.
  public var field: Field?
  /// False for pictures that only others refer to (`pic_output_flag`).
  public var isShown = true
  /// Whether pictures are shown as they are decoded, whatever the counts are.
  public var isDecodingOrder = false
  /// How many pictures may precede one in decoding order and follow it in output order, as the
  /// stream says.
  public var reorderDepth: Int?
  /// How many pictures a decoder holds at most, as the stream or its level says.
  public var capacity: Int?
  /// Whether it consists of B slices, as far as its first one tells.
  public var isBidirectional = false
  /// The difference of the counts of two frames that follow one another, as encoders usually have
  /// it.
  public var usualStep = 1

  public init(count: Int) { self.count = count }
}
