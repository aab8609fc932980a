import Bitstream
import NIOCore

/// What receivers keep of units that do not come in decoding order (RFC 6184 §7.2, RFC 7798 §6).
extension StreamDescription {
  /// The bytes of all that waits at once, at most: the units that come before one that they follow,
  /// and the one that has come.
  var interleavedBytes: Int { (Interleaver.depth + 1) * longestUnit }

  /// No unit is longer than its picture is without coding.
  private var longestUnit: Int {
    let lengths = (parameterSets[.sequence] ?? []).compactMap { codec.format(of: $0)?.rawLength }
    return lengths.max() ?? AccessUnitGrouper.longestAccessUnit
  }
}

extension FormatDescription {
  /// The bytes of a picture with all that is coded, which is cut to what is shown.
  fileprivate var rawLength: Int {
    // The largest blocks have 64 samples.
    let luma = (width + 63) / 64 * 64 * ((height + 63) / 64 * 64)
    let halves =
      switch chroma {
      case .monochrome: 2
      case .yuv420: 3
      case .yuv422: 4
      case .yuv444: 6
      }
    return luma * halves / 2 * (max(lumaBitDepth, chromaBitDepth) > 8 ? 2 : 1)
  }
}
