public import NIOCore

/// Reads the slice headers of one codec, one access unit after another.
public protocol PictureReading: Sendable {
  /// Adds a parameter set, NAL unit header included; ignores anything else.
  mutating func take(parameterSet unit: ByteBuffer)

  /// Whether NAL units of `type` are parameter sets.
  func isParameterSet(_ type: UInt8) -> Bool

  /// What identifies the picture of a slice; `nil` when the header does not say or cannot be read.
  ///
  /// `head` holds the NAL unit's first bytes, `body` as much as there is after its header.
  func identity(ofSlice head: NALUnitHead, body: ByteBuffer) -> PictureIdentity?

  /// The output position of the next decoded picture, which `units` contain; `nil` when no slice
  /// header can be read.
  mutating func order(of units: [ByteBuffer]) -> PictureOrder?

  /// The hash of the picture that `units` contain; `nil` when there is none.
  func hash(of units: [ByteBuffer]) -> PictureHash?

  /// Starts over, for a decoder that starts over.
  mutating func restart()
}
