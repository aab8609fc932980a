/// What a sequence parameter set says about the pictures (H.264 §7.4.2.1, H.265 §7.4.3.2).
public struct FormatDescription: Sendable, Hashable {
  public enum ChromaFormat: UInt8, Sendable, Hashable {
    case monochrome = 0
    case yuv420 = 1
    case yuv422 = 2
    case yuv444 = 3
  }

  /// The code points of H.273 for primaries, transfer and matrix; 2 means unspecified.
  public struct Colour: Sendable, Hashable {
    public var primaries: UInt8
    public var transfer: UInt8
    public var matrix: UInt8
    public var isFullRange: Bool

    public init(
      primaries: UInt8 = 2, transfer: UInt8 = 2, matrix: UInt8 = 2, isFullRange: Bool = false
    ) {
      self.primaries = primaries
      self.transfer = transfer
      self.matrix = matrix
      self.isFullRange = isFullRange
    }
  }

  public var codec: VideoCodec
  /// Luma samples shown, after cropping; 1 … ``maximumSide``.
  public var width: Int
  public var height: Int
  /// `profile_idc` or `general_profile_idc`.
  public var profile: UInt8
  /// `level_idc` (ten times the level) or `general_level_idc` (thirty times).
  public var level: UInt8
  public var chroma: ChromaFormat
  /// Bits per luma sample, 8 … 16.
  public var lumaBitDepth: Int
  public var chromaBitDepth: Int
  /// Frames per second, when the VUI gives timing that can be meant.
  public var frameRate: Rational?
  /// The shape of one sample, width to height, when the VUI gives it.
  public var sampleAspectRatio: Rational?
  public var colour: Colour
  /// How many pictures may precede one in decoding order and follow it in output order, when the
  /// stream says so.
  public var reorderDepth: Int?
  /// Whether a picture may be a single field (H.264's `frame_mbs_only_flag` is 0).
  public var mayHaveFields: Bool

  public init(
    codec: VideoCodec, width: Int, height: Int, profile: UInt8, level: UInt8,
    chroma: ChromaFormat = .yuv420, lumaBitDepth: Int = 8, chromaBitDepth: Int = 8,
    frameRate: Rational? = nil, sampleAspectRatio: Rational? = nil, colour: Colour = Colour(),
    reorderDepth: Int? = nil, mayHaveFields: Bool = false
  ) {
    self.codec = codec
    self.width = width
    self.height = height
    self.profile = profile
    self.level = level
    self.chroma = chroma
    self.lumaBitDepth = lumaBitDepth
    self.chromaBitDepth = chromaBitDepth
    self.frameRate = frameRate
    self.sampleAspectRatio = sampleAspectRatio
    self.colour = colour
    self.reorderDepth = reorderDepth
    self.mayHaveFields = mayHaveFields
  }
}
