public import Decode

/// What the frames of an output are to be like, whatever the stream sends; what is `nil` stays as
/// it is sent.
public struct FrameShape: Sendable, Hashable {
  /// Samples across and down.
  public struct Size: Sendable, Hashable {
    /// What a side may be.
    public static let bounds = 1...8192

    public let width: Int
    public let height: Int

    /// `nil` for a side outside ``bounds``.
    public init?(width: Int, height: Int) {
      guard Self.bounds.contains(width), Self.bounds.contains(height) else { return nil }
      self.width = width
      self.height = height
    }
  }

  /// One of `PixelFormat.targets`.
  public var pixelFormat: PixelFormat?
  /// Pictures of another shape are stretched.
  public var size: Size?

  public init(pixelFormat: PixelFormat? = nil, size: Size? = nil) {
    self.pixelFormat = pixelFormat
    self.size = size
  }
}
