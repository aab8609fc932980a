public import NIOCore

/// Reads what the slice headers of one codec say of pictures, one access unit after the other.
public protocol PictureReading: Sendable {
  /// Takes in a parameter set, NAL unit header included; anything else changes nothing.
  mutating func take(parameterSet unit: ByteBuffer)

  /// Whether NAL units of `type` are parameter sets.
  func isParameterSet(_ type: UInt8) -> Bool

  /// By what the picture of a slice is known; `nil` where the header tells nothing, or cannot be
  /// read.
  ///
  /// `head` holds the NAL unit's first bytes, `body` what stands behind its header, as far as it is
  /// there.
  func identity(ofSlice head: NALUnitHead, body: ByteBuffer) -> PictureIdentity?

  /// Where the picture stands that `units` hold, which are decoded next; `nil` where no header can
  /// be read.
  mutating func order(of units: [ByteBuffer]) -> PictureOrder?

  /// The hash that `unit` holds of the picture before it; `nil` when there is none in it.
  func hash(in unit: ByteBuffer) -> PictureHash?

  /// Decoding begins anew.
  mutating func restart()
}
