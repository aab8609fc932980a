public import NIOCore

/// A video coding standard as the sender needs it: names, and what its NAL unit headers say.
public enum Codec: String, Sendable, CaseIterable {
  case h264
  case h265

  /// The encoding name in SDP (RFC 6184 §8.2.1, RFC 7798 §7.1).
  public var encodingName: String {
    switch self {
    case .h264: "H264"
    case .h265: "H265"
    }
  }

  /// The length of the NAL unit header in bytes (H.264 §7.3.1, H.265 §7.3.1.2).
  public var headerLength: Int {
    switch self {
    case .h264: 1
    case .h265: 2
    }
  }

  /// `nal_unit_type` of a unit that begins with `unit`, or `nil` when the header is cut.
  public func type(of unit: ByteBuffer) -> UInt8? {
    guard unit.readableBytes >= headerLength,
      let first = unit.getInteger(at: unit.readerIndex, as: UInt8.self)
    else { return nil }
    switch self {
    case .h264: return first & 0x1F
    case .h265: return first >> 1 & 0x3F
    }
  }

  /// The kind of parameter set that `unit` is, or `nil`.
  public func parameterSet(_ unit: ByteBuffer) -> ParameterSet? {
    switch (self, type(of: unit)) {
    case (.h265, 32): .video
    case (.h264, 7), (.h265, 33): .sequence
    case (.h264, 8), (.h265, 34): .picture
    // Sequence parameter set extension and subset sequence parameter set.
    case (.h264, 13), (.h264, 15): .sequenceExtension
    default: nil
    }
  }

  /// The kinds of parameter sets, in the order in which they must be sent.
  public enum ParameterSet: Sendable, Hashable, CaseIterable {
    case video
    case sequence
    case sequenceExtension
    case picture
  }

  /// Whether `unit` can be sent: it has a header, and a type that RTP has left to NAL units.
  ///
  /// Types 0 and 24 … 31 of H.264 are reserved or payload structures (RFC 6184 §5.2), and so are
  /// types 48 … 63 of H.265 (RFC 7798 §4.2): Dolby Vision has its own layer in 28 and 62, which
  /// would arrive as fragments or as nothing that is known.
  public func canSend(_ unit: ByteBuffer) -> Bool {
    switch (self, type(of: unit)) {
    case (_, nil): false
    case (.h264, .some(1...23)), (.h265, .some(0...47)): true
    default: false
    }
  }

  /// Whether `unit` is a slice at which decoding can begin: an IDR or IRAP picture.
  public func isRandomAccess(_ unit: ByteBuffer) -> Bool {
    switch (self, type(of: unit)) {
    case (.h264, 5): true
    case (.h265, .some(16...21)): true
    default: false
    }
  }
}
