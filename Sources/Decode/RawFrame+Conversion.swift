package import Bitstream
package import CFFmpeg
import Defragment

extension RawFrame {
  /// What a conversion of samples changes in a frame.
  package struct Conversion: Sendable, Hashable {
    package var geometry: Geometry
    package var colour: FormatDescription.Colour
    package var chromaLocation: ChromaLocation

    package init(
      to geometry: Geometry, _ colour: FormatDescription.Colour, _ chromaLocation: ChromaLocation
    ) {
      self.geometry = geometry
      self.colour = colour
      self.chromaLocation = chromaLocation
    }
  }

  /// The conversion that changes nothing.
  package var identity: Conversion { Conversion(to: geometry, colour, chromaLocation) }

  /// Takes ownership of `copy`, which is `frame` after `conversion`.
  package convenience init(
    converted copy: UnsafeMutablePointer<AVFrame>, from pool: FramePool,
    by conversion: Conversion, of frame: RawFrame
  ) {
    unsafe self.init(copy, from: pool, by: conversion, in: frame.record, like: frame)
  }
}

extension Rational {
  /// The shape of a sample after scaling; `nil` where it cannot be expressed.
  func stretched(from old: RawFrame.Geometry, to new: RawFrame.Geometry) -> Rational? {
    guard (old.width, old.height) != (new.width, new.height) else { return self }
    // Sizes are below 2^16, so the products fit.
    let across = UInt64(numerator) &* UInt64(old.width &* new.height)
    let down = UInt64(denominator) &* UInt64(old.height &* new.width)
    var (divisor, rest) = (across, down)
    while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
    guard divisor != 0, let numerator = UInt32(exactly: across / divisor),
      let denominator = UInt32(exactly: down / divisor)
    else { return nil }
    return Rational(numerator, denominator)
  }
}
